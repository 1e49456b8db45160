package io.queenmq.maintain;

import io.queenmq.maintain.UsageProcedures.Footprint;
import io.queenmq.maintain.UsageProcedures.Outlook;
import io.queenmq.maintain.UsageProcedures.Weighed;
import io.queenmq.metrics.Metrics;
import io.queenmq.metrics.PhaseMeters;
import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Measures what tenants have of keys and timers: reads both tables from end to end, some pages at a
 * time. Where nothing has changed it reads nothing, and where there is much it comes the more
 * rarely, so that on average it reads a few megabytes a second and no more.
 */
final class Usage implements Job {
    /** A step: 32 MiB of the default page size. */
    private static final int PAGES = 4_096;

    /** On average, over all brokers. */
    private static final double PAGES_PER_SECOND_MAX = 640;

    /** A measurement under way. */
    private static final class Walk {
        private final Outlook outlook;
        private final long startNanos;
        private final Map<UUID, Footprint> footprints = new HashMap<>();
        private long kvPage;
        private long timerPage;

        private Walk(Outlook outlook, long startNanos) {
            this.outlook = outlook;
            this.startNanos = startNanos;
        }
    }

    private final UsageProcedures procedures;
    private final Duration interval;
    private final Clock clock;
    private final PhaseMeters meters;
    private @Nullable Walk walk;

    /** Of the last measurement of this broker; -1 = there was none. */
    private long changesSeen = -1;

    Usage(UsageProcedures procedures, Duration interval, Metrics metrics, Clock clock) {
        this.procedures = procedures;
        this.interval = interval;
        this.clock = clock;
        this.meters = PhaseMeters.of(metrics, clock::nanos, "usage");
    }

    @Override
    public String name() {
        return "kv_usage";
    }

    @Override
    public Duration period() {
        return interval;
    }

    @Override
    public boolean hasWork() {
        if (walk != null) {
            return true;
        }
        Outlook outlook = procedures.outlook();
        boolean wanted = outlook.changes() != changesSeen && isRested(outlook);
        if (!wanted) {
            meters.skipped().increment();
        }
        return wanted;
    }

    private static boolean isRested(Outlook outlook) {
        long pages = outlook.kvPages() + outlook.timerPages();
        Double age = outlook.ageSeconds();
        // Who has never had anything has nothing to be told.
        return age == null ? pages > 0 : age < 0 || age >= pages / PAGES_PER_SECOND_MAX;
    }

    @Override
    public boolean step() {
        Walk mine = walk;
        // What fails is begun anew: what was read before is of another time.
        walk = null;
        if (mine == null) {
            mine = new Walk(procedures.outlook(), clock.nanos());
        }
        if (goOn(mine)) {
            walk = mine;
            return true;
        }
        procedures.record(mine.outlook.readAt(), mine.footprints);
        changesSeen = mine.outlook.changes();
        meters.cycleMs().record((clock.nanos() - mine.startNanos) / 1e6);
        return false;
    }

    /** Reads the next pages; false = there are no more. */
    private boolean goOn(Walk mine) {
        if (mine.kvPage < mine.outlook.kvPages()) {
            add(
                    mine,
                    procedures.weighKv(mine.kvPage, PAGES, mine.outlook.readAt()),
                    weighed -> new Footprint(weighed.items(), weighed.bytes(), 0, 0));
            mine.kvPage += PAGES;
            return true;
        }
        if (mine.timerPage < mine.outlook.timerPages()) {
            add(
                    mine,
                    procedures.weighTimers(mine.timerPage, PAGES),
                    weighed -> new Footprint(0, 0, weighed.items(), weighed.bytes()));
            mine.timerPage += PAGES;
            return true;
        }
        return false;
    }

    private interface Share {
        Footprint of(Weighed weighed);
    }

    private void add(Walk mine, List<Weighed> weighed, Share share) {
        for (Weighed each : weighed) {
            meters.rows().increment((double) each.items());
            mine.footprints.merge(each.tenant(), share.of(each), Footprint::plus);
        }
    }
}
