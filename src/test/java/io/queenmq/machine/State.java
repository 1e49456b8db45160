package io.queenmq.machine;

import io.queenmq.machine.Op.Delivered;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** What the model knows: plain lists and maps, no locks, one thing at a time. */
final class State {
    /** Time goes by in steps of this; all spans end half-way between two steps. */
    static final int UNIT_SECONDS = 1_000;

    static final int HALF_SECONDS = 500;

    static final String QUEUE_MODE = "__QUEUE_MODE__";

    /** An instant: seconds gone by, then the number of the operation. */
    record Moment(long seconds, long step) implements Comparable<Moment> {
        @Override
        public int compareTo(Moment other) {
            return seconds != other.seconds
                    ? Long.compare(seconds, other.seconds)
                    : Long.compare(step, other.step);
        }
    }

    record Message(long offset, String id, Moment created, long segmentBase) {}

    record DeadLetter(Lane lane, String group, long offset, String id, String error, int retries) {}

    static final class Queue {
        final String name;
        boolean deleted;
        int leaseSeconds;
        int retryLimit = 3;
        boolean deadLetterQueue = true;
        boolean dlqAfterMaxRetries = true;
        int dedupSeconds = 3_600;

        /** The narrowest window it ever had: a broker may still believe in that. */
        int narrowestDedupSeconds = dedupSeconds;

        int delaySeconds;
        int completedRetentionSeconds;
        final Map<String, Lane> lanes = new TreeMap<>();
        final Map<String, Group> groups = new TreeMap<>();

        Queue(String name, int leaseSeconds) {
            this.name = name;
            this.leaseSeconds = leaseSeconds;
        }

        boolean filesDeadLetters() {
            return deadLetterQueue || dlqAfterMaxRetries;
        }

        /** How far back an ack looks for an id. */
        int ackWindowSeconds() {
            return Math.max(Math.max(dedupSeconds, completedRetentionSeconds), 900);
        }
    }

    static final class Lane {
        final Queue queue;
        final String name;
        final List<Message> messages = new ArrayList<>();
        final Map<Group, Cursor> cursors = new LinkedHashMap<>();

        /** First offset of every lane-batch and what settles it. */
        final TreeMap<Long, Long> flushes = new TreeMap<>();

        long logStart;

        Lane(Queue queue, String name) {
            this.queue = queue;
            this.name = name;
        }

        long last() {
            return messages.size() - 1L;
        }

        Message at(long offset) {
            return messages.get((int) offset);
        }

        /** The cursor, unless it is of a generation gone by. */
        @Nullable Cursor cursor(Group group) {
            Cursor cursor = cursors.get(group);
            return cursor != null && cursor.generation == group.generation ? cursor : null;
        }
    }

    static final class Group {
        final String name;
        int generation = 1;
        boolean registered;

        /** Where lanes begin: null = the oldest message. */
        @Nullable Moment startAt;

        boolean sought;
        @Nullable Moment seekAt;
        boolean consumed;

        /** Of a lane only the newest message is delivered; it stands for those before it. */
        boolean conflates;

        Group(String name) {
            this.name = name;
        }

        boolean hasRule() {
            return registered || sought;
        }

        @Nullable Moment beginsAt() {
            return sought ? seekAt : startAt;
        }
    }

    static final class Cursor {
        final int generation;
        long committed;
        long prevCommitted = -1;
        long prevEnd = -1;
        long batchEnd = -1;
        @Nullable Delivered lease;
        @Nullable Delivered prevLease;
        long expiresSeconds;
        int retries;
        long attemptOffset = -1;
        int attempts;
        boolean conflated;

        Cursor(int generation, long committed) {
            this.generation = generation;
            this.committed = committed;
        }

        boolean hasBatch() {
            return lease != null;
        }

        Cursor copy() {
            Cursor copy = new Cursor(generation, committed);
            copy.prevCommitted = prevCommitted;
            copy.prevEnd = prevEnd;
            copy.batchEnd = batchEnd;
            copy.lease = lease;
            copy.prevLease = prevLease;
            copy.expiresSeconds = expiresSeconds;
            copy.retries = retries;
            copy.attemptOffset = attemptOffset;
            copy.attempts = attempts;
            copy.conflated = conflated;
            return copy;
        }

        void endLease() {
            lease = null;
            batchEnd = -1;
            expiresSeconds = 0;
        }
    }

    /** What one job took from one lane. */
    static final class Taken {
        final Lane lane;
        final Group group;
        final long from;
        final long end;

        Taken(Lane lane, Group group, long from, long end) {
            this.lane = lane;
            this.group = group;
            this.from = from;
            this.end = end;
        }
    }

    final Map<String, Queue> queues = new TreeMap<>();
    final Map<Delivered, Taken> deliveries = new LinkedHashMap<>();
    final List<DeadLetter> deadLetters = new ArrayList<>();
    long seconds;
    long step;

    Moment now() {
        return new Moment(seconds, step);
    }

    /** An instant that lies so many and a half units back. */
    Moment ago(int units) {
        return new Moment(seconds - (long) units * UNIT_SECONDS - HALF_SECONDS, 0);
    }

    /** A span that ends between two steps of time. */
    static long span(int units) {
        return (long) units * UNIT_SECONDS + HALF_SECONDS;
    }

    boolean isWithin(Moment created, long windowSeconds) {
        return seconds - created.seconds() < windowSeconds;
    }

    boolean isLive(Cursor cursor) {
        return cursor.lease != null && cursor.expiresSeconds > seconds;
    }

    @Nullable Lane lane(String queue, String partition) {
        Queue found = queues.get(queue);
        return found == null ? null : found.lanes.get(partition);
    }

    Queue queueMadeByPush(String name) {
        return queues.computeIfAbsent(name, n -> new Queue(n, 60));
    }

    /** Last offset that counts as consumed where a group has no cursor; there must be a rule. */
    long start(Lane lane, @Nullable Moment at) {
        long committed = lane.logStart - 1;
        if (at != null) {
            for (Message message : lane.messages) {
                if (message.offset() >= lane.logStart && message.created().compareTo(at) < 0) {
                    committed = message.offset();
                }
            }
        }
        return committed;
    }

    /** Where a group stands in a lane; null = nowhere yet. */
    @Nullable Long effective(Lane lane, Group group) {
        Cursor cursor = lane.cursor(group);
        if (cursor != null) {
            return Math.max(cursor.committed, lane.logStart - 1);
        }
        return group.hasRule() ? start(lane, group.beginsAt()) : null;
    }

    /** The state as the views tell it, a line per fact, in any order. */
    List<String> lines() {
        List<String> lines = new ArrayList<>();
        for (Queue queue : queues.values()) {
            for (Group group : queue.groups.values()) {
                lines.add(
                        "group %s %s registered=%s consumed=%s"
                                .formatted(
                                        queue.name, group.name, group.registered, group.consumed));
            }
            for (Lane lane : queue.lanes.values()) {
                lines.add(
                        "lane %s/%s last=%d start=%d"
                                .formatted(queue.name, lane.name, lane.last(), lane.logStart));
                for (Group group : queue.groups.values()) {
                    addCursor(lines, lane, group);
                }
            }
        }
        for (DeadLetter letter : deadLetters) {
            if (!letter.lane().queue.deleted) {
                lines.add(
                        "dead letter %s/%s %s offset=%d id=%s error=%s retries=%d"
                                .formatted(
                                        letter.lane().queue.name,
                                        letter.lane().name,
                                        letter.group(),
                                        letter.offset(),
                                        letter.id(),
                                        letter.error(),
                                        letter.retries()));
            }
        }
        return lines;
    }

    private void addCursor(List<String> lines, Lane lane, Group group) {
        Long committed = effective(lane, group);
        Cursor cursor = lane.cursor(group);
        if (committed != null) {
            lines.add(
                    "cursor %s/%s %s committed=%d touched=%s retries=%d"
                            .formatted(
                                    lane.queue.name,
                                    lane.name,
                                    group.name,
                                    committed,
                                    cursor != null,
                                    cursor == null ? 0 : cursor.retries));
        }
        if (cursor != null && cursor.lease != null) {
            lines.add(
                    "lease %s/%s %s %s (%d, %d] for %d attempt=%d"
                            .formatted(
                                    lane.queue.name,
                                    lane.name,
                                    group.name,
                                    name(cursor.lease),
                                    cursor.committed,
                                    cursor.batchEnd,
                                    Math.floorDiv(cursor.expiresSeconds - seconds, UNIT_SECONDS),
                                    cursor.attempts));
        }
    }

    /** All lanes of a job share the lease. */
    static String name(Delivered lease) {
        return "lease" + lease.pop() + "." + lease.job();
    }

    static boolean isSameLease(@Nullable Delivered one, @Nullable Delivered other) {
        return one != null && other != null && one.pop() == other.pop() && one.job() == other.job();
    }

    /** Every message kept, and every lane with work for a group. */
    List<String> log() {
        List<String> lines = new ArrayList<>();
        for (Queue queue : queues.values()) {
            for (Lane lane : queue.lanes.values()) {
                for (Message message : lane.messages) {
                    if (message.offset() >= lane.logStart) {
                        lines.add(
                                "message %s/%s %d %s"
                                        .formatted(
                                                queue.name,
                                                lane.name,
                                                message.offset(),
                                                message.id()));
                    }
                }
                for (Group group : queue.groups.values()) {
                    Long committed = effective(lane, group);
                    if (committed != null
                            && lane.last() > committed
                            && lane.last() >= lane.logStart) {
                        lines.add("work %s/%s %s".formatted(queue.name, lane.name, group.name));
                    }
                }
            }
        }
        return lines;
    }
}
