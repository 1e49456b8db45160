package io.queenmq.transact;

import io.queenmq.kv.KvOp;
import io.queenmq.kv.KvResult;
import io.queenmq.model.Failure;
import io.queenmq.timer.TimerResult;
import java.util.List;
import java.util.UUID;

/** What became of a transaction. */
public sealed interface TransactResult {
    /** Everything is in the one commit; one result per step and operation, in their order. */
    record Committed(List<Done> steps, List<OnKeys> keys, List<TimerResult> timers)
            implements TransactResult {}

    /** An operation on keys and what it was answered. */
    record OnKeys(KvOp op, KvResult result) {}

    /**
     * Nothing took effect: an operation on a key had to be applied and was not.
     *
     * @param index its place among all results
     * @param found what stands in its way
     */
    record PreconditionLost(int index, KvResult.Written found, String error)
            implements TransactResult {}

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
