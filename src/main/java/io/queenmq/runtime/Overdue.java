package io.queenmq.runtime;

import io.queenmq.metrics.Metrics;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;

/**
 * Which of the things that a broker does again and again it has not brought to an end for far too
 * long. Whoever does one says since when; metrics show it and readiness follows it.
 */
public final class Overdue {
    private static final String METRIC = "queen_runtime_overdue";
    private static final String WORK = "work";

    /** So many periods may pass. */
    private static final int PERIODS = 10;

    /** And never less than this: longer than any pause after failures and any single call. */
    private static final Duration LEAST = Duration.ofMinutes(2);

    private static final Set<Failure> OUTAGES =
            EnumSet.of(Failure.DATABASE_AWAY, Failure.OUTCOME_UNKNOWN, Failure.OVERLOADED);

    private Overdue() {}

    /**
     * Whether a failure says nothing of what failed: the database is away, which readiness finds
     * out by itself, or all connections are in use, which is none of its business.
     */
    public static boolean isOutage(Throwable failure) {
        return failure instanceof QueenException refusal && OUTAGES.contains(refusal.failure());
    }

    /**
     * Watches something from now on.
     *
     * @param work its name, one of a fixed set
     * @param period from one time to the next, if all is well
     * @param late for how long it has been stuck or failing; zero = it is not
     */
    public static void watch(
            String work, Duration period, Supplier<Duration> late, Metrics metrics) {
        Duration many = period.multipliedBy(PERIODS);
        Duration most = many.compareTo(LEAST) < 0 ? LEAST : many;
        metrics.gauge(
                METRIC,
                "1 = has not been brought to an end for ten periods and two minutes: the broker is"
                        + " not ready.",
                () -> late.get().compareTo(most) > 0 ? 1 : 0,
                WORK,
                work);
    }

    /** The names of what is overdue now. */
    public static List<String> names(Metrics metrics) {
        return metrics.tagsAboveZero(METRIC, WORK);
    }
}
