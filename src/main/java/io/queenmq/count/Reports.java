package io.queenmq.count;

import io.queenmq.db.Database;
import io.queenmq.metrics.Metrics;
import io.queenmq.metrics.ProcessUse;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import io.queenmq.runtime.Loop;
import io.queenmq.runtime.TickLag;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Reports how this broker fares and what its clients did: one row per report, and rows of queues
 * only where there was traffic. What cannot be told is told with the next report.
 */
public final class Reports implements AutoCloseable {
    private static final Logger LOG = System.getLogger(Reports.class.getName());

    /** Queues of one call. */
    private static final int QUEUES_MAX = 5_000;

    private final ReportConfig config;
    private final Activities activities;
    private final ReportProcedures procedures;
    private final IntSupplier port;
    private final Metrics metrics;
    private final Clock clock;
    private final TickLag ticks;
    private final Loop loop;

    private long toldNanos;
    private long[] toldTotals;
    private ProcessUse.Cpu toldCpu = ProcessUse.cpu();
    private @Nullable Integer brokerId;
    private boolean begun;
    private boolean closing;

    /**
     * Starts to report, for the first time after an interval.
     *
     * @param port where the HTTP API listens; asked when that is known
     */
    public Reports(
            ReportConfig config,
            Counts counts,
            Database database,
            IntSupplier port,
            Metrics metrics,
            Clock clock) {
        this.config = config;
        this.activities = counts.activities();
        this.procedures = new ReportProcedures(database);
        this.port = port;
        this.metrics = metrics;
        this.clock = clock;
        this.toldNanos = clock.nanos();
        this.toldTotals = Sample.totals(metrics, activities);
        this.ticks = new TickLag(metrics, clock);
        this.loop = Loop.start("report", config.interval(), this::reportInTime, metrics, clock);
    }

    /** Reports what is left, if the database can be had. */
    @Override
    public void close() {
        synchronized (this) {
            // Nothing is under way now: interrupted, it would be told twice.
            closing = true;
        }
        loop.close();
        ticks.close();
        try {
            report();
        } catch (QueenException e) {
            LOG.log(Level.INFO, "what this broker did last is not reported", e);
        }
    }

    private synchronized void reportInTime() {
        if (begun && !closing) {
            report();
        }
        begun = true;
    }

    private synchronized void report() {
        if (brokerId == null && port.getAsInt() == 0) {
            // It does not listen yet, and would be another broker as soon as it does.
            return;
        }
        long now = clock.nanos();
        long spanMillis = Math.max(1, TimeUnit.NANOSECONDS.toMillis(now - toldNanos));
        List<Activity> busy = activities.take();
        int told = 0;
        try {
            reportBroker(spanMillis);
            while (told < busy.size()) {
                List<Activity> some = busy.subList(told, Math.min(busy.size(), told + QUEUES_MAX));
                procedures.reportQueues(spanMillis, some);
                told += some.size();
            }
        } finally {
            busy.subList(told, busy.size()).forEach(Activity::giveBack);
        }
        toldNanos = now;
    }

    private void reportBroker(long spanMillis) {
        long[] totals = Sample.totals(metrics, activities);
        ProcessUse.Cpu cpu = ProcessUse.cpu();
        List<Activities.Parked> parked = activities.changed();
        Sample sample = sample(spanMillis, totals, cpu);
        if (brokerId == null || !procedures.reportBroker(brokerId, sample, parked)) {
            brokerId = procedures.register(config.broker(), port.getAsInt());
            procedures.reportBroker(brokerId, sample, parked);
        }
        parked.forEach(queue -> queue.queue().parkedTold(queue.number()));
        toldTotals = totals;
        toldCpu = cpu;
    }

    private Sample sample(long spanMillis, long[] totals, ProcessUse.Cpu cpu) {
        long[] sums = new long[totals.length];
        for (int i = 0; i < sums.length; i++) {
            sums[i] = totals[i] - toldTotals[i];
        }
        return new Sample(
                spanMillis,
                sums,
                activities.takeLagMillisMax(),
                (int) metrics.value("queen_ready_polls"),
                ticks.take(),
                new ProcessUse.Cpu(
                        cpu.userMicros() - toldCpu.userMicros(),
                        cpu.systemMicros() - toldCpu.systemMicros()),
                ProcessUse.residentBytes(),
                Sample.pool(metrics));
    }
}
