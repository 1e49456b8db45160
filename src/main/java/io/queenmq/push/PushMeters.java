package io.queenmq.push;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.DistributionSummary;
import io.queenmq.combine.Combiner;
import io.queenmq.dedup.KeyMemory;
import io.queenmq.metrics.Metrics;
import io.queenmq.queue.LaneName;

/** What the push room counts. Messages per commit = messages / commits. */
final class PushMeters {
    final Counter messages;
    final Counter commits;
    final Counter duplicates;
    final Counter busy;
    final Counter cold;
    final Counter settled;
    final Counter unknown;
    final Counter failed;
    final DistributionSummary flushLanes;
    final DistributionSummary flushMessages;

    PushMeters(Metrics metrics) {
        messages = metrics.counter("queen_push_messages_total", "Messages stored.");
        commits = metrics.counter("queen_push_commits_total", "Calls that stored something.");
        duplicates =
                metrics.counter(
                        "queen_push_duplicates_total", "Messages refused as stored before.");
        busy =
                metrics.counter(
                        "queen_push_busy_total", "Lane-batches that met a lane held by others.");
        cold =
                metrics.counter(
                        "queen_push_cold_total", "Lane-batches that had keys read back first.");
        settled =
                metrics.counter(
                        "queen_push_settled_total",
                        "Lane-batches decided after their answer was lost.");
        unknown =
                metrics.counter(
                        "queen_push_outcome_unknown_total", "Lane-batches that stayed in doubt.");
        failed = metrics.counter("queen_push_failed_total", "Messages certainly not stored.");
        flushLanes = metrics.distribution("queen_push_flush_lanes", "Lanes in one call.");
        flushMessages = metrics.distribution("queen_push_flush_messages", "Messages in one call.");
    }

    static void gauges(Metrics metrics, Combiner<LaneName, LaneBatch> combiner, KeyMemory memory) {
        metrics.gauge(
                "queen_push_held_messages", "Messages waiting or under way.", combiner::heldItems);
        metrics.gauge("queen_push_held_bytes", "Bytes waiting or under way.", combiner::heldBytes);
        metrics.gauge(
                "queen_push_refused_requests",
                "Pushes refused for want of room.",
                combiner::refused);
        metrics.gauge("queen_dedup_bytes", "Memory of the keys remembered.", memory::bytes);
        metrics.gauge(
                "queen_dedup_evictions",
                "Buckets of keys dropped for want of room.",
                memory::evictions);
    }
}
