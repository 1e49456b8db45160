package io.queenmq.admin;

import io.queenmq.access.Level;
import io.queenmq.gate.Switch;
import io.queenmq.gate.Switches;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.web.Exchange;
import io.queenmq.web.JsonBuffer;
import io.queenmq.web.Router;
import java.util.Map;
import java.util.function.BooleanSupplier;

/** {@code /api/v1/system/maintenance}: stops deliveries. Pushes cannot be kept back: no spool. */
final class MaintenanceRoutes {
    private static final String PUSHES = "/api/v1/system/maintenance";
    private static final String POPS = PUSHES + "/pop";

    /** Nothing is ever kept back, so there is nothing to count. */
    private static final String NOTHING_BUFFERED = ",\"bufferedMessages\":0,\"bufferHealthy\":true";

    private static final String NO_FAILED_FILES =
            ",\"failedFiles\":{\"count\":0,\"totalBytes\":0,\"totalMB\":0,\"failoverCount\":0,"
                    + "\"qos0Count\":0}";

    private final Switches switches;
    private final BooleanSupplier databaseTakesWrites;

    MaintenanceRoutes(Switches switches, BooleanSupplier databaseTakesWrites, Metrics metrics) {
        this.switches = switches;
        this.databaseTakesWrites = databaseTakesWrites;
        metrics.gauge(
                "queen_maintenance_mode_enabled",
                "Whether pushes are kept back: 1, or 0.",
                () -> 0);
        metrics.gauge(
                "queen_pop_maintenance_mode_enabled",
                "Whether nothing is delivered to pops: 1, or 0.",
                () -> isPaused() ? 1 : 0);
    }

    void addTo(Router.Builder routes) {
        routes.read(Level.ADMIN, PUSHES, this::state)
                .manage(Level.ADMIN, "POST", PUSHES, this::setPushes)
                .read(Level.ADMIN, POPS, this::pops)
                .manage(Level.ADMIN, "POST", POPS, this::setPops);
    }

    private boolean isPaused() {
        return !switches.isOn(Switch.POP);
    }

    private void state(Exchange exchange) {
        switches.refresh();
        JsonBuffer json = new JsonBuffer(384).raw("{\"maintenanceMode\":false");
        json.raw(",\"popMaintenanceMode\":").bool(isPaused()).raw(NOTHING_BUFFERED);
        json.raw(",\"bufferStats\":{\"pendingCount\":0,\"failedCount\":0,\"dbHealthy\":");
        json.bool(databaseTakesWrites.getAsBoolean()).raw(NO_FAILED_FILES);
        exchange.ok(json.raw("}}"));
    }

    private void setPushes(Exchange exchange) {
        if (SwitchBody.enabled(exchange.body())) {
            throw new QueenException(
                    Failure.BAD_REQUEST,
                    "pushes cannot be kept back: that needs a disk spool, which this version has"
                            + " not");
        }
        exchange.ok(
                new JsonBuffer(128)
                        .raw("{\"maintenanceMode\":false" + NOTHING_BUFFERED + ",\"message\":")
                        .string(
                                "Maintenance mode DISABLED. Background processor will drain buffer"
                                        + " to DB.")
                        .raw('}'));
    }

    private void pops(Exchange exchange) {
        boolean paused = isPaused();
        exchange.ok(
                pops(
                                paused,
                                paused
                                        ? "Pop maintenance mode is ON. All POP operations return"
                                                + " empty arrays."
                                        : "Pop maintenance mode is OFF. Normal operation.")
                        .raw('}'));
    }

    private void setPops(Exchange exchange) {
        boolean paused = SwitchBody.enabled(exchange.body());
        boolean mirrored = switches.set(Map.of(Switch.POP, !paused));
        exchange.ok(
                pops(
                                paused,
                                paused
                                        ? "Pop maintenance mode ENABLED. All POP operations will"
                                                + " return empty arrays."
                                        : "Pop maintenance mode DISABLED. Normal operation"
                                                + " resumed.")
                        .raw(",\"mirrored\":")
                        .bool(mirrored)
                        .raw('}'));
    }

    private static JsonBuffer pops(boolean paused, String message) {
        return new JsonBuffer(256)
                .raw("{\"popMaintenanceMode\":")
                .bool(paused)
                .raw(",\"message\":")
                .string(message);
    }
}
