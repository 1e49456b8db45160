package io.queenmq.admin;

import io.queenmq.access.Level;
import io.queenmq.insight.AnalyticsReads;
import io.queenmq.insight.Window;
import io.queenmq.model.Names;
import io.queenmq.runtime.Clock;
import io.queenmq.web.Exchange;
import io.queenmq.web.JsonBuffer;
import io.queenmq.web.Query;
import io.queenmq.web.Router;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** {@code /api/v1/analytics}: series over time, and what dashboards compare by them. */
final class AnalyticsRoutes {
    private static final String ANALYTICS = "/api/v1/analytics";
    private static final Set<String> LABELS = Set.of("namespace", "task", "queue");
    private static final int BAD_REQUEST = 400;
    private static final int NOT_FOUND = 404;
    private static final int SAMPLE = 200;
    private static final int SAMPLE_MAX = 1_000;
    private static final int LIVENESS = 20;
    private static final int LIVENESS_MAX = 200;

    /** No broker has this name. */
    private static final String NO_BROKER = "";

    private final AnalyticsReads reads;
    private final Clock clock;

    AnalyticsRoutes(AnalyticsReads reads, Clock clock) {
        this.reads = reads;
        this.clock = clock;
    }

    void addTo(Router.Builder routes) {
        routes.read(Level.READ_ONLY, ANALYTICS + "/queue-lag", e -> ofQueue(e, reads::queueLag))
                .read(Level.READ_ONLY, ANALYTICS + "/queue-ops", e -> ofQueue(e, reads::queueOps))
                .read(
                        Level.READ_ONLY,
                        ANALYTICS + "/queue-parked-replicas",
                        e -> ofQueue(e, reads::parked))
                .read(Level.READ_ONLY, ANALYTICS + "/retention", this::retention)
                .read(Level.READ_ONLY, ANALYTICS + "/workload", this::workload)
                .read(Level.READ_ONLY, ANALYTICS + "/dlq-signatures", this::deadLetterSignatures)
                .read(Level.READ_ONLY, ANALYTICS + "/partition-liveness", this::partitionLiveness)
                .read(Level.READ_ONLY, ANALYTICS + "/system-metrics", this::systemMetrics)
                .read(Level.READ_ONLY, ANALYTICS + "/worker-metrics", this::workers)
                // The text of other sessions' queries is in it, and with that what they work on.
                .read(
                        Level.ADMIN,
                        ANALYTICS + "/postgres-stats",
                        e -> e.ok(AdminQuery.json(reads.server())));
    }

    /** A series of the queues of a tenant, or of one of them. */
    private interface OfQueue {
        byte[] read(UUID tenant, Window window, @Nullable String queue);
    }

    private Window window(Exchange exchange) {
        return AdminQuery.window(exchange.query(), AdminQuery.HOUR, clock);
    }

    private void ofQueue(Exchange exchange, OfQueue series) {
        exchange.ok(
                AdminQuery.json(
                        series.read(
                                exchange.caller().tenant(),
                                window(exchange),
                                AdminQuery.filter(exchange.query(), "queue"))));
    }

    private void retention(Exchange exchange) {
        Query query = exchange.query();
        String groupBy = AdminQuery.filter(query, "groupBy");
        if (groupBy != null && !LABELS.contains(groupBy)) {
            refuse(exchange, BAD_REQUEST, "bad groupBy");
            return;
        }
        exchange.ok(
                AdminQuery.json(
                        reads.retention(
                                exchange.caller().tenant(),
                                window(exchange),
                                AdminQuery.filter(query, "queue"),
                                groupBy)));
    }

    private void workload(Exchange exchange) {
        Query query = exchange.query();
        String asked = AdminQuery.filter(query, "groupBy");
        String groupBy = asked == null ? "namespace" : asked;
        if (!LABELS.contains(groupBy)) {
            refuse(exchange, BAD_REQUEST, "bad groupBy");
            return;
        }
        exchange.ok(
                AdminQuery.json(
                        reads.workload(
                                exchange.caller().tenant(),
                                window(exchange),
                                groupBy,
                                AdminQuery.filter(query, "namespace"),
                                AdminQuery.filter(query, "task"),
                                AdminQuery.filter(query, "queue"))));
    }

    private void deadLetterSignatures(Exchange exchange) {
        Query query = exchange.query();
        String queue = AdminQuery.filter(query, "queue");
        if (queue == null) {
            refuse(exchange, BAD_REQUEST, "queue required");
            return;
        }
        Optional<byte[]> found =
                reads.deadLetterSignatures(
                        exchange.caller().tenant(),
                        queue,
                        AdminQuery.number(query, "limit", SAMPLE, 1, SAMPLE_MAX));
        if (found.isEmpty()) {
            refuse(exchange, NOT_FOUND, "Queue not found");
        } else {
            exchange.ok(AdminQuery.json(found.get()));
        }
    }

    private void partitionLiveness(Exchange exchange) {
        Query query = exchange.query();
        String namespace = query.text("namespace");
        exchange.ok(
                AdminQuery.json(
                        reads.partitionLiveness(
                                exchange.caller().tenant(),
                                AdminQuery.filter(query, "queue"),
                                // Here no text is not no filter: it means queues without one.
                                namespace == null
                                        ? null
                                        : Names.checked(
                                                "namespace", namespace, Names.NAME_BYTES_MAX),
                                AdminQuery.filter(query, "task"),
                                AdminQuery.number(query, "limit", LIVENESS, 1, LIVENESS_MAX))));
    }

    private void systemMetrics(Exchange exchange) {
        exchange.ok(
                AdminQuery.json(reads.systemMetrics(window(exchange), broker(exchange.query()))));
    }

    private void workers(Exchange exchange) {
        Query query = exchange.query();
        exchange.ok(
                AdminQuery.json(
                        reads.workers(
                                window(exchange),
                                AdminQuery.filter(query, "queue"),
                                broker(query))));
    }

    /** A broker is one worker, with number 0. */
    private static @Nullable String broker(Query query) {
        boolean anotherWorker =
                AdminQuery.number(query, "workerId", 0, Integer.MIN_VALUE, Integer.MAX_VALUE) != 0;
        return anotherWorker ? NO_BROKER : AdminQuery.filter(query, "hostname");
    }

    private static void refuse(Exchange exchange, int status, String error) {
        exchange.refuse(status, new JsonBuffer(64).raw("{\"error\":").string(error).raw('}'));
    }
}
