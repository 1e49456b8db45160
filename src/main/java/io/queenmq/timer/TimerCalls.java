package io.queenmq.timer;

import io.queenmq.combine.GroupCommit;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;

/**
 * How many calls that change timers may be in the database at once, so that they never take the
 * connections of messages. Those that change the same timer wait for each other here; who finds one
 * held by somebody else waits for it beside the others. Any thread.
 */
final class TimerCalls {
    private static final int CALLS_MAX = 4;
    private static final int WAITING_MAX = 2;
    private static final Duration PATIENCE = Duration.ofSeconds(5);

    /** How long a call waits for a timer that somebody holds, each of three times. */
    private static final Duration BRIEF = Duration.ofMillis(50);

    private static final Duration LONG = Duration.ofSeconds(2);

    /** A timer that a call locks. */
    private record Touch(UUID tenant, String queue, String timerKey) {}

    /** One call, and what it was told. */
    private static final class Call {
        final TimerChanges changes;
        List<TimerResult> results = List.of();

        Call(TimerChanges changes) {
            this.changes = changes;
        }
    }

    private final GroupCommit<Call> calls;

    TimerCalls(TimerProcedures procedures, Metrics metrics, Clock clock) {
        this.calls =
                new GroupCommit<>(
                        new GroupCommit.Config(
                                "timers", CALLS_MAX, 1, GroupCommit.Share.ANY, WAITING_MAX),
                        new GroupCommit.Calls<>() {
                            @Override
                            public boolean together(List<Call> several) {
                                return false;
                            }

                            @Override
                            public void alone(Call call) {
                                call.results = procedures.change(call.changes, BRIEF);
                            }

                            @Override
                            public void patiently(Call call) {
                                call.results = procedures.change(call.changes, LONG);
                            }
                        },
                        metrics,
                        clock);
    }

    /**
     * Carries out all changes or none.
     *
     * @throws QueenException overloaded, busy, stopping: certainly nothing took effect; and as
     *     {@link TimerProcedures#change}
     */
    List<TimerResult> carryOut(TimerChanges changes) {
        Set<Object> touches = new HashSet<>();
        for (TimerOp op : changes.ops()) {
            touches.add(new Touch(changes.tenant(), op.queue(), op.timerKey()));
        }
        Call call = new Call(changes);
        if (!calls.carryOut(
                call, new GroupCommit.Terms(null, touches, GroupCommit.Share.ANY), PATIENCE)) {
            throw new QueenException(
                    Failure.OVERLOADED,
                    "%d calls that change timers are under way, as many as may be"
                            .formatted(CALLS_MAX));
        }
        return call.results;
    }
}
