package io.queenmq.admin;

import io.queenmq.access.Level;
import io.queenmq.insight.DeadLetterDepthReads;
import io.queenmq.insight.Rate;
import io.queenmq.metrics.Largest;
import io.queenmq.metrics.Metrics;
import io.queenmq.metrics.MetricsText;
import io.queenmq.metrics.ProcessUse;
import io.queenmq.metrics.Traffic;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import io.queenmq.web.Exchange;
import io.queenmq.web.JsonBuffer;
import io.queenmq.web.Router;
import java.lang.management.MemoryUsage;
import java.util.List;

/** {@code /metrics}, for a glance, and {@code /metrics/prometheus}, for machines. */
final class MetricsRoutes {
    private static final String PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8";

    /** Queues that are shown by name: labels that people choose need a bound. */
    private static final int QUEUES_MAX = 100;

    private static final String PARKED = "queen_parked_long_polls";
    private static final String DEPTH = "queen_dlq_depth";
    private static final String DEPTH_BY_QUEUE = "queen_dlq_depth_by_queue";

    private final Metrics metrics;
    private final Traffic traffic;
    private final DeadLetterDepthReads deadLetters;
    private final ClusterMetrics cluster;
    private final StorageMetrics storage;
    private final ProcessMeters process;
    private final Rate requests;
    private final Rate messages;

    MetricsRoutes(
            Metrics metrics,
            Traffic traffic,
            DeadLetterDepthReads deadLetters,
            ClusterMetrics cluster,
            StorageMetrics storage,
            Clock clock) {
        this.metrics = metrics;
        this.traffic = traffic;
        this.deadLetters = deadLetters;
        this.cluster = cluster;
        this.storage = storage;
        this.process = new ProcessMeters(metrics);
        this.requests = new Rate(process.requests(), clock);
        this.messages = new Rate(process.messages(), clock);
    }

    void addTo(Router.Builder routes) {
        routes.read(Level.PUBLIC, "/metrics", exchange -> exchange.ok(glance()))
                .read(Level.PUBLIC, "/metrics/prometheus", this::scrape);
    }

    private JsonBuffer glance() {
        double asked = process.requests();
        double moved = process.messages();
        MemoryUsage heap = ProcessUse.heap();
        ProcessUse.Cpu cpu = ProcessUse.cpu();
        JsonBuffer json = new JsonBuffer(512).raw("{\"uptime\":");
        json.number(ProcessUse.uptime().toSeconds());
        json.raw(",\"requests\":{\"total\":").number((long) asked);
        json.raw(",\"rate\":").decimal(requests.of(asked));
        json.raw("},\"messages\":{\"total\":").number((long) moved);
        json.raw(",\"rate\":").decimal(messages.of(moved));
        json.raw("},\"database\":{\"poolSize\":")
                .number((long) metrics.value("queen_db_pool_size"));
        json.raw(",\"idleConnections\":").number((long) metrics.value("queen_db_pool_idle"));
        json.raw(",\"waitingRequests\":").number((long) metrics.value("queen_db_pool_waiting"));
        json.raw("},\"memory\":{\"rss\":").number(ProcessUse.residentBytes());
        json.raw(",\"heapTotal\":").number(heap.getCommitted());
        json.raw(",\"heapUsed\":").number(heap.getUsed());
        json.raw(",\"external\":").number(ProcessUse.otherBytes());
        json.raw(",\"arrayBuffers\":0},\"cpu\":{\"user\":").number(cpu.userMicros());
        return json.raw(",\"system\":").number(cpu.systemMicros()).raw("}}");
    }

    private void scrape(Exchange exchange) {
        MetricsText text = new MetricsText(metrics.prometheus());
        text.gauge(PARKED, "Long polls that wait, of the queues with most and of the others.");
        text.samples(PARKED, "queue", Largest.of(traffic.polls(), QUEUES_MAX));
        ofTheDatabase(text);
        exchange.text(PROMETHEUS, text.toString());
    }

    /** Left out while the database cannot tell: the rest is worth most then. */
    private void ofTheDatabase(MetricsText text) {
        try {
            cluster.addTo(text);
            deadLetters(text);
            storage.addTo(text);
        } catch (QueenException e) {
            // What has been read by then is whole, and that it failed is counted where it was
            // asked.
        }
    }

    private void deadLetters(MetricsText text) {
        List<DeadLetterDepthReads.Depth> depths = deadLetters.read();
        text.gauge(DEPTH, "Dead letters of all queues.");
        text.sample(DEPTH, depths.getFirst().deadLetters(), "scope", "cluster");
        text.gauge(DEPTH_BY_QUEUE, "Dead letters, of the queues with most and of the others.");
        for (DeadLetterDepthReads.Depth depth : depths) {
            if (depth.queue() != null) {
                text.sample(DEPTH_BY_QUEUE, depth.deadLetters(), "queue", depth.queue());
            }
        }
    }
}
