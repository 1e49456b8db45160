package io.queenmq.machine;

import static java.util.stream.Collectors.toSet;

import io.queenmq.machine.Op.Delivered;
import io.queenmq.machine.Op.Item;
import io.queenmq.machine.Op.LaneRef;
import io.queenmq.machine.Op.Status;
import io.queenmq.machine.Op.Unit;
import io.queenmq.machine.State.Cursor;
import io.queenmq.machine.State.DeadLetter;
import io.queenmq.machine.State.Group;
import io.queenmq.machine.State.Lane;
import io.queenmq.machine.State.Message;
import io.queenmq.machine.State.Taken;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Acknowledging: an offset commit per (lane, group), never a delete. */
final class Acks {
    private static final int SEARCH_MESSAGES = 100_000;

    private final State state;
    private final boolean behindBrokers;

    Acks(State state, boolean behindBrokers) {
        this.state = state;
        this.behindBrokers = behindBrokers;
    }

    /** What became of one item. */
    record Outcome(String verdict, boolean released, boolean deadLettered) {
        @Override
        public String toString() {
            return verdict + (released ? " released" : "") + (deadLettered ? " dead" : "");
        }
    }

    List<String> ackBatches(Op.AckBatches acks) {
        List<String> lines = new ArrayList<>();
        for (int i = 0; i < acks.batches().size(); i++) {
            Delivered delivered = acks.batches().get(i);
            Taken taken = state.deliveries.get(delivered);
            if (taken != null) {
                lines.add(
                        delivered
                                + ": "
                                + ackBatch(delivered, taken, taken.end + acks.shifts().get(i)));
            }
        }
        return lines;
    }

    String ackBatch(@Nullable Delivered delivered, Taken taken, long end) {
        Cursor cursor = taken.lane.cursors.get(taken.group);
        if (cursor == null
                || taken.lane.queue.deleted
                || cursor.generation != taken.group.generation) {
            return "lost";
        }
        if (State.isSameLease(cursor.prevLease, delivered)) {
            return end > cursor.prevEnd ? "lost" : "noop";
        }
        boolean holds =
                State.isSameLease(cursor.lease, delivered)
                        && cursor.batchEnd == end
                        && state.isLive(cursor);
        if (!holds) {
            return "lost";
        }
        release(cursor, end);
        cursor.retries = 0;
        taken.group.consumed = true;
        return "released";
    }

    /** The batch is over; what it moves past is committed. */
    private static void release(Cursor cursor, long committed) {
        cursor.prevCommitted = cursor.committed;
        cursor.prevEnd = committed;
        cursor.prevLease = cursor.lease;
        commit(cursor, committed);
        cursor.endLease();
    }

    private static void commit(Cursor cursor, long committed) {
        cursor.committed = committed;
        if (cursor.attemptOffset > committed) {
            return;
        }
        if (cursor.hasBatch() && committed < cursor.batchEnd) {
            // What is left was delivered as often as the beginning.
            cursor.attemptOffset = committed + 1;
        } else {
            cursor.attempts = 0;
        }
    }

    List<String> ack(Op.Ack ack, List<String> observed) {
        boolean answered = observed.size() == ack.items().size();
        Outcome[] outcomes = new Outcome[ack.items().size()];
        for (int u = 0; u < ack.units().size(); u++) {
            Unit unit = ack.units().get(u);
            List<Integer> places = new ArrayList<>();
            for (int i = 0; i < ack.items().size(); i++) {
                if (ack.items().get(i).unit() == u) {
                    places.add(i);
                }
            }
            List<Item> items = places.stream().map(i -> ack.items().get(i)).toList();
            Taken taken = behindBrokers && answered ? taken(unit) : null;
            List<Outcome> answers =
                    taken != null && isWhole(taken, unit, items, places.stream().map(observed::get))
                            ? ackWhole(unit, taken, items)
                            : ackUnit(unit, items);
            for (int i = 0; i < places.size(); i++) {
                outcomes[places.get(i)] = answers.get(i);
            }
        }
        return Arrays.stream(outcomes).map(Outcome::toString).toList();
    }

    /**
     * Whether the ack is of all that a lease delivered and was answered as such: a broker that
     * remembers what it delivered knows of messages that a search by key does not find any more, or
     * finds twice.
     */
    private static boolean isWhole(
            Taken taken, Unit unit, List<Item> items, Stream<String> observed) {
        Cursor cursor = taken.lane.cursors.get(taken.group);
        if (cursor == null) {
            return false;
        }
        Set<String> delivered = new HashSet<>();
        for (long offset = taken.from; offset <= taken.end; offset++) {
            delivered.add(taken.lane.at(offset).id());
        }
        String told = State.isSameLease(cursor.prevLease, unit.lease()) ? "noop" : "done released";
        return items.stream().allMatch(item -> item.status() == Status.COMPLETED)
                && items.size() > taken.end - taken.from
                && items.stream().map(Item::transactionId).collect(toSet()).equals(delivered)
                && observed.allMatch(told::equals);
    }

    private List<Outcome> ackWhole(Unit unit, Taken taken, List<Item> items) {
        String verdict = ackBatch(unit.lease(), taken, taken.end);
        if (verdict.equals("lost")) {
            return ackUnit(unit, items);
        }
        boolean released = verdict.equals("released");
        Outcome outcome = new Outcome(released ? "done" : verdict, released, false);
        return Collections.nCopies(items.size(), outcome);
    }

    /** What the lease of the unit delivered of its lane to its group. */
    private @Nullable Taken taken(Unit unit) {
        Lane lane = lane(unit.lane());
        return state.deliveries.entrySet().stream()
                .filter(delivery -> State.isSameLease(delivery.getKey(), unit.lease()))
                .map(Map.Entry::getValue)
                .filter(taken -> taken.lane == lane && taken.group.name.equals(unit.group()))
                .findFirst()
                .orElse(null);
    }

    List<Outcome> ackUnit(Unit unit, List<Item> items) {
        Lane lane = lane(unit.lane());
        if (lane == null || lane.queue.deleted) {
            return all(items, "not_owned");
        }
        Group group = lane.queue.groups.get(unit.group());
        Cursor cursor = group == null ? null : lane.cursors.get(group);
        if (group == null || cursor == null) {
            return all(items, "consumer_not_found");
        }
        if (cursor.generation != group.generation) {
            // A seek or the end of the group has ended every lease.
            if (unit.lease() == null) {
                return all(items, "consumer_not_found");
            }
            return all(
                    items, behindBrokers ? "invalid_lease or consumer_not_found" : "invalid_lease");
        }
        if (State.isSameLease(cursor.prevLease, unit.lease())) {
            return items.stream().map(item -> repeated(lane, unit.group(), cursor, item)).toList();
        }
        if (unit.lease() != null
                && !(State.isSameLease(cursor.lease, unit.lease()) && state.isLive(cursor))) {
            return all(items, "invalid_lease");
        }
        return act(lane, group, cursor, items);
    }

    @Nullable Lane lane(LaneRef ref) {
        if (ref.delivered() != null) {
            Taken taken = state.deliveries.get(ref.delivered());
            return taken == null ? null : taken.lane;
        }
        return state.lane(ref.queue(), ref.partition());
    }

    private static List<Outcome> all(List<Item> items, String verdict) {
        return items.stream().map(item -> new Outcome(verdict, false, false)).toList();
    }

    /** The lease was given back by an ack before: nothing changes. */
    private Outcome repeated(Lane lane, String group, Cursor cursor, Item item) {
        Message message = behind(lane, cursor, item.transactionId());
        if (message == null || message.offset() > cursor.prevEnd) {
            return new Outcome("invalid_lease", false, false);
        }
        boolean stale =
                item.status() != Status.COMPLETED
                        && state.deadLetters.stream()
                                .noneMatch(
                                        letter ->
                                                letter.lane().equals(lane)
                                                        && letter.group().equals(group)
                                                        && letter.offset() == message.offset());
        return new Outcome(stale ? "stale" : "noop", false, false);
    }

    /** Lowest offset of an id in the batch, or ahead of the cursor where there is none. */
    private @Nullable Message ahead(Lane lane, Cursor cursor, String id) {
        long to =
                cursor.hasBatch()
                        ? cursor.batchEnd
                        : Math.min(lane.last(), cursor.committed + SEARCH_MESSAGES);
        // Of a conflated batch only the last message was delivered.
        long from = cursor.hasBatch() && cursor.conflated ? to : cursor.committed + 1;
        for (long offset = from; offset <= to; offset++) {
            Message message = lane.at(offset);
            if (message.id().equals(id)
                    && (cursor.hasBatch()
                            || state.isWithin(message.created(), lane.queue.ackWindowSeconds()))) {
                return message;
            }
        }
        return null;
    }

    /** Lowest offset of an id in the batch acknowledged last, or not too far and long behind. */
    private @Nullable Message behind(Lane lane, Cursor cursor, String id) {
        boolean hasPrevious = cursor.prevLease != null;
        for (long offset = 0; offset <= cursor.committed; offset++) {
            Message message = lane.at(offset);
            boolean searched =
                    (hasPrevious && offset > cursor.prevCommitted)
                            || (offset > cursor.committed - SEARCH_MESSAGES
                                    && state.isWithin(
                                            message.created(), lane.queue.ackWindowSeconds()));
            if (searched && message.id().equals(id)) {
                return message;
            }
        }
        return null;
    }

    private static int weight(Status status) {
        return switch (status) {
            case COMPLETED -> 0;
            case RETRY -> 1;
            case FAILED -> 2;
            case DLQ -> 3;
        };
    }

    private List<Outcome> act(Lane lane, Group group, Cursor cursor, List<Item> items) {
        long[] offsets = new long[items.size()];
        boolean[] isAhead = new boolean[items.size()];
        long signal = Long.MAX_VALUE;
        for (int i = 0; i < offsets.length; i++) {
            Message message = ahead(lane, cursor, items.get(i).transactionId());
            isAhead[i] = message != null;
            if (message == null) {
                message = behind(lane, cursor, items.get(i).transactionId());
            }
            offsets[i] = message == null ? -1 : message.offset();
            if (isAhead[i] && items.get(i).status() != Status.COMPLETED) {
                signal = Math.min(signal, offsets[i]);
            }
        }
        long prefix = cursor.committed;
        int weight = 0;
        for (int i = 0; i < offsets.length; i++) {
            if (isAhead[i] && items.get(i).status() == Status.COMPLETED && offsets[i] < signal) {
                prefix = Math.max(prefix, offsets[i]);
            }
            if (isAhead[i] && offsets[i] == signal) {
                weight = Math.max(weight, weight(items.get(i).status()));
            }
        }

        boolean hadBatch = cursor.hasBatch();
        long before = cursor.committed;
        boolean filed = false;
        boolean released = false;
        if (weight == 0 || !hadBatch) {
            released = hadBatch && prefix >= cursor.batchEnd;
            boolean reachesEnd = released;
            if (released) {
                release(cursor, prefix);
            } else {
                commit(cursor, prefix);
            }
            cursor.retries = reachesEnd ? 0 : cursor.retries;
        } else {
            boolean exhausted = weight == 2 && cursor.retries >= lane.queue.retryLimit;
            filed = weight == 3 || (exhausted && lane.queue.filesDeadLetters());
            released = true;
            if (filed) {
                state.deadLetters.add(
                        new DeadLetter(
                                lane,
                                group.name,
                                signal,
                                lane.at(signal).id(),
                                reason(items, offsets, isAhead, signal),
                                cursor.retries));
            }
            if (filed || exhausted) {
                release(cursor, signal);
                cursor.retries = 0;
                cursor.attempts = 0;
            } else {
                release(cursor, prefix);
                cursor.retries += weight == 2 ? 1 : 0;
            }
        }
        if (cursor.committed > before) {
            group.consumed = true;
        }

        List<Outcome> outcomes = new ArrayList<>();
        for (int i = 0; i < offsets.length; i++) {
            boolean completed = items.get(i).status() == Status.COMPLETED;
            String verdict =
                    offsets[i] < 0
                            ? "unresolvable"
                            : !isAhead[i]
                                    ? completed ? "noop" : "stale"
                                    : !completed && !hadBatch ? "no_leased_batch" : "done";
            outcomes.add(
                    new Outcome(
                            verdict,
                            released && verdict.equals("done"),
                            filed
                                    && isAhead[i]
                                    && offsets[i] == signal
                                    && weight(items.get(i).status()) == weight));
        }
        return outcomes;
    }

    /** The error of the nack that names the message, else the first of the call. */
    private static String reason(List<Item> items, long[] offsets, boolean[] isAhead, long signal) {
        String named = null;
        int namedWeight = 1;
        String first = null;
        for (int i = 0; i < offsets.length; i++) {
            String error = items.get(i).error();
            if (error == null || error.isEmpty()) {
                continue;
            }
            first = first == null ? error : first;
            int weight = weight(items.get(i).status());
            if (isAhead[i] && offsets[i] == signal && weight > namedWeight) {
                named = error;
                namedWeight = weight;
            }
        }
        return named != null ? named : first != null ? first : "Retries exhausted";
    }
}
