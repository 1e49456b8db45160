package io.queenmq.ready;

import io.queenmq.db.Database;
import io.queenmq.hint.HintSink;
import io.queenmq.model.QueenException;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.IntConsumer;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Applies what others say to the ready lanes; and looks for itself while nobody can be heard. A
 * hint names lanes by number: what else must be known of them is read in one statement, and only if
 * anybody here could care.
 */
public final class HintedLanes implements HintSink {
    /** How long a listener may have been dead before that was noticed. */
    private static final Duration UNNOTICED = Duration.ofMinutes(1);

    private final ReadyLanes ready;
    private final ReadyProcedures procedures;
    private final IntConsumer queueChanged;
    private final Runnable everythingChanged;
    private final LongConsumer timerDue;

    /** From when on the next look must search; null = the listener was heard last time. */
    private @Nullable Instant lookFrom;

    /**
     * @param queueChanged who else keeps something of a queue; called before its polls look again,
     *     must not announce the change again
     * @param everythingChanged the same for all queues
     * @param timerDue told when timers are due, in ms since 1970
     */
    public HintedLanes(
            ReadyLanes ready,
            Database database,
            IntConsumer queueChanged,
            Runnable everythingChanged,
            LongConsumer timerDue) {
        this.ready = ready;
        this.procedures = new ReadyProcedures(database);
        this.queueChanged = queueChanged;
        this.everythingChanged = everythingChanged;
        this.timerDue = timerDue;
    }

    @Override
    public void lanesWritten(List<Long> numbers) {
        lookUp(numbers, ready::heard);
    }

    @Override
    public void lanesFreed(List<Long> numbers) {
        lookUp(numbers, ready::heardFreed);
    }

    @Override
    public void queueWritten(int queueId) {
        ready.queueWritten(queueId);
    }

    @Override
    public void queueChanged(int queueId) {
        queueChanged.accept(queueId);
        ready.heardChanged(queueId);
    }

    @Override
    public void timerDue(long atMs) {
        timerDue.accept(atMs);
    }

    @Override
    public void everythingChanged() {
        everythingChanged.run();
        ready.everythingChanged();
    }

    /** A look-up that fails, under overload most likely, costs a reading and not the listener. */
    private void lookUp(List<Long> numbers, Consumer<List<LaneWrites.Lane>> heard) {
        if (!ready.listens()) {
            return;
        }
        List<LaneWrites.Lane> lanes;
        try {
            lanes = procedures.lanes(numbers);
        } catch (QueenException e) {
            ready.heardUnknown(numbers);
            return;
        }
        heard.accept(lanes);
    }

    /**
     * To be called every second: while hints are not heard and polls are parked, one look for lanes
     * written since the look before.
     */
    public void bridge(BooleanSupplier isListening) {
        if (isListening.getAsBoolean() || ready.pollCount() == 0) {
            lookFrom = null;
            return;
        }
        // Read before the look, so that what commits meanwhile is in the next one.
        Instant next = procedures.horizon();
        Instant from = lookFrom == null ? next.minus(UNNOTICED) : lookFrom;
        Set<Integer> queueIds = new LinkedHashSet<>(ready.queuesWaitedFor());
        if (!queueIds.isEmpty()) {
            ready.heard(procedures.lanesWrittenSince(queueIds, from));
        }
        ready.wakeSeekers();
        lookFrom = next;
    }
}
