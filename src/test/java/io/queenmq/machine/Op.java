package io.queenmq.machine;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One operation, spelled out: what it names it names by word, so that it means something whatever
 * came before it, and a failing list can be shortened. Deliveries are named by the number of the
 * pop that made them; a delivery that never was makes an operation void.
 */
sealed interface Op {
    /** A lane by name, or the one that a delivery came from although its name is another's now. */
    record LaneRef(String queue, String partition, @Nullable Delivered delivered) {
        @Override
        public String toString() {
            return delivered == null ? queue + "/" + partition : delivered.toString();
        }
    }

    /** What one job of a pop took from one of its lanes. */
    record Delivered(int pop, int job, int lane) {
        @Override
        public String toString() {
            return "pop" + pop + "." + job + "." + lane;
        }
    }

    enum Rule {
        ALL,
        NEW,
        INSTANT
    }

    /** What a group is to begin with: null = what is stored; the age is that of the instant. */
    record Start(Rule rule, int age) {}

    /**
     * Messages for one lane.
     *
     * @param flush number of the lane-batch, which settles a lost answer
     * @param vouchedFrom first offset certainly without its ids; above {@code vouchedTo} = none
     */
    record Batch(
            String queue,
            String partition,
            long flush,
            List<String> ids,
            long vouchedFrom,
            long vouchedTo) {}

    record Push(int id, boolean waiting, List<Batch> batches) implements Op {}

    /** A push whose answer was lost is repeated; it may be stored above that offset. */
    record Settle(int id, Batch batch, long above) implements Op {}

    enum Claim {
        LEASED,
        FIRST,
        AUTO,
        FIRST_AUTO;

        boolean places() {
            return this == FIRST || this == FIRST_AUTO;
        }

        boolean leases() {
            return this == LEASED || this == FIRST;
        }
    }

    /** One pop of a claim; its lanes are all of one queue. */
    record Job(
            String queue,
            String group,
            int budget,
            int laneLimit,
            int leaseUnits,
            boolean several,
            List<String> partitions) {}

    record Pop(int id, Claim claim, @Nullable Start start, List<Job> jobs) implements Op {}

    /**
     * A pop of a queue: first contact for all its lanes, then any of them, in the order of {@code
     * job.partitions} or, where the broker chooses, in the order it chose.
     *
     * @param placed lanes where it left a cursor, whether or not it took something there
     */
    record QueuePop(
            int id, Claim claim, Start start, boolean conflates, Job job, List<String> placed)
            implements Op {}

    /** First contact: where the group begins and whether it conflates is stored once. */
    record Register(
            int id,
            String queue,
            String group,
            @Nullable Start start,
            boolean create,
            boolean conflates)
            implements Op {}

    enum Target {
        BEGINNING,
        END,
        INSTANT,
        OFFSET
    }

    record SeekQueue(int id, String queue, String group, Target target, int age) implements Op {}

    record SeekLane(
            int id,
            String queue,
            String partition,
            String group,
            Target target,
            int age,
            long offset)
            implements Op {}

    /** Where a group begins in lanes it has not touched, in all queues that know it. */
    record Subscribe(int id, String group, int age) implements Op {}

    /** Queue null = all. */
    record DeleteGroup(int id, @Nullable String queue, String group, boolean forgets)
            implements Op {}

    record DeleteDeadLetter(int id, String queue, String partition, String transactionId)
            implements Op {}

    /** A dead letter goes back into a lane. */
    record Replay(
            int id,
            String queue,
            String partition,
            String group,
            long offset,
            String toQueue,
            String toPartition)
            implements Op {
        /** What the copy is called here; its real id carries the number of the dead letter. */
        String copyId() {
            return "dlq-" + id;
        }
    }

    /** Pushes and acks, and every lease that is named. */
    record Transact(
            int id,
            List<Batch> batches,
            List<Unit> units,
            List<Item> items,
            List<Delivered> supplied)
            implements Op {}

    /** Whole batches by their leases; the end is what the client believes it got. */
    record AckBatches(int id, List<Delivered> batches, List<Integer> shifts) implements Op {}

    enum Status {
        COMPLETED(0),
        FAILED(1),
        RETRY(2),
        DLQ(3);

        /** As the procedures have it. */
        final int code;

        Status(int code) {
            this.code = code;
        }
    }

    record Item(int unit, String transactionId, Status status, @Nullable String error) {}

    /** Lease null = none is given; one of a pop that never was is a stranger's. */
    record Unit(LaneRef lane, String group, @Nullable Delivered lease) {}

    record Ack(int id, boolean waiting, List<Unit> units, List<Item> items) implements Op {}

    record Extend(int id, Delivered lease, int units) implements Op {}

    record Release(int id, int pop, int job) implements Op {}

    /** Options to change, by their column. */
    record Configure(int id, String queue, List<Option> options) implements Op {}

    record Option(String name, String value) {}

    record DeleteQueue(int id, String queue) implements Op {}

    /** Retention takes the oldest segments of a lane. */
    record Expire(int id, String queue, String partition, int segments) implements Op {}

    /** So many units of time go by. */
    record Pass(int id, int units) implements Op {}

    int id();
}
