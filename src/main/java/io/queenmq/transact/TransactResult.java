package io.queenmq.transact;

import java.util.List;
import java.util.UUID;

/** What became of a transaction. */
public sealed interface TransactResult {
    /** Everything is in the one commit; one result per step, in their order. */
    record Committed(List<Done> steps) implements TransactResult {}

    /** Nothing took effect. */
    record RolledBack(Reason reason, String error) implements TransactResult {}

    /** Why nothing took effect: the code that clients branch on. */
    enum Reason {
        /** A pushed message is in its lane already. */
        DUPLICATE("duplicate"),
        /** An acknowledgement cannot be carried out. */
        ACK_REJECTED("ack_rejected");

        private final String code;

        Reason(String code) {
            this.code = code;
        }

        public String code() {
            return code;
        }
    }

    /** What one step did. */
    sealed interface Done {
        /**
         * A message is stored.
         *
         * @param duplicate it is the repetition of an earlier one of this transaction, whose id
         *     this is
         */
        record Pushed(String queue, String transactionId, UUID messageId, boolean duplicate)
                implements Done {}

        /** An acknowledgement took effect, or had taken effect before. */
        record Acked(String transactionId, boolean deadLettered) implements Done {}
    }
}
