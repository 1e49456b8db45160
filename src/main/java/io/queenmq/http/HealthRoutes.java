package io.queenmq.http;

import io.queenmq.access.Level;
import io.queenmq.web.Exchange;
import io.queenmq.web.JsonBuffer;
import io.queenmq.web.Router;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * What probes ask. {@code /health} is readiness: it looks at the database and at what the broker
 * does in the background, and turns red first when the broker stops. {@code /livez} and {@code
 * /status} ask the process alone: wiring readiness to a restart would turn an outage of the
 * database into a loop of kills. The two have second names.
 */
final class HealthRoutes {
    private static final String ENGINE = "segments-java";
    private static final int UNAVAILABLE = 503;

    private final BooleanSupplier databaseReady;
    private final Supplier<List<String>> overdue;
    private final String version;

    HealthRoutes(BooleanSupplier databaseReady, Supplier<List<String>> overdue, String version) {
        this.databaseReady = databaseReady;
        this.overdue = overdue;
        this.version = version;
    }

    void addTo(Router.Builder routes) {
        routes.read(Level.PUBLIC, "/health", this::health)
                .read(Level.PUBLIC, "/health/ready", this::health)
                .read(Level.PUBLIC, "/livez", HealthRoutes::live)
                .read(Level.PUBLIC, "/health/live", HealthRoutes::live)
                .read(Level.READ_ONLY, "/status", this::status);
    }

    private static void live(Exchange exchange) {
        exchange.ok(object().raw("{\"status\":\"ok\"}"));
    }

    private void health(Exchange exchange) {
        boolean connected = databaseReady.getAsBoolean();
        List<String> late = overdue.get();
        boolean healthy = connected && late.isEmpty() && !exchange.draining();
        JsonBuffer json = object().raw("{\"status\":").string(healthy ? "healthy" : "unhealthy");
        json.raw(",\"database\":").string(connected ? "connected" : "disconnected");
        json.raw(",\"engine\":").string(ENGINE);
        json.raw(",\"version\":").string(version);
        if (!late.isEmpty()) {
            json.raw(",\"overdue\":[");
            String separator = "";
            for (String work : late) {
                json.raw(separator).string(work);
                separator = ",";
            }
            json.raw(']');
        }
        json.raw('}');
        if (healthy) {
            exchange.ok(json);
        } else {
            exchange.refuse(UNAVAILABLE, json);
        }
    }

    private void status(Exchange exchange) {
        exchange.ok(object().raw("{\"status\":\"ok\",\"engine\":").string(ENGINE).raw('}'));
    }

    private static JsonBuffer object() {
        return new JsonBuffer(128);
    }
}
