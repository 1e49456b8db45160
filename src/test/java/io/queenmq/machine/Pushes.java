package io.queenmq.machine;

import io.queenmq.machine.Op.Batch;
import io.queenmq.machine.State.Lane;
import io.queenmq.machine.State.Message;
import io.queenmq.machine.State.Moment;
import io.queenmq.machine.State.Queue;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Storing: a lane-batch is stored whole, at the next offsets, unless an id of it is in the lane
 * within the dedup window; then nothing of it is, and every such id is named with the lowest offset
 * where it stands. The client takes those out and comes again.
 */
final class Pushes {
    private final State state;

    Pushes(State state) {
        this.state = state;
    }

    List<String> push(Op.Push push) {
        List<String> lines = new ArrayList<>();
        List<Batch> again = new ArrayList<>();
        for (Batch batch : push.batches()) {
            Lane lane = lane(batch);
            Batch rest = append(lane, batch, lines);
            if (rest != null) {
                again.add(rest);
            }
        }
        for (Batch batch : again) {
            append(lane(batch), batch, lines);
        }
        return lines;
    }

    List<String> settle(Op.Settle settle) {
        Batch batch = settle.batch();
        Lane lane = lane(batch);
        List<String> lines = new ArrayList<>();
        Long base = null;
        for (var flush : lane.flushes.tailMap(settle.above(), false).entrySet()) {
            if (base == null && flush.getValue() == batch.flush()) {
                base = flush.getKey();
            }
        }
        if (base == null) {
            append(lane, batch, lines);
        } else {
            lines.add(queued(batch, base));
        }
        return lines;
    }

    /**
     * The operation, vouching for nothing that a broker might not have believed: a shortened list
     * may have changed it. From 0 on it is only said that no id is there within the window, and the
     * broker may know an older, narrower one.
     */
    Batch truthful(Batch batch) {
        Lane lane = state.lane(batch.queue(), batch.partition());
        boolean holds =
                lane != null
                        && batch.vouchedTo() <= lane.last()
                        && lane.messages.stream()
                                .noneMatch(
                                        message ->
                                                message.offset() >= batch.vouchedFrom()
                                                        && message.offset() <= batch.vouchedTo()
                                                        && batch.ids().contains(message.id())
                                                        && (batch.vouchedFrom() > 0
                                                                || state.isWithin(
                                                                        message.created(),
                                                                        lane.queue
                                                                                .narrowestDedupSeconds)));
        return holds
                ? batch
                : new Batch(batch.queue(), batch.partition(), batch.flush(), batch.ids(), 1, 0);
    }

    /** The lane by name, made where missing. */
    Lane lane(Batch batch) {
        Queue queue = state.queueMadeByPush(batch.queue());
        return queue.lanes.computeIfAbsent(batch.partition(), name -> new Lane(queue, name));
    }

    /** What is left of the batch to be pushed again, if duplicates were named and others not. */
    @Nullable Batch append(Lane lane, Batch batch, List<String> lines) {
        List<String> originals = new ArrayList<>();
        List<String> fresh = new ArrayList<>();
        for (int i = 0; i < batch.ids().size(); i++) {
            String id = batch.ids().get(i);
            Message original = original(lane, id);
            if (original == null) {
                fresh.add(id);
            } else {
                originals.add(
                        i
                                + "="
                                + original.offset()
                                + (original.offset() < lane.logStart ? " gone" : ""));
            }
        }
        if (originals.isEmpty()) {
            lines.add(queued(batch, store(lane, batch)));
            return null;
        }
        lines.add("duplicate %s/%s %s".formatted(batch.queue(), batch.partition(), originals));
        return fresh.isEmpty()
                ? null
                : new Batch(batch.queue(), batch.partition(), batch.flush(), fresh, 1, 0);
    }

    private static String queued(Batch batch, long base) {
        return "queued %s/%s at %d".formatted(batch.queue(), batch.partition(), base);
    }

    @Nullable Message original(Lane lane, String id) {
        for (Message message : lane.messages) {
            if (message.id().equals(id)
                    && lane.queue.dedupSeconds > 0
                    && state.isWithin(message.created(), lane.queue.dedupSeconds)) {
                return message;
            }
        }
        return null;
    }

    private long store(Lane lane, Batch batch) {
        long base = lane.last() + 1;
        Moment now = state.now();
        for (int i = 0; i < batch.ids().size(); i++) {
            lane.messages.add(new Message(base + i, batch.ids().get(i), now, base));
        }
        lane.flushes.put(base, batch.flush());
        return base;
    }
}
