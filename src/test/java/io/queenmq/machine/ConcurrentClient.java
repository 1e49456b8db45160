package io.queenmq.machine;

import io.queenmq.machine.Acks.Outcome;
import io.queenmq.machine.CursorHistory.Call;
import io.queenmq.machine.CursorHistory.Event;
import io.queenmq.machine.Op.Batch;
import io.queenmq.machine.Op.Claim;
import io.queenmq.machine.Op.Delivered;
import io.queenmq.machine.Op.Item;
import io.queenmq.machine.Op.Job;
import io.queenmq.machine.Op.LaneRef;
import io.queenmq.machine.Op.Status;
import io.queenmq.machine.Op.Target;
import io.queenmq.machine.Op.Unit;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** One of many: does what it likes, and notes what it was told. */
final class ConcurrentClient implements AutoCloseable {
    static final List<String> LANES = List.of("a", "b", "c");
    static final List<String> GROUPS = List.of("g", "h");

    private static final Pattern QUEUED = Pattern.compile("queued q/\\w at (\\d+)");
    private static final Pattern MOVED = Pattern.compile("moved q/\\w at (\\d+)");
    private static final Pattern DUPLICATE = Pattern.compile("duplicate q/\\w \\[(.*)]");
    private static final List<Status> FAILURES = List.of(Status.FAILED, Status.RETRY, Status.DLQ);
    private static final Pattern PAIR = Pattern.compile("(\\d+)=(\\d+)");
    private static final Pattern OUTCOME = Pattern.compile("(\\w+)( released)?( dead)?");
    private static final int OPERATIONS_PER_CLIENT_MAX = 1_000_000;

    /** A batch that somebody was given. */
    private record Batched(String lane, String group, Delivered lease, long from, long end) {}

    private record Push(String lane, LaneHistory.Stored stored) {}

    private record Repeated(String lane, LaneHistory.Duplicate duplicate) {}

    private record Undone(String lane, List<String> ids) {}

    private final int number;
    private final Random random;
    private final AtomicLong clock;
    private final SqlMachine machine;
    private final List<Batched> batches = new ArrayList<>();
    private final Map<String, List<Event>> events = new HashMap<>();
    private final List<Push> pushes = new ArrayList<>();
    private final List<Repeated> duplicates = new ArrayList<>();
    private final List<Undone> undone = new ArrayList<>();
    private int operations;
    private long deadLetters;
    private long replays;

    ConcurrentClient(int number, long seed, AtomicLong clock, SqlMachine machine) {
        this.number = number;
        this.random = new Random(seed * 31 + number);
        this.clock = clock;
        this.machine = machine;
    }

    @Override
    public void close() throws SQLException {
        machine.close();
    }

    /** How many it filed, less those it moved back. */
    long deadLetters() {
        return deadLetters - replays;
    }

    /**
     * For when every client has ended: a copy of a dead letter has its name only when the replay
     * was answered, and somebody may have leased and acknowledged it by its real id before.
     */
    List<Event> events(String lane, String group) {
        return events.getOrDefault(lane + group, List.of()).stream().map(this::named).toList();
    }

    private Event named(Event event) {
        if (!(event.call() instanceof Call.Acked acked)) {
            return event;
        }
        List<Item> items =
                acked.items().stream()
                        .map(
                                item ->
                                        new Item(
                                                item.unit(),
                                                machine.name(item.transactionId()),
                                                item.status(),
                                                item.error()))
                        .toList();
        return new Event(
                event.start(), event.end(), new Call.Acked(acked.lease(), items, acked.outcomes()));
    }

    void addPushes(String lane, LaneHistory history) {
        pushes.stream()
                .filter(push -> push.lane().equals(lane))
                .forEach(push -> history.stored(push.stored()));
        duplicates.stream()
                .filter(repeated -> repeated.lane().equals(lane))
                .forEach(repeated -> history.duplicate(repeated.duplicate()));
        // What others push too may be stored all the same.
        undone.stream()
                .filter(bundle -> bundle.lane().equals(lane))
                .flatMap(bundle -> bundle.ids().stream())
                .filter(id -> !id.startsWith("shared"))
                .forEach(history::refused);
    }

    void run(int steps) throws SQLException {
        for (int i = 0; i < steps; i++) {
            int dice = random.nextInt(100);
            if (dice < 30) {
                push();
            } else if (dice < 60) {
                pop();
            } else if (dice < 80) {
                ack();
            } else if (dice < 87) {
                transact();
            } else if (dice < 90) {
                seek();
            } else if (dice < 93) {
                replay();
            } else {
                tamper();
            }
        }
    }

    private int id() {
        return number * OPERATIONS_PER_CLIENT_MAX + operations++;
    }

    private <T> T one(List<T> list) {
        return list.get(random.nextInt(list.size()));
    }

    /** Ids of its own, and some that others push too. */
    private void push() throws SQLException {
        int id = id();
        String lane = one(LANES);
        List<String> ids = new ArrayList<>();
        for (int i = 0; i <= random.nextInt(4); i++) {
            ids.add(number + "-" + id + "-" + i);
        }
        if (random.nextBoolean()) {
            ids.add("shared-" + operations / 4);
        }
        long start = clock.incrementAndGet();
        List<String> lines =
                machine.apply(
                        new Op.Push(
                                id,
                                random.nextBoolean(),
                                List.of(new Batch("q", lane, random.nextLong(), ids, 1, 0))));
        long end = clock.incrementAndGet();
        List<String> rest = new ArrayList<>(ids);
        for (String line : lines) {
            Matcher duplicate = DUPLICATE.matcher(line);
            Matcher queued = QUEUED.matcher(line);
            if (duplicate.matches()) {
                Matcher pair = PAIR.matcher(duplicate.group(1));
                while (pair.find()) {
                    String repeated = ids.get(Integer.parseInt(pair.group(1)));
                    long offset = Long.parseLong(pair.group(2));
                    rest.remove(repeated);
                    duplicates.add(new Repeated(lane, new LaneHistory.Duplicate(repeated, offset)));
                }
            } else if (queued.matches()) {
                long base = Long.parseLong(queued.group(1));
                pushes.add(
                        new Push(
                                lane, new LaneHistory.Stored(start, end, base, List.copyOf(rest))));
            } else if (!line.startsWith("busy")) {
                throw new AssertionError(line);
            }
        }
    }

    /** Messages for two lanes and the ack of a batch: all of it or nothing. */
    private void transact() throws SQLException {
        Batched batch = batch();
        int id = id();
        List<Batch> batches = new ArrayList<>();
        for (String lane : LANES.subList(random.nextInt(2), LANES.size() - random.nextInt(2))) {
            String shared = random.nextInt(3) == 0 ? "shared-" + operations / 4 : number + "-" + id;
            batches.add(new Batch("q", lane, random.nextLong(), List.of(shared), 1, 0));
        }
        List<Unit> units = new ArrayList<>();
        List<Item> items = new ArrayList<>();
        if (batch != null) {
            units.add(new Unit(new LaneRef("q", batch.lane(), null), batch.group(), batch.lease()));
            machine.ids(batch.lease(), batch.from())
                    .forEach(one -> items.add(new Item(0, one, Status.COMPLETED, null)));
        }
        long start = clock.incrementAndGet();
        List<String> lines =
                machine.apply(
                        new Op.Transact(
                                id,
                                batches,
                                units,
                                items,
                                batch == null ? List.of() : List.of(batch.lease())));
        long end = clock.incrementAndGet();
        // A lane that another is just making: nothing has been tried.
        if (lines.getFirst().startsWith("undone") || lines.equals(List.of("busy name"))) {
            batches.forEach(one -> undone.add(new Undone(one.partition(), one.ids())));
            return;
        }
        for (int i = 0; i < batches.size(); i++) {
            Matcher queued = QUEUED.matcher(lines.get(i));
            if (!queued.matches()) {
                throw new AssertionError(lines);
            }
            long base = Long.parseLong(queued.group(1));
            pushes.add(
                    new Push(
                            batches.get(i).partition(),
                            new LaneHistory.Stored(start, end, base, batches.get(i).ids())));
        }
        if (batch != null) {
            List<Outcome> outcomes =
                    lines.subList(batches.size(), lines.size()).stream()
                            .map(ConcurrentClient::outcome)
                            .toList();
            note(
                    batch.lane(),
                    batch.group(),
                    start,
                    new Call.Acked(batch.lease(), items, outcomes));
        }
    }

    private void note(String lane, String group, long start, Call call) {
        events.computeIfAbsent(lane + group, key -> new ArrayList<>())
                .add(new Event(start, clock.incrementAndGet(), call));
    }

    private void pop() throws SQLException {
        int id = id();
        String lane = one(LANES);
        String group = one(GROUPS);
        Job job = new Job("q", group, 1 + random.nextInt(4), 1, 1, false, List.of(lane));
        long start = clock.incrementAndGet();
        String line = machine.apply(new Op.Pop(id, Claim.FIRST, null, List.of(job))).getFirst();
        String verdict = line.substring(line.indexOf(": ") + 2);
        Delivered lease = new Delivered(id, 0, 0);
        Matcher leased = CursorHistory.LEASED.matcher(verdict);
        if (leased.matches()) {
            batches.add(
                    new Batched(
                            lane,
                            group,
                            lease,
                            Long.parseLong(leased.group(1)),
                            Long.parseLong(leased.group(2))));
        }
        // Busy says nothing, and what is empty or not there depends on pushes too.
        if (leased.matches() || verdict.equals("held")) {
            note(lane, group, start, new Call.Claimed(lease, verdict));
        }
    }

    /** Most often the latest, to be done with it. */
    private @Nullable Batched batch() {
        if (batches.isEmpty()) {
            return null;
        }
        return random.nextInt(5) == 0 ? one(batches) : batches.getLast();
    }

    private void ack() throws SQLException {
        Batched batch = batch();
        if (batch == null) {
            return;
        }
        if (random.nextInt(3) == 0) {
            ackBatch(batch);
            return;
        }
        List<String> ids = machine.ids(batch.lease(), batch.from());
        List<Item> items = new ArrayList<>();
        boolean fails = random.nextInt(3) == 0;
        for (String id : ids) {
            Status status = fails && random.nextInt(3) == 0 ? one(FAILURES) : Status.COMPLETED;
            if (items.isEmpty() || random.nextInt(4) != 0) {
                items.add(new Item(0, id, status, "because"));
            }
        }
        long start = clock.incrementAndGet();
        List<String> lines =
                machine.apply(
                        new Op.Ack(
                                id(),
                                random.nextBoolean(),
                                List.of(
                                        new Unit(
                                                new LaneRef("q", batch.lane(), null),
                                                batch.group(),
                                                batch.lease())),
                                items));
        if (lines.getFirst().equals("busy")) {
            return;
        }
        List<Outcome> outcomes = lines.stream().map(ConcurrentClient::outcome).toList();
        deadLetters += outcomes.stream().filter(Outcome::deadLettered).count();
        note(batch.lane(), batch.group(), start, new Call.Acked(batch.lease(), items, outcomes));
    }

    private static Outcome outcome(String line) {
        Matcher matcher = OUTCOME.matcher(line);
        if (!matcher.matches()) {
            throw new AssertionError(line);
        }
        return new Outcome(matcher.group(1), matcher.group(2) != null, matcher.group(3) != null);
    }

    private void ackBatch(Batched batch) throws SQLException {
        long start = clock.incrementAndGet();
        String line =
                machine.apply(new Op.AckBatches(id(), List.of(batch.lease()), List.of(0)))
                        .getFirst();
        String verdict = line.substring(line.indexOf(": ") + 2);
        if (!verdict.equals("busy")) {
            note(
                    batch.lane(),
                    batch.group(),
                    start,
                    new Call.AckedBatch(batch.lease(), batch.end(), verdict));
        }
    }

    private void seek() throws SQLException {
        String lane = one(LANES);
        String group = one(GROUPS);
        Target target = one(List.of(Target.BEGINNING, Target.END, Target.OFFSET));
        long start = clock.incrementAndGet();
        String line =
                machine.apply(
                                new Op.SeekLane(
                                        id(), "q", lane, group, target, 0, random.nextInt(20)))
                        .getFirst();
        if (line.startsWith("moved ")) {
            long committed = Long.parseLong(line.substring("moved ".length()));
            note(lane, group, start, new Call.Sought(committed));
        }
    }

    /** A dead letter that somebody filed goes to some lane; whoever comes second finds it gone. */
    private void replay() throws SQLException {
        List<Op.Replay> letters = machine.deadLetters(id(), one(LANES));
        if (letters.isEmpty()) {
            return;
        }
        Op.Replay replay = letters.get(random.nextInt(Math.min(3, letters.size())));
        long start = clock.incrementAndGet();
        String line = machine.apply(replay).getFirst();
        long end = clock.incrementAndGet();
        Matcher moved = MOVED.matcher(line);
        if (moved.matches()) {
            replays++;
            note(replay.partition(), replay.group(), start, new Call.Replayed(replay.offset()));
            pushes.add(
                    new Push(
                            replay.toPartition(),
                            new LaneHistory.Stored(
                                    start,
                                    end,
                                    Long.parseLong(moved.group(1)),
                                    List.of(replay.copyId()))));
        } else if (!line.equals("gone")) {
            throw new AssertionError(line);
        }
    }

    /** A lease is prolonged, given back, or runs out. */
    private void tamper() throws SQLException {
        Batched batch = batch();
        if (batch == null) {
            return;
        }
        long start = clock.incrementAndGet();
        switch (random.nextInt(3)) {
            case 0 -> {
                List<String> lines = machine.apply(new Op.Extend(id(), batch.lease(), 1));
                note(
                        batch.lane(),
                        batch.group(),
                        start,
                        new Call.Extended(batch.lease(), lines.getFirst().equals("renewed 1")));
            }
            case 1 -> {
                Op release = new Op.Release(id(), batch.lease().pop(), 0);
                // None may also mean that the cursor was held.
                if (machine.apply(release).getFirst().equals("released 1")) {
                    note(batch.lane(), batch.group(), start, new Call.Released(batch.lease()));
                }
            }
            default -> {
                if (machine.expireLease(batch.lease()) > 0) {
                    note(batch.lane(), batch.group(), start, new Call.Expired());
                }
            }
        }
    }
}
