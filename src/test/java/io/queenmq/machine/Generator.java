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
import io.queenmq.machine.Op.Unit;
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

/**
 * Operations at random, most of them such as a client in that state might do: few names, so that
 * everything meets everything. The same seed and the same model make the same operations.
 */
final class Generator {
    private final Random random;
    private final State state;
    private final Dice dice;
    private final MoveGenerator moves;
    private final boolean overHttp;
    private int next;

    Generator(long seed, State state, boolean overHttp) {
        this.overHttp = overHttp;
        this.random = new Random(seed);
        this.state = state;
        this.dice = new Dice(random, state);
        this.moves = new MoveGenerator(random, state, dice);
    }

    /** Over HTTP some things cannot be said, or not by themselves. */
    Op next() {
        int id = next++;
        if (random.nextInt(6) == 0) {
            return moves.next(id);
        }
        int chance = random.nextInt(1_000);
        if (overHttp && isUnsayable(chance)) {
            return queuePop(id);
        }
        if (chance < 220) {
            return push(id);
        }
        if (chance < 470) {
            return overHttp ? pinnedPop(id) : pop(id);
        }
        if (chance < 690) {
            return ack(id);
        }
        if (chance < 770) {
            return ackBatches(id);
        }
        if (chance < 800) {
            return new Op.Extend(id, dice.delivered(), 1 + random.nextInt(3));
        }
        if (chance < 825) {
            Delivered delivered = dice.delivered();
            return new Op.Release(id, delivered.pop(), delivered.job());
        }
        if (chance < 850) {
            return settle(id);
        }
        if (chance < 890) {
            return configure(id);
        }
        if (chance < 915) {
            return new Op.Register(
                    id,
                    dice.queue(),
                    dice.group(),
                    dice.start(),
                    random.nextInt(3) == 0,
                    random.nextInt(3) == 0);
        }
        if (chance < 965) {
            return new Op.Pass(id, 1 + random.nextInt(3));
        }
        if (chance < 993) {
            return new Op.Expire(id, dice.queue(), dice.partition(), 1 + random.nextInt(3));
        }
        return new Op.DeleteQueue(id, dice.queue());
    }

    /** Settling, registering, releasing and retention are nothing a client asks for. */
    private static boolean isUnsayable(int chance) {
        return (chance >= 690 && chance < 770)
                || (chance >= 800 && chance < 850)
                || (chance >= 890 && chance < 915)
                || (chance >= 965 && chance < 993);
    }

    private Op.Push push(int id) {
        String queue = dice.queue();
        List<Batch> batches = new ArrayList<>();
        for (String partition : dice.partitions(3)) {
            batches.add(dice.batch(queue, partition));
        }
        return new Op.Push(id, random.nextBoolean(), batches);
    }

    private Op settle(int id) {
        Lane lane = state.lane(dice.queue(), dice.partition());
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
        return new Op.Pop(id, claim, dice.start(), jobs);
    }

    private Op.QueuePop queuePop(int id) {
        Job job = job();
        boolean auto = random.nextInt(4) == 0;
        return new Op.QueuePop(
                id,
                auto ? Claim.FIRST_AUTO : Claim.FIRST,
                firstContact(),
                !auto && !job.group().equals(State.QUEUE_MODE) && random.nextInt(4) == 0,
                job,
                List.of());
    }

    private Start firstContact() {
        Start start = dice.start();
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
                                List.of(dice.partition()))));
    }

    private Job job() {
        boolean several = random.nextBoolean();
        String queue = dice.queue();
        Queue known = state.queues.get(queue);
        boolean longLease = known != null && known.leaseSeconds >= State.HALF_SECONDS;
        return new Job(
                queue,
                dice.group(),
                random.nextInt(6) == 0 ? 100 : random.nextInt(6),
                random.nextInt(4),
                (longLease ? 0 : 1) + random.nextInt(3),
                several,
                dice.partitions(4));
    }

    private Op.AckBatches ackBatches(int id) {
        Set<Delivered> batches = new LinkedHashSet<>();
        Set<String> cursors = new LinkedHashSet<>();
        List<Integer> shifts = new ArrayList<>();
        int count = 1 + random.nextInt(3);
        for (int i = 0; i < count; i++) {
            Delivered delivered = dice.delivered();
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
            Delivered delivered = dice.delivered();
            Taken taken = state.deliveries.get(delivered);
            if (taken == null || random.nextInt(8) == 0) {
                units.add(
                        new Unit(
                                new LaneRef(dice.queue(), dice.partition(), null),
                                dice.group(),
                                null));
            } else {
                Delivered lease =
                        switch (random.nextInt(12)) {
                            case 0, 1 -> null;
                            case 2 -> dice.delivered();
                            default -> delivered;
                        };
                units.add(
                        new Unit(
                                new LaneRef("", "", delivered),
                                random.nextInt(20) == 0 ? dice.group() : taken.group.name,
                                lease));
            }
            items.addAll(dice.items(u, taken));
        }
        Collections.shuffle(items, random);
        return new Op.Ack(id, random.nextBoolean(), units, items);
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
        return new Op.Configure(id, dice.queue(), options);
    }

    private static String text(Object value) {
        return String.valueOf(value);
    }
}
