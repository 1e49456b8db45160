package io.queenmq.machine;

import io.queenmq.machine.Op.Batch;
import io.queenmq.machine.State.Cursor;
import io.queenmq.machine.State.DeadLetter;
import io.queenmq.machine.State.Group;
import io.queenmq.machine.State.Lane;
import io.queenmq.machine.State.Queue;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Moving groups about, forgetting them, and what becomes of dead letters. */
final class Moves {
    private final State state;
    private final Pushes pushes;

    Moves(State state, Pushes pushes) {
        this.state = state;
        this.pushes = pushes;
    }

    /** All lanes of a queue at once: every cursor and lease of before counts as absent. */
    List<String> seekQueue(Op.SeekQueue seek) {
        Queue queue = state.queues.get(seek.queue());
        if (queue == null || queue.lanes.isEmpty()) {
            return List.of("not_found");
        }
        Group group = queue.groups.computeIfAbsent(seek.group(), Group::new);
        group.generation++;
        group.sought = true;
        group.seekAt =
                switch (seek.target()) {
                    case BEGINNING -> null;
                    case END -> state.now();
                    case INSTANT -> state.ago(seek.age());
                    case OFFSET -> throw new IllegalArgumentException("an offset is of one lane");
                };
        return List.of("moved");
    }

    /** One lane: the live lease is dropped, retries and deliveries are counted anew. */
    List<String> seekLane(Op.SeekLane seek) {
        Queue queue = state.queues.get(seek.queue());
        if (queue == null) {
            return List.of("unknown_queue");
        }
        Lane lane = queue.lanes.get(seek.partition());
        if (lane == null) {
            return List.of("unknown_partition");
        }
        Group group = queue.groups.computeIfAbsent(seek.group(), Group::new);
        long committed = committed(lane, seek);
        lane.cursors.put(group, new Cursor(group.generation, committed));
        return List.of("moved " + committed);
    }

    private long committed(Lane lane, Op.SeekLane seek) {
        return switch (seek.target()) {
            case BEGINNING -> lane.logStart - 1;
            case END -> lane.last();
            case INSTANT -> state.start(lane, state.ago(seek.age()));
            case OFFSET -> Math.min(Math.max(seek.offset(), lane.logStart), lane.last() + 1) - 1;
        };
    }

    /** Only where lanes that the group has not touched yet begin. */
    List<String> subscribe(Op.Subscribe subscribe) {
        int changed = 0;
        for (Queue queue : state.queues.values()) {
            Group group = queue.groups.get(subscribe.group());
            if (group != null && group.registered) {
                group.startAt = state.ago(subscribe.age());
                changed++;
            }
        }
        return List.of("changed " + changed);
    }

    /** Where the group was is forgotten; if asked for, also that it ever was. */
    List<String> deleteGroup(Op.DeleteGroup delete) {
        int deleted = 0;
        for (Queue queue : state.queues.values()) {
            Group group = queue.groups.get(delete.group());
            if (group == null || (delete.queue() != null && !queue.name.equals(delete.queue()))) {
                continue;
            }
            deleted++;
            group.generation++;
            group.sought = false;
            group.seekAt = null;
            if (delete.forgets()) {
                group.registered = false;
                group.startAt = null;
                group.conflates = false;
                group.consumed = false;
            }
        }
        return List.of("deleted " + deleted);
    }

    List<String> deleteDeadLetter(Op.DeleteDeadLetter delete) {
        Lane lane = state.lane(delete.queue(), delete.partition());
        int before = state.deadLetters.size();
        state.deadLetters.removeIf(
                letter -> letter.lane().equals(lane) && letter.id().equals(delete.transactionId()));
        return List.of("deleted " + (before - state.deadLetters.size()));
    }

    /** A dead letter goes to the end of a lane, under an id of its own. */
    List<String> replay(Op.Replay replay) {
        DeadLetter letter = letter(replay);
        if (letter == null) {
            return List.of("gone");
        }
        state.deadLetters.remove(letter);
        List<String> lines = new ArrayList<>();
        Batch batch =
                new Batch(
                        replay.toQueue(),
                        replay.toPartition(),
                        -1 - replay.id(),
                        List.of(replay.copyId()),
                        1,
                        0);
        Lane lane = pushes.lane(batch);
        pushes.append(lane, batch, lines);
        // Nobody repeats it by its flush.
        lane.flushes.values().remove(batch.flush());
        return lines.stream().map(line -> line.replace("queued", "moved")).toList();
    }

    /** The oldest that fits. */
    private @Nullable DeadLetter letter(Op.Replay replay) {
        for (DeadLetter letter : state.deadLetters) {
            if (!letter.lane().queue.deleted
                    && letter.lane().queue.name.equals(replay.queue())
                    && letter.lane().name.equals(replay.partition())
                    && letter.group().equals(replay.group())
                    && letter.offset() == replay.offset()) {
                return letter;
            }
        }
        return null;
    }
}
