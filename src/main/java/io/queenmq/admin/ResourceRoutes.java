package io.queenmq.admin;

import io.queenmq.access.Level;
import io.queenmq.insight.FootprintReads;
import io.queenmq.insight.FootprintReads.Footprint;
import io.queenmq.insight.LaneReads;
import io.queenmq.insight.QueueListReads;
import io.queenmq.insight.QueueListReads.Filter;
import io.queenmq.model.Caller;
import io.queenmq.model.Names;
import io.queenmq.model.QueenException;
import io.queenmq.queue.QueueReads;
import io.queenmq.runtime.Clock;
import io.queenmq.web.Exchange;
import io.queenmq.web.JsonBuffer;
import io.queenmq.web.Query;
import io.queenmq.web.Router;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** {@code /api/v1/resources} and {@code /api/v1/status/queues}: queues and what they hold. */
final class ResourceRoutes {
    private static final String RESOURCES = "/api/v1/resources";
    private static final String STATUS = "/api/v1/status/queues";
    private static final int STATUS_LIMIT = 100;
    private static final int LANES = 1_000;
    private static final int OFFSET_MAX = 1_000_000;
    private static final int LANE_OFFSET_MAX = 100_000;
    private static final int NOT_FOUND = 404;

    private final QueueReads queues;
    private final QueueListReads lists;
    private final LaneReads lanes;
    private final FootprintReads footprints;
    private final Clock clock;

    ResourceRoutes(
            QueueReads queues,
            QueueListReads lists,
            LaneReads lanes,
            FootprintReads footprints,
            Clock clock) {
        this.queues = queues;
        this.lists = lists;
        this.lanes = lanes;
        this.footprints = footprints;
        this.clock = clock;
    }

    void addTo(Router.Builder routes) {
        routes.read(Level.READ_ONLY, RESOURCES + "/overview", this::overview)
                .read(Level.READ_ONLY, RESOURCES + "/queues", this::list)
                .read(
                        Level.READ_ONLY,
                        RESOURCES + "/queues/:queue",
                        e -> detail(e, e.segment("queue")))
                // The queue with the empty name: it can be configured, so it can be looked at.
                .read(Level.READ_ONLY, RESOURCES + "/queues/", e -> detail(e, ""))
                .read(Level.READ_ONLY, RESOURCES + "/queues/:queue/depth", this::depth)
                .read(
                        Level.READ_ONLY,
                        RESOURCES + "/namespaces",
                        e -> labels(e, "namespace", false))
                .read(Level.READ_ONLY, RESOURCES + "/tasks", e -> labels(e, "task", true))
                .read(Level.READ_ONLY, STATUS, this::status)
                .read(Level.READ_ONLY, STATUS + "/:queue", this::statusOfQueue);
    }

    private void overview(Exchange exchange) {
        UUID tenant = exchange.caller().tenant();
        exchange.ok(
                ResourceJson.overview(
                        // Others have no part in it: all there ever was is the tenant's own.
                        lists.overview(tenant, !exchange.hasTenants()),
                        tenant.equals(Caller.DEFAULT_TENANT),
                        clock.now()));
    }

    private void list(Exchange exchange) {
        Query query = exchange.query();
        Filter filter =
                filter(
                        exchange,
                        null,
                        false,
                        !"cached".equals(query.text("stats")),
                        QueueListReads.PAGE_MAX);
        exchange.ok(ResourceJson.queues(lists.list(filter), footprint(exchange.caller().tenant())));
    }

    /** Nothing may be said of it, but the list is not refused for that. */
    private @Nullable Footprint footprint(UUID tenant) {
        try {
            return footprints.of(tenant);
        } catch (QueenException e) {
            return null;
        }
    }

    private void status(Exchange exchange) {
        Filter filter =
                filter(
                        exchange,
                        AdminQuery.filter(exchange.query(), "queue"),
                        true,
                        false,
                        STATUS_LIMIT);
        exchange.ok(ResourceJson.status(lists.list(filter), filter.limit(), filter.offset()));
    }

    private static Filter filter(
            Exchange exchange, @Nullable String queue, boolean newest, boolean live, int limit) {
        Query query = exchange.query();
        return new Filter(
                exchange.caller().tenant(),
                queue,
                AdminQuery.filter(query, "namespace"),
                AdminQuery.filter(query, "task"),
                AdminQuery.filter(query, "search"),
                newest,
                live,
                AdminQuery.number(query, "limit", limit, 1, QueueListReads.PAGE_MAX),
                AdminQuery.offset(query, "offset", OFFSET_MAX));
    }

    private void labels(Exchange exchange, String kind, boolean byTask) {
        exchange.ok(ResourceJson.labels(kind, lists.labels(exchange.caller().tenant(), byTask)));
    }

    private void detail(Exchange exchange, String name) {
        String queue = Names.checked("queue", name, Names.NAME_BYTES_MAX);
        Optional<QueueReads.Described> found = queues.find(exchange.caller().tenant(), queue);
        if (found.isEmpty()) {
            notFound(exchange);
            return;
        }
        exchange.ok(
                ResourceJson.queue(
                        queue,
                        found.get(),
                        lanes.counts(exchange.caller().tenant(), queue),
                        lanes(exchange, found.get())));
    }

    private void statusOfQueue(Exchange exchange) {
        String queue = Names.name("queue", exchange.segment("queue"));
        Optional<QueueReads.Described> found = queues.find(exchange.caller().tenant(), queue);
        if (found.isEmpty()) {
            notFound(exchange);
            return;
        }
        exchange.ok(
                ResourceJson.status(
                        queue,
                        found.get(),
                        lanes.counts(exchange.caller().tenant(), queue),
                        lanes(exchange, found.get())));
    }

    private LaneReads.Lanes lanes(Exchange exchange, QueueReads.Described queue) {
        Query query = exchange.query();
        return lanes.lanes(
                queue.queueId(),
                AdminQuery.filter(query, "partitionSearch"),
                AdminQuery.filter(query, "partitionAfter"),
                laneLimit(query),
                AdminQuery.offset(query, "partitionOffset", LANE_OFFSET_MAX));
    }

    private static int laneLimit(Query query) {
        return AdminQuery.number(query, "partitionLimit", LANES, 1, LaneReads.PAGE_MAX);
    }

    private void depth(Exchange exchange) {
        String queue = Names.name("queue", exchange.segment("queue"));
        String group = AdminQuery.filter(exchange.query(), "group");
        Optional<LaneReads.QueueDepth> depth =
                lanes.depth(exchange.caller().tenant(), queue, group, laneLimit(exchange.query()));
        if (depth.isEmpty()) {
            notFound(exchange);
        } else {
            exchange.ok(ResourceJson.depth(queue, group, depth.get()));
        }
    }

    private static void notFound(Exchange exchange) {
        exchange.refuse(NOT_FOUND, new JsonBuffer(64).raw("{\"error\":\"Queue not found\"}"));
    }
}
