package io.queenmq.transact;

import io.queenmq.model.Failure;
import java.util.List;
import java.util.UUID;

/** What became of a transaction. */
public sealed interface TransactResult {
    /** Everything is in the one commit; one result per step, in their order. */
    record Committed(List<Done> steps) implements TransactResult {}

    /**
     * Nothing took effect.
     *
     * @param reason {@code DUPLICATE}: a pushed message is in its lane already; {@code
     *     ACK_REJECTED}: an acknowledgement cannot be carried out
     */
    record RolledBack(Failure reason, String error) implements TransactResult {}

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
