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
import io.queenmq.machine.State.DeadLetter;
import io.queenmq.machine.State.Lane;
import io.queenmq.machine.State.Queue;
import io.queenmq.machine.State.Taken;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Operations at random, most of them such as a client in that state might do: few names, so that
 * everything meets everything. The same seed and the same model make the same operations.
 */
final class Generator {
    private static final List<String> QUEUES = List.of("q", "r");
    private static final List<String> PARTITIONS = List.of("a", "b", "c", "d");
    private static final List<String> GROUPS = List.of("g", "h", State.QUEUE_MODE);
    private static final int RECENT = 24;

    private final Random random;
    private final State state;
    private final boolean overHttp;
    private int next;

    Generator(long seed, State state, boolean overHttp) {
        this.overHttp = overHttp;
        this.random = new Random(seed);
        this.state = state;
    }

    /** Over HTTP some things cannot be said, or not by themselves. */
    Op next() {
        int id = next++;
        if (random.nextInt(6) == 0) {
            return transact(id);
        }
        int dice = random.nextInt(1_000);
        if (overHttp && isUnsayable(dice)) {
            return queuePop(id);
        }
        if (dice < 220) {
            return push(id);
        }
        if (dice < 470) {
            return overHttp ? pinnedPop(id) : pop(id);
        }
        if (dice < 690) {
            return ack(id);
        }
        if (dice < 770) {
            return ackBatches(id);
        }
        if (dice < 800) {
            return new Op.Extend(id, delivered(), 1 + random.nextInt(3));
        }
        if (dice < 825) {
            Delivered delivered = delivered();
            return new Op.Release(id, delivered.pop(), delivered.job());
        }
        if (dice < 850) {
            return settle(id);
        }
        if (dice < 890) {
            return configure(id);
        }
        if (dice < 915) {
            return new Op.Register(
                    id, queue(), group(), start(), random.nextInt(3) == 0, random.nextInt(3) == 0);
        }
        if (dice < 965) {
            return new Op.Pass(id, 1 + random.nextInt(3));
        }
        if (dice < 993) {
            return new Op.Expire(id, queue(), partition(), 1 + random.nextInt(3));
        }
        return new Op.DeleteQueue(id, queue());
    }

    /** Settling, registering, releasing and retention are nothing a client asks for. */
    private static boolean isUnsayable(int dice) {
        return (dice >= 690 && dice < 770)
                || (dice >= 800 && dice < 850)
                || (dice >= 890 && dice < 915)
                || (dice >= 965 && dice < 993);
    }

    private <T> T one(List<T> list) {
        return list.get(random.nextInt(list.size()));
    }

    /** The first queue is used most. */
    private String queue() {
        return QUEUES.get(random.nextInt(5) == 0 ? 1 : 0);
    }

    private String partition() {
        return one(PARTITIONS);
    }

    private String group() {
        return one(GROUPS);
    }

    private List<String> partitions(int atMost) {
        List<String> all = new ArrayList<>(PARTITIONS);
        Collections.shuffle(all, random);
        return all.subList(0, 1 + random.nextInt(Math.min(atMost, all.size())));
    }

    private @Nullable Start start() {
        return switch (random.nextInt(6)) {
            case 0 -> null;
            case 1, 2 -> new Start(Rule.ALL, 0);
            case 3, 4 -> new Start(Rule.NEW, 0);
            default -> new Start(Rule.INSTANT, random.nextInt(4));
        };
    }

    /** Some delivery, most often a recent one; before the first, one that never was. */
    private Delivered delivered() {
        List<Delivered> all = new ArrayList<>(state.deliveries.keySet());
        if (all.isEmpty()) {
            return new Delivered(0, 0, 0);
        }
        List<Delivered> held = all.stream().filter(this::isHeld).toList();
        if (!held.isEmpty() && random.nextInt(5) != 0) {
            return one(held);
        }
        int from = random.nextInt(8) == 0 ? 0 : Math.max(0, all.size() - RECENT);
        return all.get(from + random.nextInt(all.size() - from));
    }

    private boolean isHeld(Delivered delivered) {
        Taken taken = state.deliveries.get(delivered);
        State.Cursor cursor = taken == null ? null : taken.lane.cursor(taken.group);
        return taken != null
                && cursor != null
                && !taken.lane.queue.deleted
                && delivered.equals(cursor.lease);
    }

    private Op.Push push(int id) {
        String queue = queue();
        List<Batch> batches = new ArrayList<>();
        for (String partition : partitions(3)) {
            batches.add(batch(queue, partition));
        }
        return new Op.Push(id, random.nextBoolean(), batches);
    }

    private Batch batch(String queue, String partition) {
        Set<String> ids = new LinkedHashSet<>();
        int count = 1 + random.nextInt(random.nextInt(8) == 0 ? 12 : 4);
        while (ids.size() < count) {
            ids.add(transactionId());
        }
        long from = 1;
        long to = 0;
        Lane lane = state.lane(queue, partition);
        if (lane != null && lane.last() >= 0 && random.nextBoolean()) {
            from = random.nextInt((int) lane.last() + 1);
            to = from + random.nextInt((int) (lane.last() - from) + 1);
            from = random.nextInt(4) == 0 ? 0 : from;
            to = random.nextInt(4) == 0 ? lane.last() : to;
        }
        return new Batch(queue, partition, random.nextLong(), List.copyOf(ids), from, to);
    }

    /** One of few, or one that nobody had before. */
    private String transactionId() {
        int dice = random.nextInt(10);
        if (dice < 4) {
            return "m" + random.nextInt(8);
        }
        UUID uuid =
                new UUID(
                        (random.nextLong() & ~0xf000L) | 0x4000L,
                        (random.nextLong() >>> 2) | Long.MIN_VALUE);
        return dice < 5 ? uuid.toString() : "n" + random.nextInt(1 << 20);
    }

    private Op settle(int id) {
        Lane lane = state.lane(queue(), partition());
        if (lane == null || lane.flushes.isEmpty()) {
            return push(id);
        }
        List<Map.Entry<Long, Long>> flushes = new ArrayList<>(lane.flushes.entrySet());
        Map.Entry<Long, Long> flush =
                flushes.get(Math.max(0, flushes.size() - 1 - random.nextInt(3)));
        boolean stored = random.nextInt(4) != 0;
        List<String> ids = new ArrayList<>();
        for (long offset = flush.getKey();
                offset <= lane.last() && lane.at(offset).segmentBase() == flush.getKey();
                offset++) {
            ids.add(lane.at(offset).id());
        }
        long above = flush.getKey() - 1 - random.nextInt(2);
        return new Op.Settle(
                id,
                new Batch(
                        lane.queue.name,
                        lane.name,
                        stored ? flush.getValue() : random.nextLong(),
                        List.copyOf(new LinkedHashSet<>(ids)),
                        1,
                        0),
                Math.max(above, -1));
    }

    private Op.Pop pop(int id) {
        Claim claim =
                switch (random.nextInt(10)) {
                    case 0, 1, 2 -> Claim.LEASED;
                    case 3 -> Claim.AUTO;
                    case 4 -> Claim.FIRST_AUTO;
                    default -> Claim.FIRST;
                };
        List<Job> jobs = new ArrayList<>();
        Set<String> taken = new LinkedHashSet<>();
        int count = random.nextInt(3) == 0 ? 2 : 1;
        for (int i = 0; i < count; i++) {
            Job job = job();
            boolean fresh = true;
            for (String partition : job.partitions()) {
                fresh &= taken.add(job.queue() + "/" + partition + " " + job.group());
            }
            if (fresh) {
                jobs.add(job);
            }
        }
        return new Op.Pop(id, claim, start(), jobs);
    }

    private Op.QueuePop queuePop(int id) {
        Job job = job();
        boolean auto = random.nextInt(4) == 0;
        return new Op.QueuePop(
                id,
                auto ? Claim.FIRST_AUTO : Claim.FIRST,
                firstContact(),
                !auto && !job.group().equals(State.QUEUE_MODE) && random.nextInt(4) == 0,
                job);
    }

    private Start firstContact() {
        Start start = start();
        return start == null ? new Start(Rule.ALL, 0) : start;
    }

    private Op.Pop pinnedPop(int id) {
        Job job = job();
        return new Op.Pop(
                id,
                random.nextInt(4) == 0 ? Claim.FIRST_AUTO : Claim.FIRST,
                firstContact(),
                List.of(
                        new Job(
                                job.queue(),
                                job.group(),
                                job.budget(),
                                1,
                                job.leaseUnits(),
                                false,
                                List.of(partition()))));
    }

    private Job job() {
        boolean several = random.nextBoolean();
        String queue = queue();
        Queue known = state.queues.get(queue);
        boolean longLease = known != null && known.leaseSeconds >= State.HALF_SECONDS;
        return new Job(
                queue,
                group(),
                random.nextInt(6) == 0 ? 100 : random.nextInt(6),
                random.nextInt(4),
                (longLease ? 0 : 1) + random.nextInt(3),
                several,
                partitions(4));
    }

    private Op.AckBatches ackBatches(int id) {
        Set<Delivered> batches = new LinkedHashSet<>();
        Set<String> cursors = new LinkedHashSet<>();
        List<Integer> shifts = new ArrayList<>();
        int count = 1 + random.nextInt(3);
        for (int i = 0; i < count; i++) {
            Delivered delivered = delivered();
            Taken taken = state.deliveries.get(delivered);
            if (taken != null
                    && cursors.add(
                            taken.lane.queue.name + "/" + taken.lane.name + " " + taken.group.name)
                    && batches.add(delivered)) {
                shifts.add(random.nextInt(8) == 0 ? random.nextInt(3) - 1 : 0);
            }
        }
        return new Op.AckBatches(id, List.copyOf(batches), shifts);
    }

    private Op.Ack ack(int id) {
        List<Unit> units = new ArrayList<>();
        List<Item> items = new ArrayList<>();
        int count = !overHttp && random.nextInt(4) == 0 ? 2 : 1;
        for (int u = 0; u < count; u++) {
            Delivered delivered = delivered();
            Taken taken = state.deliveries.get(delivered);
            if (taken == null || random.nextInt(8) == 0) {
                units.add(new Unit(new LaneRef(queue(), partition(), null), group(), null));
            } else {
                Delivered lease =
                        switch (random.nextInt(12)) {
                            case 0, 1 -> null;
                            case 2 -> delivered();
                            default -> delivered;
                        };
                units.add(
                        new Unit(
                                new LaneRef("", "", delivered),
                                random.nextInt(20) == 0 ? group() : taken.group.name,
                                lease));
            }
            items.addAll(items(u, taken));
        }
        Collections.shuffle(items, random);
        return new Op.Ack(id, random.nextBoolean(), units, items);
    }

    private List<Item> items(int unit, @Nullable Taken taken) {
        List<Item> items = new ArrayList<>();
        Status[] statuses = Status.values();
        int mood = random.nextInt(4);
        if (taken != null) {
            long from = taken.from - (random.nextInt(6) == 0 ? 2 : 0);
            long to = taken.end + (random.nextInt(6) == 0 ? 2 : 0);
            for (long offset = Math.max(0, from);
                    offset <= Math.min(to, taken.lane.last());
                    offset++) {
                Status status =
                        mood < 2 || random.nextInt(3) != 0
                                ? Status.COMPLETED
                                : statuses[1 + random.nextInt(3)];
                if (mood == 0 || random.nextInt(3) != 0) {
                    items.add(item(unit, taken.lane.at(offset).id(), status));
                }
            }
        }
        if (items.isEmpty() || random.nextInt(10) == 0) {
            items.add(item(unit, transactionId(), statuses[random.nextInt(4)]));
        }
        return items;
    }

    private Item item(int unit, String id, Status status) {
        String error =
                switch (random.nextInt(4)) {
                    case 0 -> null;
                    case 1 -> "";
                    default -> "because " + random.nextInt(100);
                };
        return new Item(unit, id, status, error);
    }

    Op move(int id) {
        Target[] targets = Target.values();
        return switch (random.nextInt(14)) {
            case 0 ->
                    new Op.SeekQueue(
                            id, queue(), group(), targets[random.nextInt(3)], random.nextInt(4));
            case 1, 2, 3 ->
                    new Op.SeekLane(
                            id,
                            queue(),
                            partition(),
                            group(),
                            targets[random.nextInt(4)],
                            random.nextInt(4),
                            random.nextInt(40));
            case 4 -> new Op.Subscribe(id, group(), random.nextInt(4));
            case 5 ->
                    new Op.DeleteGroup(
                            id,
                            random.nextInt(4) == 0 ? null : queue(),
                            group(),
                            random.nextInt(3) != 0);
            case 6 -> deleteDeadLetter(id);
            case 7, 8 -> replay(id);
            default -> transact(id);
        };
    }

    private @Nullable DeadLetter deadLetter() {
        List<DeadLetter> letters =
                state.deadLetters.stream().filter(l -> !l.lane().queue.deleted).toList();
        return letters.isEmpty() ? null : one(letters);
    }

    private Op deleteDeadLetter(int id) {
        DeadLetter letter = deadLetter();
        return letter == null
                ? new Op.DeleteDeadLetter(id, queue(), partition(), transactionId())
                : new Op.DeleteDeadLetter(
                        id, letter.lane().queue.name, letter.lane().name, letter.id());
    }

    private Op replay(int id) {
        DeadLetter letter = deadLetter();
        if (letter == null) {
            return new Op.Replay(id, queue(), partition(), group(), 0, queue(), partition());
        }
        boolean elsewhere = random.nextInt(4) == 0;
        return new Op.Replay(
                id,
                letter.lane().queue.name,
                letter.lane().name,
                letter.group(),
                letter.offset(),
                elsewhere ? queue() : letter.lane().queue.name,
                elsewhere ? partition() : letter.lane().name);
    }

    private Op.Transact transact(int id) {
        List<Batch> batches = new ArrayList<>();
        if (random.nextInt(4) != 0) {
            String queue = queue();
            for (String partition : partitions(2)) {
                batches.add(batch(queue, partition));
            }
        }
        List<Unit> units = new ArrayList<>();
        List<Item> items = new ArrayList<>();
        Set<Delivered> supplied = new LinkedHashSet<>();
        Set<String> cursors = new LinkedHashSet<>();
        int count = random.nextInt(3);
        for (int i = 0; i < count; i++) {
            Delivered delivered = delivered();
            Taken taken = state.deliveries.get(delivered);
            if (taken == null
                    || !cursors.add(
                            taken.lane.queue.name + "/" + taken.lane.name + taken.group.name)) {
                continue;
            }
            boolean names = random.nextInt(3) == 0;
            items.addAll(items(units.size(), taken));
            units.add(
                    new Unit(
                            new LaneRef("", "", delivered),
                            taken.group.name,
                            names ? delivered : null));
            if (names || random.nextInt(4) != 0) {
                supplied.add(delivered);
            }
        }
        if (random.nextInt(8) == 0) {
            supplied.add(delivered());
        }
        return new Op.Transact(id, batches, units, items, List.copyOf(supplied));
    }

    private Op.Configure configure(int id) {
        List<Option> options = new ArrayList<>();
        options.add(new Option("lease_seconds", text(State.span(1 + random.nextInt(2)))));
        options.add(
                switch (random.nextInt(8)) {
                    case 0 -> new Option("dead_letter_queue", text(random.nextBoolean()));
                    case 1 -> new Option("dlq_after_max_retries", text(random.nextBoolean()));
                    case 2, 6, 7 ->
                            new Option(
                                    "dedup_window_seconds",
                                    text(
                                            random.nextInt(3) == 0
                                                    ? 0
                                                    : State.span(random.nextInt(5))));
                    case 3 ->
                            new Option(
                                    "delayed_processing_seconds",
                                    text(
                                            random.nextInt(3) > 0
                                                    ? 0
                                                    : State.span(random.nextInt(2))));
                    case 4 ->
                            new Option(
                                    "completed_retention_seconds",
                                    text(random.nextBoolean() ? 0 : State.span(random.nextInt(4))));
                    default -> new Option("retry_limit", text(random.nextInt(4)));
                });
        return new Op.Configure(id, queue(), options);
    }

    private static String text(Object value) {
        return String.valueOf(value);
    }
}
