package io.queenmq.count;

import io.queenmq.metrics.Metrics;
import io.queenmq.metrics.ProcessUse;
import io.queenmq.runtime.TickLag;
import java.util.List;
import java.util.stream.LongStream;

/**
 * How a broker fares: what it has done since the sample before, and what it uses now.
 *
 * @param sums what {@link #totals} have grown by
 * @param ticks how late they came
 * @param pool size, active, idle, waiting
 */
record Sample(
        long spanMillis,
        long[] sums,
        long lagMillisMax,
        int parked,
        TickLag.Lag ticks,
        ProcessUse.Cpu cpu,
        long residentBytes,
        int[] pool) {
    /** Counters, in the order of the parameters of report_broker. */
    private static final List<String> COUNTERS =
            List.of(
                    "queen_process_push_requests_total",
                    "queen_push_messages_total",
                    "queen_process_pop_requests_total",
                    "queen_pop_messages_total",
                    "queen_process_ack_requests_total",
                    "queen_ack_items_total",
                    "queen_transact_commits_total",
                    "queen_db_connections_lost_total");

    private static final List<String> POOL =
            List.of(
                    "queen_db_pool_size",
                    "queen_db_pool_active",
                    "queen_db_pool_idle",
                    "queen_db_pool_waiting");

    /** What has been done so far. */
    static long[] totals(Metrics metrics, Activities activities) {
        LongStream counters = COUNTERS.stream().mapToLong(name -> (long) metrics.value(name));
        return LongStream.concat(
                        counters, LongStream.of(activities.failedAcks(), activities.lagMillis()))
                .toArray();
    }

    static int[] pool(Metrics metrics) {
        return POOL.stream().mapToInt(name -> (int) metrics.value(name)).toArray();
    }
}
