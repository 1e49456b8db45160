package io.queenmq.admin;

import io.queenmq.access.Level;
import io.queenmq.gate.Switch;
import io.queenmq.gate.Switches;
import io.queenmq.insight.SystemReads;
import io.queenmq.maintain.OnCall;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Names;
import io.queenmq.queue.QueueReads;
import io.queenmq.ready.ReadyLanes;
import io.queenmq.web.Exchange;
import io.queenmq.web.JsonBody;
import io.queenmq.web.JsonBuffer;
import io.queenmq.web.Router;
import org.jspecify.annotations.Nullable;

/** {@code /api/v1/system} and {@code /internal/api}: what the person on call sees and does. */
final class SystemRoutes {
    private static final String SYSTEM = "/api/v1/system";
    private static final String INTERNAL = "/internal/api";
    private static final int NOT_FOUND = 404;

    private final String serverId;
    private final SystemReads reads;
    private final OnCall onCall;
    private final QueueReads queues;
    private final ReadyLanes ready;
    private final Switches switches;
    private final Metrics metrics;

    SystemRoutes(
            String serverId,
            SystemReads reads,
            OnCall onCall,
            QueueReads queues,
            ReadyLanes ready,
            Switches switches,
            Metrics metrics) {
        this.serverId = serverId;
        this.reads = reads;
        this.onCall = onCall;
        this.queues = queues;
        this.ready = ready;
        this.switches = switches;
        this.metrics = metrics;
    }

    void addTo(Router.Builder routes) {
        routes.read(Level.ADMIN, SYSTEM + "/shared-state", this::sharedState)
                .read(Level.ADMIN, SYSTEM + "/jobs", e -> e.ok(AdminQuery.json(reads.jobs())))
                .manage(Level.ADMIN, "POST", SYSTEM + "/jobs/:job", this::setJob)
                .read(Level.ADMIN, SYSTEM + "/blocked", e -> e.ok(AdminQuery.json(reads.blocked())))
                .manage(Level.ADMIN, "POST", SYSTEM + "/blocked/:pid/terminate", this::terminate)
                .manage(Level.ADMIN, "POST", "/api/v1/stats/refresh", this::refresh)
                .route(Level.ADMIN, "POST", INTERNAL + "/notify", this::notifyQueue)
                .read(Level.ADMIN, INTERNAL + "/shared-state/stats", this::peers)
                .read(Level.ADMIN, INTERNAL + "/inter-instance/stats", this::peers);
    }

    private boolean isListening() {
        return metrics.value("queen_notify_listening") > 0;
    }

    private JsonBuffer modes(JsonBuffer json) {
        return json.raw(",\"maintenance_mode\":false,\"pop_maintenance_mode\":")
                .bool(!switches.isOn(Switch.POP));
    }

    private void sharedState(Exchange exchange) {
        boolean listening = isListening();
        JsonBuffer json = new JsonBuffer(256).raw("{\"enabled\":").bool(listening);
        json.raw(",\"transport\":\"pg-notify\"");
        if (!listening) {
            json.raw(",\"reason\":\"not_listening\"");
        }
        exchange.ok(modes(json).raw('}'));
    }

    /** Brokers do not know each other: who has reported to the database of late is there. */
    private void peers(Exchange exchange) {
        long brokers = reads.brokers();
        boolean listening = isListening();
        JsonBuffer json = new JsonBuffer(512).raw("{\"server_id\":").string(serverId);
        json.raw(",\"transport\":\"pg-notify\",\"peer_count\":").number(Math.max(0, brokers - 1));
        json.raw(",\"peers\":[],\"servers_alive\":").number(brokers);
        json.raw(",\"servers_dead\":0,\"eph_members\":0,\"messages_sent\":");
        json.number((long) metrics.value("queen_notify_sent_total"));
        json.raw(",\"messages_received\":");
        json.number((long) metrics.value("queen_notify_received_total"));
        json.raw(",\"messages_dropped\":0,\"signature_failures\":0,\"handshake_failures\":0");
        json.raw(",\"sequence_rejections\":0,\"enabled\":").bool(listening);
        json.raw(",\"running\":").bool(listening);
        exchange.ok(modes(json).raw('}'));
    }

    private void setJob(Exchange exchange) {
        String job = Names.checked("job", exchange.segment("job"), Names.NAME_BYTES_MAX);
        Boolean enabled = null;
        Boolean run = null;
        try (JsonBody body = new JsonBody(exchange.body())) {
            for (String name = body.nextName(); name != null; name = body.nextName()) {
                switch (name) {
                    case "enabled" -> enabled = SwitchRoutes.flag(name, body);
                    case "runNow" -> run = SwitchRoutes.flag(name, body);
                    default -> body.skip();
                }
            }
            body.end();
        }
        if (enabled == null && run == null) {
            throw JsonBody.bad("one of enabled and runNow must be given");
        }
        if (onCall.setJob(job, enabled, Boolean.TRUE.equals(run))) {
            exchange.ok(new JsonBuffer(64).raw("{\"success\":true,\"job\":").string(job).raw('}'));
        } else {
            notFound(exchange, "Job not found");
        }
    }

    private void terminate(Exchange exchange) {
        String text = exchange.segment("pid");
        Integer pid = number(text);
        if (pid != null && onCall.endLaneHolder(pid)) {
            exchange.ok(new JsonBuffer(64).raw("{\"success\":true,\"pid\":").number(pid).raw('}'));
        } else {
            notFound(exchange, "No session of this number holds partitions");
        }
    }

    private static @Nullable Integer number(String text) {
        try {
            return Integer.valueOf(text);
        } catch (NumberFormatException e) {
            return null;
        }
    }

    private void refresh(Exchange exchange) {
        long changes = onCall.refreshStatistics();
        SystemReads.Cell cell = reads.cell();
        JsonBuffer json = new JsonBuffer(128).raw("{\"success\":true,\"engine\":\"segments\"");
        json.raw(",\"queues\":").number(cell.queues());
        json.raw(",\"segPartitions\":").number(cell.lanes());
        exchange.ok(json.raw(",\"changes\":").number(changes).raw('}'));
    }

    private void notifyQueue(Exchange exchange) {
        String queue = null;
        try (JsonBody body = new JsonBody(exchange.body())) {
            for (String name = body.nextName(); name != null; name = body.nextName()) {
                if (name.equals("queue")) {
                    queue = body.textOrNull(name);
                } else {
                    body.skip();
                }
            }
            body.end();
        }
        String checked = Names.name("queue", queue == null ? "" : queue);
        queues.find(exchange.caller().tenant(), checked)
                .ifPresent(found -> ready.groupsMoved(found.queueId()));
        exchange.ok(new JsonBuffer(32).raw("{\"status\":\"ok\"}"));
    }

    private static void notFound(Exchange exchange, String error) {
        exchange.refuse(NOT_FOUND, new JsonBuffer(64).raw("{\"error\":").string(error).raw('}'));
    }
}
