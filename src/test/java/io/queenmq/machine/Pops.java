package io.queenmq.machine;

import io.queenmq.machine.Op.Delivered;
import io.queenmq.machine.Op.Job;
import io.queenmq.machine.Op.Start;
import io.queenmq.machine.State.Cursor;
import io.queenmq.machine.State.Group;
import io.queenmq.machine.State.Lane;
import io.queenmq.machine.State.Message;
import io.queenmq.machine.State.Moment;
import io.queenmq.machine.State.Queue;
import io.queenmq.machine.State.Taken;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Taking: lane by lane in the order given, until the budget or the number of lanes is used up. A
 * lane with a live lease gives nothing; what is not visible yet cuts a lane's tail off.
 */
final class Pops {
    private final State state;

    Pops(State state) {
        this.state = state;
    }

    List<String> register(Op.Register register) {
        Queue queue = state.queues.get(register.queue());
        if (queue == null && !register.create()) {
            return List.of("unknown_queue");
        }
        Group group =
                group(
                        queue == null ? state.queueMadeByPush(register.queue()) : queue,
                        register.group());
        Start start = register.start();
        if (start != null && !group.registered) {
            group.registered = true;
            group.startAt = instant(start);
            group.conflates = register.conflates();
        }
        return List.of("ready registered=" + group.registered);
    }

    /**
     * @param observed what was answered: whether a lane behind a used-up budget was looked at is
     *     not for the model to say
     */
    List<String> pop(Op.Pop pop, List<String> observed) {
        List<String> lines = new ArrayList<>();
        for (int i = 0; i < pop.jobs().size(); i++) {
            Job job = pop.jobs().get(i);
            Queue queue = state.queues.get(job.queue());
            if (queue == null
                    || queue.lanes.keySet().stream().noneMatch(job.partitions()::contains)) {
                // Nothing is known of the group yet, and nothing need be.
                job.partitions().forEach(name -> lines.add(head(job, name) + "no lane"));
            } else {
                claim(pop, i, job, queue, lines, observed);
            }
        }
        return lines;
    }

    List<String> queuePop(Op.QueuePop pop, List<String> observed) {
        Job job = pop.job();
        register(
                new Op.Register(
                        pop.id(), job.queue(), job.group(), pop.start(), true, pop.conflates()));
        Queue queue = state.queues.get(job.queue());
        if (queue != null) {
            place(pop.start(), pop.placed(), queue, group(queue, job.group()));
        }
        return pop(new Op.Pop(pop.id(), pop.claim(), pop.start(), List.of(job)), observed);
    }

    List<String> release(Op.Release release) {
        List<Cursor> held = held(new Delivered(release.pop(), release.job(), 0), true);
        for (Cursor cursor : held) {
            cursor.endLease();
            cursor.attempts = Math.max(0, cursor.attempts - 1);
        }
        return List.of("released " + held.size());
    }

    List<String> extend(Op.Extend extend) {
        int renewed = 0;
        for (Cursor cursor : held(extend.lease(), false)) {
            if (state.isLive(cursor)) {
                cursor.expiresSeconds =
                        Math.max(cursor.expiresSeconds, state.seconds + State.span(extend.units()));
                renewed++;
            }
        }
        return List.of("renewed " + renewed);
    }

    /** Cursors that hold a lease; if asked for those too that nobody can reach any more. */
    private List<Cursor> held(Delivered lease, boolean lost) {
        List<Cursor> held = new ArrayList<>();
        state.deliveries.forEach(
                (delivered, taken) -> {
                    Cursor cursor = taken.lane.cursors.get(taken.group);
                    if (State.isSameLease(delivered, lease)
                            && cursor != null
                            && (lost || !taken.lane.queue.deleted)
                            && (lost || cursor.generation == taken.group.generation)
                            && State.isSameLease(cursor.lease, lease)) {
                        held.add(cursor);
                    }
                });
        return held;
    }

    static Group group(Queue queue, String name) {
        Group group = queue.groups.computeIfAbsent(name, Group::new);
        // Pops without a group ignore every subscription: all that is kept is theirs.
        group.registered |= name.equals(State.QUEUE_MODE);
        return group;
    }

    private @Nullable Moment instant(Start start) {
        return switch (start.rule()) {
            case ALL -> null;
            case NEW -> state.now();
            case INSTANT -> state.ago(start.age());
        };
    }

    private void claim(
            Op.Pop pop,
            int jobIndex,
            Job job,
            Queue queue,
            List<String> lines,
            List<String> observed) {
        Group group = group(queue, job.group());
        if (pop.claim().places()) {
            place(pop.start(), job.partitions(), queue, group);
        }
        int budget = Math.max(job.budget(), 1);
        int laneLimit = job.several() ? job.laneLimit() : 1;
        int lanes = 0;
        for (int i = 0; i < job.partitions().size(); i++) {
            String partition = job.partitions().get(i);
            Lane lane = queue.lanes.get(partition);
            String verdict;
            if (lane == null) {
                verdict = "no lane";
            } else {
                boolean spent = budget <= 0 || (laneLimit > 0 && lanes >= laneLimit);
                Taken taken = null;
                boolean seen =
                        lines.size() < observed.size()
                                && observed.get(lines.size()).endsWith(": empty");
                String refusal = refusal(pop, lane, group, spent, seen);
                if (refusal.isEmpty()) {
                    taken =
                            take(
                                    pop,
                                    new Delivered(pop.id(), jobIndex, i),
                                    job,
                                    lane,
                                    group,
                                    budget);
                }
                if (taken == null) {
                    verdict = refusal.isEmpty() ? "empty" : refusal;
                } else {
                    budget -= (int) (taken.end - taken.from + 1);
                    lanes++;
                    verdict = describe(pop, lane, group, taken);
                }
            }
            lines.add(head(job, partition) + verdict);
        }
    }

    /** A lane where the group has no cursor begins by the group's rule, else by the pop's. */
    private void place(@Nullable Start start, List<String> partitions, Queue queue, Group group) {
        for (String partition : partitions) {
            Lane lane = queue.lanes.get(partition);
            if (lane == null || lane.cursor(group) != null || (!group.hasRule() && start == null)) {
                continue;
            }
            Moment at = group.beginsAt();
            if (!group.hasRule() && start != null) {
                at = instant(start);
            }
            long committed = state.start(lane, at);
            // A lane of a registered group with nothing to deliver needs no cursor of its own.
            if (committed < lane.last() || !group.hasRule()) {
                lane.cursors.put(group, new Cursor(group.generation, committed));
            }
        }
    }

    /** Why a lane cannot give anything, as far as its cursor tells. */
    private String refusal(Op.Pop pop, Lane lane, Group group, boolean spent, boolean seen) {
        Cursor cursor = lane.cursor(group);
        if (cursor == null) {
            return pop.claim().places() && (group.hasRule() || pop.start() != null)
                    ? "empty"
                    : "no_cursor";
        }
        if (state.isLive(cursor)) {
            return "held";
        }
        if (cursor.committed >= lane.last()) {
            return "empty";
        }
        if (!spent || (seen && lane.logStart > lane.last())) {
            return "";
        }
        return visible(lane, cursor) == 0 ? "spare or empty" : "spare";
    }

    private int visible(Lane lane, Cursor cursor) {
        int visible = 0;
        for (Message message : lane.messages) {
            if (message.offset() > cursor.committed
                    && message.offset() >= lane.logStart
                    && (lane.queue.delaySeconds == 0
                            || !state.isWithin(message.created(), lane.queue.delaySeconds))) {
                visible++;
            }
        }
        return visible;
    }

    private @Nullable Taken take(
            Op.Pop pop, Delivered delivered, Job job, Lane lane, Group group, int budget) {
        Cursor cursor = lane.cursors.get(group);
        if (cursor == null) {
            throw new IllegalStateException("no cursor");
        }
        if (lane.logStart > lane.last()) {
            // Nothing is kept beyond the cursor: it stops counting as pending.
            cursor.committed = lane.last();
            cursor.endLease();
            return null;
        }
        int take = Math.min(visible(lane, cursor), budget);
        if (take == 0) {
            return null;
        }
        long first = Math.max(cursor.committed + 1, lane.logStart);
        long newest = first + visible(lane, cursor) - 1;
        Taken taken =
                group.conflates
                        ? new Taken(lane, group, newest, newest)
                        : new Taken(lane, group, first, first + take - 1);
        long from = group.conflates ? cursor.committed + 1 : first;
        cursor.conflated = group.conflates;
        state.deliveries.put(delivered, taken);
        if (pop.claim().leases()) {
            cursor.attempts =
                    cursor.attemptOffset == from && cursor.attempts > 0 ? cursor.attempts + 1 : 1;
            cursor.attemptOffset = from;
            cursor.lease = delivered;
            cursor.batchEnd = taken.end;
            cursor.expiresSeconds =
                    state.seconds
                            + (job.leaseUnits() > 0
                                    ? State.span(job.leaseUnits())
                                    : lane.queue.leaseSeconds);
        } else {
            cursor.committed = taken.end;
            cursor.endLease();
            group.consumed = true;
        }
        return taken;
    }

    static String head(Job job, String partition) {
        return "%s/%s %s: ".formatted(job.queue(), partition, job.group());
    }

    private static String describe(Op.Pop pop, Lane lane, Group group, Taken taken) {
        List<String> ids =
                lane.messages.subList((int) taken.from, (int) taken.end + 1).stream()
                        .map(Message::id)
                        .toList();
        Cursor cursor = lane.cursors.get(group);
        return pop.claim().leases() && cursor != null
                ? "leased %d..%d attempt %d = %s"
                        .formatted(taken.from, taken.end, cursor.attempts, ids)
                : "served %d..%d = %s".formatted(taken.from, taken.end, ids);
    }
}
