package io.queenmq.machine;

import io.queenmq.machine.Op.Batch;
import io.queenmq.machine.Op.Delivered;
import io.queenmq.machine.Op.Item;
import io.queenmq.machine.Op.Rule;
import io.queenmq.machine.Op.Start;
import io.queenmq.machine.Op.Status;
import io.queenmq.machine.State.Lane;
import io.queenmq.machine.State.Taken;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Names, ids and batches at random: few of each, so that everything meets everything. */
final class Dice {
    private static final List<String> QUEUES = List.of("q", "r");
    private static final List<String> PARTITIONS = List.of("a", "b", "c", "d");
    private static final List<String> GROUPS = List.of("g", "h", State.QUEUE_MODE);
    private static final int RECENT = 24;

    private final Random random;
    private final State state;

    Dice(Random random, State state) {
        this.random = random;
        this.state = state;
    }

    <T> T one(List<T> list) {
        return list.get(random.nextInt(list.size()));
    }

    /** The first queue is used most. */
    String queue() {
        return QUEUES.get(random.nextInt(5) == 0 ? 1 : 0);
    }

    String partition() {
        return one(PARTITIONS);
    }

    String group() {
        return one(GROUPS);
    }

    List<String> partitions(int atMost) {
        List<String> all = new ArrayList<>(PARTITIONS);
        Collections.shuffle(all, random);
        return all.subList(0, 1 + random.nextInt(Math.min(atMost, all.size())));
    }

    @Nullable Start start() {
        return switch (random.nextInt(6)) {
            case 0 -> null;
            case 1, 2 -> new Start(Rule.ALL, 0);
            case 3, 4 -> new Start(Rule.NEW, 0);
            default -> new Start(Rule.INSTANT, random.nextInt(4));
        };
    }

    /** Some delivery, most often a recent one; before the first, one that never was. */
    Delivered delivered() {
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

    boolean isHeld(Delivered delivered) {
        Taken taken = state.deliveries.get(delivered);
        State.Cursor cursor = taken == null ? null : taken.lane.cursor(taken.group);
        return taken != null
                && cursor != null
                && !taken.lane.queue.deleted
                && delivered.equals(cursor.lease);
    }

    Batch batch(String queue, String partition) {
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
    String transactionId() {
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

    List<Item> items(int unit, @Nullable Taken taken) {
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

    Item item(int unit, String id, Status status) {
        String error =
                switch (random.nextInt(4)) {
                    case 0 -> null;
                    case 1 -> "";
                    default -> "because " + random.nextInt(100);
                };
        return new Item(unit, id, status, error);
    }
}
