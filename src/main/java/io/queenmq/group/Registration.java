package io.queenmq.group;

/** What became of making a group known. */
public sealed interface Registration {
    /**
     * A group of a queue.
     *
     * @param generation rises when all its cursors are set aside: what was found out about its
     *     lanes before says nothing any more
     * @param registered whether it has a rule where lanes without a cursor begin; false for one
     *     that only pops of single lanes have used
     * @param conflation whether of each lane only the newest message is delivered
     * @param minPopWaitMs how long long polls of the queue hold an under-full batch; 0 = not
     */
    record Known(
            int queueId,
            int groupId,
            int generation,
            boolean registered,
            boolean conflation,
            int minPopWaitMs)
            implements Registration {}

    /** Another transaction is making the queue or the group just now. */
    record Busy() implements Registration {}

    /** There is no such queue. */
    record UnknownQueue() implements Registration {}
}
