package io.queenmq.machine;

import io.queenmq.machine.Op.Batch;
import io.queenmq.machine.Op.Claim;
import io.queenmq.machine.Op.Delivered;
import io.queenmq.machine.Op.Item;
import io.queenmq.machine.Op.Job;
import io.queenmq.machine.Op.LaneRef;
import io.queenmq.machine.Op.Option;
import io.queenmq.machine.Op.Rule;
import io.queenmq.machine.Op.Start;
import io.queenmq.machine.Op.Status;
import io.queenmq.machine.Op.Target;
import io.queenmq.machine.Op.Unit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.function.IntFunction;

/**
 * A writer that may meet another one: what it does, what it locks, and whether it waits for that or
 * passes it over.
 *
 * @param skips what it tries to lock, to answer busy where that is held
 * @param waits what it waits for
 * @param letsGo whether it has given up its locks by the time it answers, for it was refused
 * @param op the operation, given its number
 */
record Interleaving(
        String name, Set<String> skips, Set<String> waits, boolean letsGo, IntFunction<Op> op) {
    enum Meeting {
        FREE,
        BUSY,
        WAITS
    }

    /** The lane with a leased batch of m0 to m2 out of m0 to m5. */
    private static final String A = "a";

    /** The lane where the group has a cursor, and no lease. */
    private static final String B = "b";

    private static final Delivered LEASED = new Delivered(1, 0, 0);

    private static final String LANE_A = "lane a";
    private static final String CURSOR_A = "cursor a";
    private static final String CURSOR_B = "cursor b";
    private static final String CURSOR_H = "cursor a of h";
    private static final String NEW_LANE = "name of lane n";
    private static final String NEW_GROUP = "name of group n";
    private static final String GROUP_T = "group t";
    private static final String GROUP = "group g";
    private static final String DEAD_LETTER = "dead letter";
    private static final String QUEUE = "queue";

    @Override
    public String toString() {
        return name;
    }

    /** What one that holds its locks does to another that comes. */
    Meeting with(Interleaving holder) {
        if (holder.holds(waits)) {
            return Meeting.WAITS;
        }
        return holder.holds(skips) ? Meeting.BUSY : Meeting.FREE;
    }

    private boolean holds(Set<String> wanted) {
        return !letsGo
                && wanted.stream().anyMatch(lock -> skips.contains(lock) || waits.contains(lock));
    }

    /** What all of them find. */
    static List<Op> scene() {
        return List.of(
                new Op.Configure(
                        -1,
                        "q",
                        List.of(
                                new Option("lease_seconds", String.valueOf(State.span(2))),
                                new Option("retry_limit", "0"))),
                new Op.Push(
                        -2,
                        true,
                        List.of(
                                batch(A, 1, "m0", "m1", "m2", "m3", "m4", "m5"),
                                batch(B, 2, "m0", "m1", "m2", "m3"))),
                new Op.Register(-3, "q", "g", new Start(Rule.ALL, 0), false, false),
                new Op.Register(-4, "q", "h", new Start(Rule.ALL, 0), false, false),
                new Op.Register(-5, "q", "t", null, false, false),
                pop(1, Claim.FIRST, "g", A, 3),
                pop(2, Claim.FIRST_AUTO, "g", B, 1),
                pop(3, Claim.LEASED, "g", B, 1),
                new Op.Ack(
                        4,
                        true,
                        List.of(new Unit(new LaneRef("q", B, null), "g", new Delivered(3, 0, 0))),
                        List.of(new Item(0, "m1", Status.DLQ, "because"))));
    }

    static List<Interleaving> all() {
        List<Interleaving> all = new ArrayList<>();
        all.add(skipping("push", LANE_A, id -> push(id, false, A, "new", "newer")));
        all.add(waiting("push that waits", LANE_A, id -> push(id, true, A, "new", "other")));
        all.add(skipping("push of a duplicate", LANE_A, id -> push(id, false, A, "m1", "other")));
        all.add(skipping("push to a new lane", NEW_LANE, id -> push(id, false, "n", "new")));
        all.add(
                skipping(
                        "push settled",
                        LANE_A,
                        id ->
                                new Op.Settle(
                                        id, batch(A, 1, "m0", "m1", "m2", "m3", "m4", "m5"), -1)));
        all.add(skipping("pop", CURSOR_B, id -> pop(id, Claim.LEASED, "g", B, 2)));
        all.add(skipping("pop without lease", CURSOR_B, id -> pop(id, Claim.AUTO, "g", B, 2)));
        all.add(skipping("first pop", CURSOR_H, id -> pop(id, Claim.FIRST, "h", A, 2)));
        all.add(
                new Interleaving(
                        "pop of a leased lane",
                        Set.of(),
                        Set.of(),
                        false,
                        id -> pop(id, Claim.LEASED, "g", A, 2)));
        all.add(
                skipping(
                        "ack of a batch",
                        CURSOR_A,
                        id -> new Op.AckBatches(id, List.of(LEASED), List.of(0))));
        all.add(skipping("ack", CURSOR_A, id -> ack(id, false, Status.COMPLETED)));
        all.add(waiting("ack that waits", CURSOR_A, id -> ack(id, true, Status.COMPLETED)));
        all.add(waiting("retry that waits", CURSOR_A, id -> ack(id, true, Status.RETRY)));
        all.add(skipping("failure", CURSOR_A, id -> ack(id, false, Status.FAILED)));
        all.add(waiting("dead letter", CURSOR_A, id -> ack(id, true, Status.DLQ)));
        all.add(waiting("extension", CURSOR_A, id -> new Op.Extend(id, LEASED, 4)));
        all.add(skipping("release", CURSOR_A, id -> new Op.Release(id, 1, 0)));
        all.add(skipping("new group", NEW_GROUP, id -> register(id, "n")));
        all.add(skipping("registration", GROUP_T, id -> register(id, "t")));
        all.add(
                waiting(
                        "configure",
                        QUEUE,
                        id -> new Op.Configure(id, "q", List.of(new Option("retry_limit", "2")))));
        all.add(waiting("queue delete", QUEUE, id -> new Op.DeleteQueue(id, "q")));
        all.add(
                new Interleaving(
                        "transaction",
                        Set.of(),
                        Set.of(LANE_A, CURSOR_A),
                        false,
                        id -> transact(id, "new")));
        all.add(
                new Interleaving(
                        "transaction refused",
                        Set.of(),
                        Set.of(LANE_A),
                        true,
                        id -> transact(id, "m1")));
        all.add(waiting("seek of a lane", CURSOR_A, id -> seek(id, "g", Target.END)));
        all.add(waiting("seek of a new cursor", CURSOR_H, id -> seek(id, "h", Target.BEGINNING)));
        all.add(
                waiting(
                        "seek of a queue",
                        GROUP,
                        id -> new Op.SeekQueue(id, "q", "g", Target.BEGINNING, 0)));
        all.add(waiting("group delete", GROUP, id -> new Op.DeleteGroup(id, "q", "g", true)));
        all.add(
                new Interleaving(
                        "replay",
                        Set.of(),
                        Set.of(LANE_A, DEAD_LETTER),
                        false,
                        id -> new Op.Replay(id, "q", B, "g", 1, "q", A)));
        all.add(
                waiting(
                        "dead letter delete",
                        DEAD_LETTER,
                        id -> new Op.DeleteDeadLetter(id, "q", B, "m1")));
        return all;
    }

    /** A message for the first lane, and the ack of what is leased there. */
    private static Op transact(int id, String message) {
        return new Op.Transact(
                id,
                List.of(batch(A, 100L + id, message)),
                List.of(new Unit(new LaneRef("q", A, null), "g", LEASED)),
                List.of(new Item(0, "m2", Status.COMPLETED, null)),
                List.of(LEASED));
    }

    private static Op seek(int id, String group, Target target) {
        return new Op.SeekLane(id, "q", A, group, target, 0, 0);
    }

    private static Interleaving skipping(String name, String lock, IntFunction<Op> op) {
        return new Interleaving(name, Set.of(lock), Set.of(), false, op);
    }

    private static Interleaving waiting(String name, String lock, IntFunction<Op> op) {
        return new Interleaving(name, Set.of(), Set.of(lock), false, op);
    }

    private static Batch batch(String lane, long flush, String... ids) {
        return new Batch("q", lane, flush, List.of(ids), 1, 0);
    }

    private static Op push(int id, boolean waiting, String lane, String... ids) {
        return new Op.Push(id, waiting, List.of(batch(lane, 100L + id, ids)));
    }

    private static Op pop(int id, Claim claim, String group, String lane, int budget) {
        return new Op.Pop(
                id, claim, null, List.of(new Job("q", group, budget, 1, 1, false, List.of(lane))));
    }

    private static Op register(int id, String group) {
        return new Op.Register(id, "q", group, new Start(Rule.NEW, 0), false, false);
    }

    /** m0 completed, m1 with that status. */
    private static Op ack(int id, boolean waiting, Status status) {
        return new Op.Ack(
                id,
                waiting,
                List.of(new Unit(new LaneRef("q", A, null), "g", LEASED)),
                Arrays.asList(
                        new Item(0, "m0", Status.COMPLETED, null),
                        new Item(0, "m1", status, "because")));
    }
}
