package io.queenmq.admin;

import io.queenmq.access.Level;
import io.queenmq.group.GroupPositions;
import io.queenmq.group.SeekTarget;
import io.queenmq.group.Sought;
import io.queenmq.insight.GroupReads;
import io.queenmq.model.Names;
import io.queenmq.runtime.Clock;
import io.queenmq.web.Exchange;
import io.queenmq.web.Query;
import io.queenmq.web.Router;
import java.time.Instant;

/** {@code /api/v1/consumer-groups}: where groups stand; seek, subscription, deletion. */
final class GroupRoutes {
    private static final String GROUPS = "/api/v1/consumer-groups";
    private static final String GROUP = GROUPS + "/:group";
    private static final String QUEUE = GROUP + "/queues/:queue";
    private static final int NOT_FOUND = 404;
    private static final int OFFSET_MAX = 1_000_000;
    private static final int LAGGING_SECONDS = 3_600;

    private final GroupPositions groups;
    private final GroupReads reads;
    private final Clock clock;

    GroupRoutes(GroupPositions groups, GroupReads reads, Clock clock) {
        this.groups = groups;
        this.reads = reads;
        this.clock = clock;
    }

    void addTo(Router.Builder routes) {
        routes.read(Level.READ_ONLY, GROUPS, this::list)
                .read(Level.READ_ONLY, GROUPS + "/lagging", this::lagging)
                .read(Level.READ_ONLY, GROUP, this::detail)
                .manage(Level.READ_WRITE, "POST", QUEUE + "/seek", this::seekQueue)
                .manage(
                        Level.READ_WRITE,
                        "POST",
                        QUEUE + "/partitions/:partition/seek",
                        this::seekLane)
                .manage(Level.READ_WRITE, "POST", GROUP + "/subscription", this::subscribe)
                .manage(Level.ADMIN, "DELETE", GROUP, this::delete)
                .manage(Level.ADMIN, "DELETE", QUEUE, this::deleteFromQueue);
    }

    private void list(Exchange exchange) {
        Query query = exchange.query();
        exchange.ok(
                GroupListJson.list(
                        reads.list(
                                exchange.caller().tenant(),
                                AdminQuery.number(
                                        query,
                                        "limit",
                                        GroupReads.PAGE_MAX,
                                        1,
                                        GroupReads.PAGE_MAX),
                                AdminQuery.offset(query, "offset", OFFSET_MAX)),
                        clock.now()));
    }

    private void lagging(Exchange exchange) {
        int seconds =
                AdminQuery.number(
                        exchange.query(), "minLagSeconds", LAGGING_SECONDS, 0, Integer.MAX_VALUE);
        exchange.ok(GroupListJson.lagging(reads.lagging(exchange.caller().tenant(), seconds)));
    }

    private void detail(Exchange exchange) {
        exchange.ok(
                GroupListJson.detail(
                        reads.lanes(exchange.caller().tenant(), name(exchange, "group")),
                        clock.now()));
    }

    private void seekQueue(Exchange exchange) {
        String group = name(exchange, "group");
        String queue = name(exchange, "queue");
        SeekTarget target = GroupJson.target(exchange.body(), false);
        Sought sought = groups.seek(exchange.caller().tenant(), queue, group, target);
        if (sought instanceof Sought.Queue moved) {
            exchange.ok(GroupJson.moved(group, queue, target, moved));
        } else {
            exchange.refuse(NOT_FOUND, GroupJson.unknownQueue(group, queue, target));
        }
    }

    private void seekLane(Exchange exchange) {
        String group = name(exchange, "group");
        String queue = name(exchange, "queue");
        String partition = name(exchange, "partition");
        SeekTarget target = GroupJson.target(exchange.body(), true);
        Sought sought = groups.seek(exchange.caller().tenant(), queue, partition, group, target);
        if (sought instanceof Sought.Lane moved) {
            exchange.ok(GroupJson.moved(group, queue, partition, target, moved));
        } else {
            exchange.refuse(NOT_FOUND, GroupJson.unknownPartition());
        }
    }

    private void subscribe(Exchange exchange) {
        String group = name(exchange, "group");
        Instant from = GroupJson.subscription(exchange.body());
        int queues = groups.subscribe(exchange.caller().tenant(), group, from);
        exchange.ok(GroupJson.subscribed(group, from, queues));
    }

    private void delete(Exchange exchange) {
        String group = name(exchange, "group");
        boolean registration = registration(exchange);
        GroupPositions.Deleted deleted =
                groups.delete(exchange.caller().tenant(), null, group, registration);
        exchange.ok(GroupJson.deleted(group, null, deleted, registration));
    }

    private void deleteFromQueue(Exchange exchange) {
        String group = name(exchange, "group");
        String queue = name(exchange, "queue");
        boolean registration = registration(exchange);
        GroupPositions.Deleted deleted =
                groups.delete(exchange.caller().tenant(), queue, group, registration);
        exchange.ok(GroupJson.deleted(group, queue, deleted, registration));
    }

    private static boolean registration(Exchange exchange) {
        return AdminQuery.bool(exchange.query(), "deleteMetadata", true);
    }

    private static String name(Exchange exchange, String segment) {
        return Names.name(segment, exchange.segment(segment));
    }
}
