package io.queenmq.machine;

import io.queenmq.machine.Op.Batch;
import io.queenmq.machine.Op.Delivered;
import io.queenmq.machine.Op.Item;
import io.queenmq.machine.Op.LaneRef;
import io.queenmq.machine.Op.Target;
import io.queenmq.machine.Op.Unit;
import io.queenmq.machine.State.DeadLetter;
import io.queenmq.machine.State.Taken;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Seeks, ends of groups, dead letters and transactions at random. */
final class MoveGenerator {
    private final Random random;
    private final State state;
    private final Dice dice;

    MoveGenerator(Random random, State state, Dice dice) {
        this.random = random;
        this.state = state;
        this.dice = dice;
    }

    Op next(int id) {
        Target[] targets = Target.values();
        return switch (random.nextInt(14)) {
            case 0 ->
                    new Op.SeekQueue(
                            id,
                            dice.queue(),
                            dice.group(),
                            targets[random.nextInt(3)],
                            random.nextInt(4));
            case 1, 2, 3 ->
                    new Op.SeekLane(
                            id,
                            dice.queue(),
                            dice.partition(),
                            dice.group(),
                            targets[random.nextInt(4)],
                            random.nextInt(4),
                            random.nextInt(40));
            case 4 -> new Op.Subscribe(id, random.nextBoolean() ? "g" : "h", random.nextInt(4));
            case 5 ->
                    new Op.DeleteGroup(
                            id,
                            random.nextInt(4) == 0 ? null : dice.queue(),
                            dice.group(),
                            random.nextInt(3) != 0);
            case 6 -> deleteDeadLetter(id);
            case 7, 8 -> replay(id);
            default -> transact(id);
        };
    }

    private @Nullable DeadLetter deadLetter() {
        List<DeadLetter> letters =
                state.deadLetters.stream().filter(l -> !l.lane().queue.deleted).toList();
        return letters.isEmpty() ? null : dice.one(letters);
    }

    private Op deleteDeadLetter(int id) {
        DeadLetter letter = deadLetter();
        return letter == null
                ? new Op.DeleteDeadLetter(id, dice.queue(), dice.partition(), dice.transactionId())
                : new Op.DeleteDeadLetter(
                        id, letter.lane().queue.name, letter.lane().name, letter.id());
    }

    private Op replay(int id) {
        DeadLetter letter = deadLetter();
        if (letter == null) {
            return new Op.Replay(
                    id,
                    dice.queue(),
                    dice.partition(),
                    dice.group(),
                    0,
                    dice.queue(),
                    dice.partition());
        }
        boolean elsewhere = random.nextInt(4) == 0;
        return new Op.Replay(
                id,
                letter.lane().queue.name,
                letter.lane().name,
                letter.group(),
                letter.offset(),
                elsewhere ? dice.queue() : letter.lane().queue.name,
                elsewhere ? dice.partition() : letter.lane().name);
    }

    private Op.Transact transact(int id) {
        List<Batch> batches = new ArrayList<>();
        if (random.nextInt(4) != 0) {
            String queue = dice.queue();
            for (String partition : dice.partitions(2)) {
                batches.add(dice.batch(queue, partition));
            }
        }
        List<Unit> units = new ArrayList<>();
        List<Item> items = new ArrayList<>();
        Set<Delivered> supplied = new LinkedHashSet<>();
        Set<String> cursors = new LinkedHashSet<>();
        int count = random.nextInt(3);
        for (int i = 0; i < count; i++) {
            Delivered delivered = dice.delivered();
            Taken taken = state.deliveries.get(delivered);
            if (taken == null
                    || !cursors.add(
                            taken.lane.queue.name + "/" + taken.lane.name + taken.group.name)) {
                continue;
            }
            boolean names = random.nextInt(3) == 0;
            List<Item> its = dice.items(units.size(), taken);
            if (its.isEmpty()) {
                continue;
            }
            items.addAll(its);
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
            supplied.add(dice.delivered());
        }
        if (batches.isEmpty() && units.isEmpty()) {
            // Over HTTP that is done before anybody looks at leases.
            supplied.clear();
        }
        return new Op.Transact(id, batches, units, items, List.copyOf(supplied));
    }
}
