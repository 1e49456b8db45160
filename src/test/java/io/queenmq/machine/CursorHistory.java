package io.queenmq.machine;

import io.queenmq.machine.Acks.Outcome;
import io.queenmq.machine.Op.Delivered;
import io.queenmq.machine.Op.Item;
import io.queenmq.machine.Op.LaneRef;
import io.queenmq.machine.Op.Unit;
import io.queenmq.machine.State.Cursor;
import io.queenmq.machine.State.DeadLetter;
import io.queenmq.machine.State.Group;
import io.queenmq.machine.State.Lane;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What happened to one cursor while many worked at it at once: is there an order of these events,
 * true to which ended before which began, in which a cursor of the model answers each of them so?
 */
final class CursorHistory {
    static final Pattern LEASED = Pattern.compile("leased (\\d+)\\.\\.(\\d+) attempt (\\d+)");

    /**
     * One event: a claim, an ack, or what ends or moves a lease.
     *
     * @param start ticks of one clock for all clients, taken before the call and after its answer
     */
    record Event(long start, long end, Call call) {}

    sealed interface Call {
        /** What a claim of the lane alone said: leased or held. */
        record Claimed(Delivered lease, String verdict) implements Call {}

        record Acked(Delivered lease, List<Item> items, List<Outcome> outcomes) implements Call {}

        record AckedBatch(Delivered lease, long end, String verdict) implements Call {}

        record Extended(Delivered lease, boolean renewed) implements Call {}

        record Released(Delivered lease) implements Call {}

        /** The lease, whosever it was, ran out. */
        record Expired() implements Call {}

        record Sought(long committed) implements Call {}

        /**
         * The dead letter of that message went to some lane: a repeated failure meets it no more.
         */
        record Replayed(long offset) implements Call {}
    }

    private final State state = new State();
    private final Acks acks = new Acks(state, false);
    private final Lane lane;
    private final Group group;
    private final List<Event> events;
    private final Set<String> deadEnds = new HashSet<>();
    private int deepest;

    CursorHistory(Lane lane, String group, List<Event> events) {
        this.lane = lane;
        this.group = new Group(group);
        this.group.registered = true;
        this.lane.queue.groups.put(group, this.group);
        this.events = events;
        state.queues.put(lane.queue.name, lane.queue);
    }

    /** Null = there is such an order; else the events around the point where none goes on. */
    @Nullable String contradiction() {
        if (goesOn(new BitSet(events.size()), new Cursor(1, -1), List.of())) {
            return null;
        }
        int from = Math.max(0, deepest - 6);
        StringBuilder text = new StringBuilder(lane.name + " " + group.name + ":");
        for (int i = from; i < Math.min(events.size(), deepest + 8); i++) {
            text.append("\n  ").append(events.get(i));
        }
        return text.toString();
    }

    private boolean goesOn(BitSet done, Cursor cursor, List<DeadLetter> letters) {
        int next = done.nextClearBit(0);
        if (next >= events.size()) {
            return true;
        }
        deepest = Math.max(deepest, next);
        String place = done + " " + describe(cursor) + letters.size();
        if (!deadEnds.add(place)) {
            return false;
        }
        long firstEnd = Long.MAX_VALUE;
        for (int i = next; i < events.size() && events.get(i).start() < firstEnd; i++) {
            if (!done.get(i)) {
                firstEnd = Math.min(firstEnd, events.get(i).end());
            }
        }
        for (int i = next; i < events.size() && events.get(i).start() < firstEnd; i++) {
            if (done.get(i)) {
                continue;
            }
            Cursor after = cursor.copy();
            state.deadLetters.clear();
            state.deadLetters.addAll(letters);
            lane.cursors.put(group, after);
            if (answersSo(events.get(i).call(), after)) {
                done.set(i);
                Cursor reached = lane.cursors.getOrDefault(group, after);
                if (goesOn(done, reached, List.copyOf(state.deadLetters))) {
                    return true;
                }
                done.clear(i);
            }
        }
        return false;
    }

    private static String describe(Cursor cursor) {
        return cursor.committed
                + " "
                + cursor.batchEnd
                + " "
                + cursor.lease
                + " "
                + cursor.prevLease
                + " "
                + cursor.expiresSeconds
                + " "
                + cursor.retries
                + " "
                + cursor.attemptOffset
                + " "
                + cursor.attempts;
    }

    /** Whether the cursor would have said that; if so it is what it is after it. */
    private boolean answersSo(Call call, Cursor cursor) {
        return switch (call) {
            case Call.Claimed claimed -> claims(claimed, cursor);
            case Call.Acked acked ->
                    acks.ackUnit(
                                    new Unit(
                                            new LaneRef(lane.queue.name, lane.name, null),
                                            group.name,
                                            acked.lease()),
                                    acked.items())
                            .equals(acked.outcomes());
            case Call.AckedBatch acked ->
                    acks.ackBatch(
                                    acked.lease(),
                                    new State.Taken(lane, group, 0, acked.end()),
                                    acked.end())
                            .equals(acked.verdict());
            case Call.Extended extended ->
                    extended.renewed()
                            == (State.isSameLease(cursor.lease, extended.lease())
                                    && state.isLive(cursor));
            case Call.Released released -> {
                boolean held = State.isSameLease(cursor.lease, released.lease());
                cursor.endLease();
                cursor.attempts = Math.max(0, cursor.attempts - 1);
                yield held;
            }
            case Call.Expired ignored -> {
                boolean held = cursor.lease != null;
                cursor.expiresSeconds = 0;
                yield held;
            }
            case Call.Replayed replayed ->
                    state.deadLetters.removeIf(letter -> letter.offset() == replayed.offset());
            case Call.Sought sought -> {
                lane.cursors.put(group, new Cursor(1, sought.committed()));
                yield true;
            }
        };
    }

    private boolean claims(Call.Claimed claimed, Cursor cursor) {
        boolean live = state.isLive(cursor);
        Matcher leased = LEASED.matcher(claimed.verdict());
        if (!leased.matches()) {
            return claimed.verdict().equals("held") == live;
        }
        long from = Long.parseLong(leased.group(1));
        if (live || from != cursor.committed + 1) {
            return false;
        }
        cursor.attempts =
                cursor.attemptOffset == from && cursor.attempts > 0 ? cursor.attempts + 1 : 1;
        cursor.attemptOffset = from;
        cursor.lease = claimed.lease();
        cursor.batchEnd = Long.parseLong(leased.group(2));
        cursor.expiresSeconds = State.span(1);
        return cursor.attempts == Integer.parseInt(leased.group(3));
    }

    /** Events of a cursor in the order in which they began. */
    static List<Event> sorted(List<Event> events) {
        List<Event> sorted = new ArrayList<>(events);
        sorted.sort((one, other) -> Long.compare(one.start(), other.start()));
        return sorted;
    }
}
