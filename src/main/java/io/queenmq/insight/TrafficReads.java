package io.queenmq.insight;

import io.helidon.dbclient.DbRow;
import io.queenmq.db.ColdQuery;
import io.queenmq.db.ColdReads;
import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What all brokers do, as metrics show it: at most some seconds old. Any thread. */
public final class TrafficReads {
    /** Queues that are shown by name; the others are one. */
    private static final int QUEUES_MAX = 100;

    private static final Duration GOOD_FOR = Duration.ofSeconds(5);

    /** Since the beginning. */
    public record Totals(
            long pushRequests,
            long pushMessages,
            long popRequests,
            long popMessages,
            long ackRequests,
            long ackMessages,
            long ackFailed,
            long transactions,
            long databaseErrors,
            long deadLetters) {}

    /**
     * One minute of the queues of a name.
     *
     * @param ageSeconds since that minute ended
     * @param lagMillis null = nothing was delivered
     */
    public record Rate(
            String queue,
            double ageSeconds,
            long pushRequests,
            long pushMessages,
            long popMessages,
            long emptyPops,
            long acks,
            long failedAcks,
            long transactions,
            long conflated,
            @Nullable Double lagMillis,
            @Nullable Long lagMillisMax,
            long parked) {}

    private final Recent<Totals> totals;
    private final Recent<List<Rate>> rates;

    public TrafficReads(ColdReads reads, Clock clock) {
        ColdQuery<Totals> ofAll =
                reads.query(
                        "read_totals",
                        "select * from queen_store.read_totals()",
                        TrafficReads::totals);
        ColdQuery<Rate> ofQueues =
                reads.query(
                        "queue_rates",
                        "select * from queen_store.queue_rates(?)",
                        TrafficReads::rate);
        this.totals = new Recent<>(() -> ofAll.ask().getFirst(), GOOD_FOR, clock);
        this.rates = new Recent<>(() -> ofQueues.ask(QUEUES_MAX), GOOD_FOR, clock);
    }

    public Totals totals() {
        return totals.get();
    }

    /** The queues with most messages, then those that are left as one. */
    public List<Rate> rates() {
        return rates.get();
    }

    private static Totals totals(DbRow row) {
        return new Totals(
                row.column("push_requests").getLong(),
                row.column("push_messages").getLong(),
                row.column("pop_requests").getLong(),
                row.column("pop_messages").getLong(),
                row.column("ack_requests").getLong(),
                row.column("ack_messages").getLong(),
                row.column("ack_failed").getLong(),
                row.column("transactions").getLong(),
                row.column("database_errors").getLong(),
                row.column("dead_letters").getLong());
    }

    private static Rate rate(DbRow row) {
        return new Rate(
                row.column("queue").getString(),
                row.column("age_seconds").getDouble(),
                row.column("push_requests").getLong(),
                row.column("push_messages").getLong(),
                row.column("pop_messages").getLong(),
                row.column("empty_pops").getLong(),
                row.column("acks").getLong(),
                row.column("failed_acks").getLong(),
                row.column("transactions").getLong(),
                row.column("conflated").getLong(),
                row.column("lag_ms_avg").as(Double.class).orElse(null),
                row.column("lag_ms_max").as(Long.class).orElse(null),
                row.column("parked").getLong());
    }
}
