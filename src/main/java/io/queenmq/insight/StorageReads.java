package io.queenmq.insight;

import io.queenmq.db.ColdQuery;
import io.queenmq.db.ColdReads;
import io.queenmq.runtime.Clock;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** How large the log is, as metrics show it: at most half a minute old. Any thread. */
public final class StorageReads {
    private static final Duration GOOD_FOR = Duration.ofSeconds(30);

    /**
     * The log and what keeps it from shrinking.
     *
     * @param sealBlockedSeconds how long the oldest epoch waits for its last writers
     * @param xminAgeSeconds null = nothing holds dead rows back, or only what has no time
     * @param xminAgeTransactions null = nothing holds dead rows back
     * @param xminHolder null = nothing holds dead rows back
     * @param laneHolders who has held lanes for over a second
     * @param safeTimeBehindSeconds age of what connectors may take for seen
     */
    public record Gauges(
            int epochs,
            double sealBlockedSeconds,
            long liveBytes,
            long expiredBytes,
            @Nullable Double xminAgeSeconds,
            @Nullable Long xminAgeTransactions,
            @Nullable String xminHolder,
            int laneHolders,
            double safeTimeBehindSeconds) {}

    private final Recent<Gauges> gauges;

    public StorageReads(ColdReads reads, Clock clock) {
        ColdQuery<Gauges> query =
                reads.query(
                        "storage_gauges",
                        "select * from queen_store.storage_gauges()",
                        row ->
                                new Gauges(
                                        row.column("epochs").getInt(),
                                        row.column("seal_blocked_seconds").getDouble(),
                                        row.column("live_bytes").getLong(),
                                        row.column("expired_bytes").getLong(),
                                        row.column("xmin_age_seconds")
                                                .as(Double.class)
                                                .orElse(null),
                                        row.column("xmin_age_transactions")
                                                .as(Long.class)
                                                .orElse(null),
                                        row.column("xmin_holder").as(String.class).orElse(null),
                                        row.column("lane_holders").getInt(),
                                        row.column("safe_time_behind_seconds").getDouble()));
        this.gauges = new Recent<>(() -> query.ask().getFirst(), GOOD_FOR, clock);
    }

    public Gauges gauges() {
        return gauges.get();
    }
}
