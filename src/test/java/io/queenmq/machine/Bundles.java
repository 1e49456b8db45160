package io.queenmq.machine;

import io.queenmq.machine.Acks.Outcome;
import io.queenmq.machine.Op.Batch;
import io.queenmq.machine.Op.Delivered;
import io.queenmq.machine.Op.Item;
import io.queenmq.machine.Op.Unit;
import io.queenmq.machine.State.Cursor;
import io.queenmq.machine.State.Group;
import io.queenmq.machine.State.Lane;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Pushes and acknowledgements that take effect together or not at all: a message that is in its
 * lane already, or an ack that cannot be carried out, undoes everything.
 */
final class Bundles {
    private static final Set<String> CARRIED_OUT = Set.of("done", "noop", "stale");

    private final State state;
    private final Pushes pushes;
    private final Acks acks;

    Bundles(State state, Pushes pushes, Acks acks) {
        this.state = state;
        this.pushes = pushes;
        this.acks = acks;
    }

    List<String> transact(Op.Transact bundle) {
        for (Batch batch : bundle.batches()) {
            Lane lane = pushes.lane(batch);
            if (batch.ids().stream().anyMatch(id -> pushes.original(lane, id) != null)) {
                // Lanes are made before; they stay.
                bundle.batches().forEach(pushes::lane);
                return List.of("undone duplicate");
            }
        }
        List<Runnable> undo = new ArrayList<>();
        List<String> lines = new ArrayList<>();
        for (Batch batch : bundle.batches()) {
            Lane lane = pushes.lane(batch);
            long last = lane.last();
            pushes.append(lane, batch, lines);
            undo.add(
                    () -> {
                        lane.messages.subList((int) last + 1, lane.messages.size()).clear();
                        lane.flushes.remove(last + 1);
                    });
        }
        int deadLetters = state.deadLetters.size();
        undo.add(() -> state.deadLetters.subList(deadLetters, state.deadLetters.size()).clear());

        if (!holds(bundle)) {
            undo.reversed().forEach(Runnable::run);
            return List.of("undone ack_rejected");
        }
        List<Outcome> outcomes = ack(bundle, undo);
        List<String> verdicts = outcomes.stream().map(Outcome::toString).toList();
        if (outcomes.stream().allMatch(outcome -> CARRIED_OUT.contains(outcome.verdict()))) {
            lines.addAll(verdicts);
            return lines;
        }
        undo.reversed().forEach(Runnable::run);
        List<String> rejected = new ArrayList<>(List.of("undone ack_rejected"));
        outcomes.forEach(outcome -> rejected.add(outcome.verdict()));
        return rejected;
    }

    /**
     * Whether the leases by which no ack goes are held, or have ended with the ack of their batch
     * and nobody else's has since. Where some ack names none, all are a choice for that.
     */
    private boolean holds(Op.Transact bundle) {
        if (bundle.units().stream().anyMatch(unit -> unit.lease() == null)) {
            return true;
        }
        return bundle.supplied().stream()
                .filter(
                        lease ->
                                bundle.units().stream()
                                        .noneMatch(unit -> State.isSameLease(lease, unit.lease())))
                .allMatch(this::isHeld);
    }

    private boolean isHeld(Delivered lease) {
        return state.queues.values().stream()
                .flatMap(queue -> queue.lanes.values().stream())
                .flatMap(lane -> lane.cursors.entrySet().stream())
                .filter(place -> place.getValue().generation == place.getKey().generation)
                .map(Map.Entry::getValue)
                .anyMatch(
                        cursor ->
                                (State.isSameLease(lease, cursor.prevLease) && cursor.lease == null)
                                        || (State.isSameLease(lease, cursor.lease)
                                                && state.isLive(cursor)));
    }

    private List<Outcome> ack(Op.Transact bundle, List<Runnable> undo) {
        Outcome[] outcomes = new Outcome[bundle.items().size()];
        for (int u = 0; u < bundle.units().size(); u++) {
            Unit unit = bundle.units().get(u);
            Lane lane = acks.lane(unit.lane());
            Group group = lane == null ? null : lane.queue.groups.get(unit.group());
            Cursor cursor = lane == null || group == null ? null : lane.cursors.get(group);
            if (lane != null && group != null && cursor != null) {
                Cursor copy = cursor.copy();
                boolean consumed = group.consumed;
                undo.add(
                        () -> {
                            lane.cursors.put(group, copy);
                            group.consumed = consumed;
                        });
            }
            Delivered lease = lease(unit, cursor, bundle.supplied());
            List<Integer> places = new ArrayList<>();
            for (int i = 0; i < outcomes.length; i++) {
                if (bundle.items().get(i).unit() == u) {
                    places.add(i);
                }
            }
            List<Item> items = places.stream().map(i -> bundle.items().get(i)).toList();
            List<Outcome> answers = acks.ackUnit(new Unit(unit.lane(), unit.group(), lease), items);
            for (int i = 0; i < places.size(); i++) {
                outcomes[places.get(i)] =
                        judge(answers.get(i), lane, cursor, items.get(i).transactionId());
            }
        }
        return Arrays.asList(outcomes);
    }

    /**
     * The lease an ack names; else the holder, if the bundle names it, or who held the batch
     * before; else one that does not hold. None where the bundle names none at all.
     */
    private static @Nullable Delivered lease(
            Unit unit, @Nullable Cursor cursor, List<Delivered> supplied) {
        boolean holderSupplied =
                cursor != null
                        && supplied.stream().anyMatch(s -> State.isSameLease(s, cursor.lease));
        if (unit.lease() != null
                && !(holderSupplied
                        && cursor != null
                        && State.isSameLease(unit.lease(), cursor.prevLease))) {
            return unit.lease();
        }
        if (cursor != null && holderSupplied) {
            return cursor.lease;
        }
        if (cursor != null
                && supplied.stream().anyMatch(s -> State.isSameLease(s, cursor.prevLease))) {
            return cursor.prevLease;
        }
        return supplied.isEmpty() ? null : supplied.getFirst();
    }

    /** What lies ahead was not in the batch. */
    private static Outcome judge(
            Outcome outcome, @Nullable Lane lane, @Nullable Cursor cursor, String id) {
        if (lane != null && cursor != null && outcome.verdict().equals("unresolvable")) {
            for (long offset = cursor.committed + 1; offset <= lane.last(); offset++) {
                if (lane.at(offset).id().equals(id)) {
                    return new Outcome("beyond_batch", false, false);
                }
            }
        }
        return outcome;
    }
}
