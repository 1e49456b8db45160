package io.queenmq.maintain;

import io.micrometer.core.instrument.Counter;
import io.queenmq.metrics.Metrics;
import io.queenmq.runtime.Clock;
import java.time.Duration;

/** Lets messages expire, queue after queue, some lanes a step. */
final class Expiry implements Job {
    private final StorageProcedures procedures;
    private final MaintainConfig config;
    private final Counter retention;
    private final Counter completed;
    private final Counter evicted;
    private final Counter segments;
    private final Counter bytes;
    private final RetentionLog log;

    private int afterQueueId;

    /** A queue may have more that is due than a step took. */
    private boolean cut;

    Expiry(StorageProcedures procedures, MaintainConfig config, Metrics metrics, Clock clock) {
        this.log = new RetentionLog(clock);
        this.procedures = procedures;
        this.config = config;
        this.retention = counter(metrics, "retention");
        this.completed = counter(metrics, "completed_retention");
        this.evicted = counter(metrics, "max_wait_time_eviction");
        this.segments =
                metrics.counter(
                        "queen_maintain_expired_segments_total", "Segments of expired messages.");
        this.bytes =
                metrics.counter(
                        "queen_maintain_expired_bytes_total",
                        "Bytes of expired messages, before compression.");
    }

    private static Counter counter(Metrics metrics, String rule) {
        return metrics.counter(
                "queen_maintain_expired_messages_total", "Messages expired.", "rule", rule);
    }

    @Override
    public String name() {
        return "retention";
    }

    @Override
    public Duration period() {
        return config.retentionInterval();
    }

    @Override
    public boolean hasWork() {
        return procedures.hasExpired();
    }

    @Override
    public boolean step() {
        boolean more = step(log.beforeStep());
        log.afterStep(more);
        return more;
    }

    /**
     * The same, and adds what it did to a run.
     *
     * @return whether there is more to do now
     */
    boolean step(RetentionRun run) {
        StorageProcedures.Expired expired =
                procedures.expire(afterQueueId, config.retentionBatchSize());
        run.add(expired);
        segments.increment((double) expired.segments());
        bytes.increment((double) expired.bytes());
        retention.increment((double) expired.retention());
        completed.increment((double) expired.completed());
        evicted.increment((double) expired.evicted());
        Integer last = expired.lastQueueId();
        boolean more = last != null || cut;
        cut = last != null;
        afterQueueId = last == null ? 0 : last;
        return more;
    }
}
