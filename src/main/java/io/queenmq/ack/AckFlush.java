package io.queenmq.ack;

import io.queenmq.ack.AckProcedures.BatchOutcome;
import io.queenmq.ack.AckProcedures.MessageOutcome;
import io.queenmq.ack.AckProcedures.MessageVerdict;
import io.queenmq.combine.Bundle;
import io.queenmq.combine.Flush;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.ready.ReadyLanes;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The calls that acknowledge: {@link Batches} for units that end a whole leased batch, {@link
 * Messages} for all others. What another transaction holds comes back as busy, and is waited for by
 * the patient threads alone.
 */
abstract sealed class AckFlush implements Flush<AckUnit.Cursor, AckUnit> {
    static final AckResult RELEASED = new AckResult(true, null, true, false, false);
    static final AckResult NOOP = new AckResult(true, null, false, false, true);

    final AckProcedures procedures;
    final ReadyLanes ready;
    final Deliveries deliveries;

    private AckFlush(AckProcedures procedures, ReadyLanes ready, Deliveries deliveries) {
        this.procedures = procedures;
        this.ready = ready;
        this.deliveries = deliveries;
    }

    static AckResult refused(String error) {
        return new AckResult(false, error, false, false, false);
    }

    /** What an ack is told when its call could not be made, or not be heard of. */
    static AckResult failed(QueenException failure) {
        return switch (failure.failure()) {
            case DATABASE_AWAY, OVERLOADED, STOPPING -> refused("pool");
            case BAD_REQUEST,
                    UNAUTHENTICATED,
                    FORBIDDEN,
                    NOT_FOUND,
                    BODY_TOO_LARGE,
                    QUEUE_ENCRYPTED,
                    DUPLICATE,
                    ACK_REJECTED,
                    PAYLOAD_TOO_LARGE,
                    KV_PRECONDITION,
                    RATE_LIMITED,
                    KV_DISABLED,
                    TIMERS_DISABLED,
                    TIMER_HORIZON_EXCEEDED,
                    FEATURE_GATED,
                    KV_QUOTA_EXCEEDED,
                    TIMERS_QUOTA_EXCEEDED,
                    BUSY,
                    OUTCOME_UNKNOWN,
                    DEADLINE,
                    INTERNAL ->
                    refused("ack flush failed; lease will expire and redeliver");
        };
    }

    @Override
    public void alone(Bundle<AckUnit.Cursor, AckUnit> bundle) {
        try {
            byKey(List.of(bundle), true);
        } catch (QueenException e) {
            if (e.failure() != Failure.BUSY) {
                throw e;
            }
            bundle.busy();
        }
    }

    @Override
    public void failed(Bundle<AckUnit.Cursor, AckUnit> bundle, QueenException failure) {
        bundle.works().forEach(unit -> unit.answerAll(failed(failure)));
    }

    final void byKey(List<Bundle<AckUnit.Cursor, AckUnit>> bundles, boolean patient) {
        List<AckUnit> units = unitsOf(bundles);
        List<MessageOutcome> outcomes = procedures.ackMessages(units, patient);
        int at = 0;
        for (Bundle<AckUnit.Cursor, AckUnit> bundle : bundles) {
            for (Iterator<AckUnit> i = bundle.works().iterator(); i.hasNext(); ) {
                AckUnit unit = i.next();
                List<MessageOutcome> mine = outcomes.subList(at, at + unit.items());
                at += unit.items();
                if (settle(unit, mine)) {
                    i.remove();
                } else {
                    bundle.busy();
                }
            }
        }
    }

    static List<AckUnit> unitsOf(List<Bundle<AckUnit.Cursor, AckUnit>> bundles) {
        List<AckUnit> units = new ArrayList<>(bundles.size());
        bundles.forEach(bundle -> units.addAll(bundle.works()));
        return units;
    }

    /** False = busy. */
    private boolean settle(AckUnit unit, List<MessageOutcome> outcomes) {
        List<AckResult> results = new ArrayList<>(outcomes.size());
        boolean released = false;
        for (MessageOutcome outcome : outcomes) {
            AckResult result = result(outcome);
            if (result == null) {
                return false;
            }
            results.add(result);
            released |= outcome.leaseReleased();
        }
        if (released) {
            MessageOutcome any = outcomes.getFirst();
            ready.freed(any.queueId(), any.groupId(), unit.lane, any.committed(), any.lastOffset());
            if (unit.leaseId != null) {
                deliveries.forget(unit.leaseId, unit.lane);
            }
        }
        procedures.answered(outcomes.getFirst().queueId(), unit, results);
        unit.answer(results);
        return true;
    }

    private static @Nullable AckResult result(MessageOutcome outcome) {
        return switch (outcome.verdict()) {
            case DONE ->
                    new AckResult(
                            true,
                            null,
                            outcome.leaseReleased(),
                            outcome.deadLettered(),
                            false,
                            outcome.conflated());
            case NOOP -> NOOP;
            case BUSY -> null;
            case STALE,
                    UNRESOLVABLE,
                    BEYOND_BATCH,
                    CONSUMER_NOT_FOUND,
                    INVALID_LEASE,
                    NOT_OWNED,
                    NO_LEASED_BATCH ->
                    refused(errorOf(outcome.verdict()));
        };
    }

    /** What a client is told of a verdict that has no effect. */
    static String errorOf(MessageVerdict verdict) {
        return switch (verdict) {
            case STALE -> "already committed: the cursor moved past this message before this ack";
            case UNRESOLVABLE, BEYOND_BATCH -> Ack.UNRESOLVABLE;
            case CONSUMER_NOT_FOUND -> "consumer not found";
            case INVALID_LEASE -> Ack.INVALID_LEASE;
            case NOT_OWNED -> Ack.NOT_OWNED;
            case NO_LEASED_BATCH -> "no leased batch";
            case DONE, NOOP, BUSY ->
                    throw new IllegalArgumentException(verdict + " is no error of an ack");
        };
    }

    /** Units that end a whole leased batch: no key is looked at. */
    static final class Batches extends AckFlush {
        Batches(AckProcedures procedures, ReadyLanes ready, Deliveries deliveries) {
            super(procedures, ready, deliveries);
        }

        @Override
        public void together(List<Bundle<AckUnit.Cursor, AckUnit>> bundles) {
            List<BatchOutcome> outcomes = procedures.ackBatches(unitsOf(bundles));
            int at = 0;
            for (Bundle<AckUnit.Cursor, AckUnit> bundle : bundles) {
                for (Iterator<AckUnit> i = bundle.works().iterator(); i.hasNext(); ) {
                    if (settle(i.next(), outcomes.get(at++))) {
                        i.remove();
                    } else {
                        bundle.busy();
                    }
                }
            }
        }

        private boolean settle(AckUnit unit, BatchOutcome outcome) {
            switch (outcome.verdict()) {
                case RELEASED -> {
                    ready.freed(
                            unit.queueId(),
                            unit.groupId(),
                            unit.lane,
                            unit.batchEnd(),
                            outcome.lastOffset());
                    // An id may be acknowledged more than once: it retires them once.
                    List<AckResult> results =
                            new ArrayList<>(Collections.nCopies(unit.items(), RELEASED));
                    results.set(
                            0, new AckResult(true, null, true, false, false, outcome.conflated()));
                    procedures.answered(unit.queueId(), unit, results);
                    unit.answer(results);
                }
                case NOOP -> unit.answerAll(NOOP);
                case LOST -> unit.answer(List.of());
                case BUSY -> {
                    return false;
                }
            }
            return true;
        }
    }

    /** All other units, item by item. */
    static final class Messages extends AckFlush {
        Messages(AckProcedures procedures, ReadyLanes ready, Deliveries deliveries) {
            super(procedures, ready, deliveries);
        }

        @Override
        public void together(List<Bundle<AckUnit.Cursor, AckUnit>> bundles) {
            byKey(bundles, false);
        }
    }
}
