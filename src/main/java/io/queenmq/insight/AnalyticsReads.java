package io.queenmq.insight;

import io.queenmq.db.ColdQuery;
import io.queenmq.db.ColdReads;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Series over time, and what dashboards compare by them. Answers are JSON, ready to be sent. Any
 * thread.
 */
public final class AnalyticsReads {
    /** Points of one answer: more are cut off, and the answer says so. */
    private static final int POINTS_MAX = 20_000;

    private static final String TENANT_AND_WINDOW = "?::uuid, ?::timestamptz, ?::timestamptz, ";

    private static final byte[] NOTHING = new byte[0];

    private final ColdQuery<byte[]> queueLag;
    private final ColdQuery<byte[]> queueOps;
    private final ColdQuery<byte[]> parked;
    private final ColdQuery<byte[]> retention;
    private final ColdQuery<byte[]> workload;
    private final ColdQuery<byte[]> signatures;
    private final ColdQuery<byte[]> liveness;
    private final ColdQuery<byte[]> systemMetrics;
    private final ColdQuery<byte[]> workers;
    private final ColdQuery<byte[]> server;

    public AnalyticsReads(ColdReads reads) {
        this.queueLag = query(reads, "show_queue_lag", TENANT_AND_WINDOW + "?::text, ?");
        this.queueOps = query(reads, "show_queue_ops", TENANT_AND_WINDOW + "?::text, ?");
        this.parked = query(reads, "show_parked", TENANT_AND_WINDOW + "?::text, ?");
        this.retention = query(reads, "show_retention", TENANT_AND_WINDOW + "?::text, ?::text");
        this.workload =
                query(
                        reads,
                        "show_workload",
                        TENANT_AND_WINDOW + "?::text, ?::text, ?::text, ?::text");
        this.signatures = query(reads, "show_dead_letter_signatures", "?::uuid, ?::text, ?");
        this.liveness =
                query(reads, "show_partition_liveness", "?::uuid, ?::text, ?::text, ?::text, ?");
        this.systemMetrics =
                query(reads, "show_system_metrics", "?::timestamptz, ?::timestamptz, ?::text");
        this.workers =
                query(reads, "show_workers", "?::timestamptz, ?::timestamptz, ?::text, ?::text");
        this.server = query(reads, "show_server", "");
    }

    /** A function that answers with one JSON value; nothing where it is null. */
    static ColdQuery<byte[]> query(ColdReads reads, String function, String parameters) {
        return reads.query(
                function,
                "select queen_store." + function + "(" + parameters + ")::text as answer",
                row ->
                        row.column("answer")
                                .as(String.class)
                                .map(json -> json.getBytes(StandardCharsets.UTF_8))
                                .orElse(NOTHING));
    }

    public byte[] queueLag(UUID tenant, Window window, @Nullable String queue) {
        return ofQueue(queueLag, tenant, window, queue);
    }

    public byte[] queueOps(UUID tenant, Window window, @Nullable String queue) {
        return ofQueue(queueOps, tenant, window, queue);
    }

    public byte[] parked(UUID tenant, Window window, @Nullable String queue) {
        return ofQueue(parked, tenant, window, queue);
    }

    private static byte[] ofQueue(
            ColdQuery<byte[]> query, UUID tenant, Window window, @Nullable String queue) {
        return query.ask(
                        tenant, window.from().toString(), window.to().toString(), queue, POINTS_MAX)
                .getFirst();
    }

    /**
     * What was removed because it was old.
     *
     * @param groupBy namespace, task or queue; null = sums alone
     */
    public byte[] retention(
            UUID tenant, Window window, @Nullable String queue, @Nullable String groupBy) {
        return retention
                .ask(tenant, window.from().toString(), window.to().toString(), queue, groupBy)
                .getFirst();
    }

    /**
     * What happened, by a label.
     *
     * @param groupBy namespace, task or queue
     */
    public byte[] workload(
            UUID tenant,
            Window window,
            String groupBy,
            @Nullable String namespace,
            @Nullable String task,
            @Nullable String queue) {
        return workload.ask(
                        tenant,
                        window.from().toString(),
                        window.to().toString(),
                        groupBy,
                        namespace,
                        task,
                        queue)
                .getFirst();
    }

    /** Why messages were given up; empty = no such queue. */
    public Optional<byte[]> deadLetterSignatures(UUID tenant, String queue, int limit) {
        byte[] answer = signatures.ask(tenant, queue, limit).getFirst();
        return answer.length == 0 ? Optional.empty() : Optional.of(answer);
    }

    /**
     * How many partitions were written of late.
     *
     * @param namespace null = any, empty = none
     */
    public byte[] partitionLiveness(
            UUID tenant,
            @Nullable String queue,
            @Nullable String namespace,
            @Nullable String task,
            int limit) {
        return liveness.ask(tenant, queue, namespace, task, limit).getFirst();
    }

    /** What brokers used of their machines. */
    public byte[] systemMetrics(Window window, @Nullable String broker) {
        return systemMetrics
                .ask(window.from().toString(), window.to().toString(), broker)
                .getFirst();
    }

    /** What brokers did. */
    public byte[] workers(Window window, @Nullable String queue, @Nullable String broker) {
        return workers.ask(window.from().toString(), window.to().toString(), queue, broker)
                .getFirst();
    }

    /** How the server fares with this database. */
    public byte[] server() {
        return server.ask().getFirst();
    }
}
