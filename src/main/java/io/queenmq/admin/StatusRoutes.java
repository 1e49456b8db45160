package io.queenmq.admin;

import io.queenmq.access.Level;
import io.queenmq.insight.StatusReads;
import io.queenmq.insight.Window;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import io.queenmq.web.Exchange;
import io.queenmq.web.JsonBuffer;
import io.queenmq.web.Query;
import io.queenmq.web.Router;
import java.time.Duration;
import java.util.Map;
import java.util.function.BooleanSupplier;

/** {@code /api/v1/status}: how the cluster fares, and how much was stored. */
final class StatusRoutes {
    private static final String STATUS = "/api/v1/status";
    private static final Duration DAY = Duration.ofDays(1);
    private static final int POINTS_MAX = 2_000;
    private static final Map<String, Duration> INTERVALS =
            Map.of("minute", Duration.ofMinutes(1), "hour", Duration.ofHours(1), "day", DAY);

    private final StatusReads reads;
    private final BooleanSupplier databaseTakesWrites;
    private final Clock clock;

    StatusRoutes(StatusReads reads, BooleanSupplier databaseTakesWrites, Clock clock) {
        this.reads = reads;
        this.databaseTakesWrites = databaseTakesWrites;
        this.clock = clock;
    }

    void addTo(Router.Builder routes) {
        routes.read(Level.READ_ONLY, STATUS, this::status)
                .read(Level.READ_ONLY, STATUS + "/analytics", this::volume)
                .read(Level.READ_ONLY, STATUS + "/buffers", this::buffers);
    }

    private void status(Exchange exchange) {
        Query query = exchange.query();
        exchange.ok(
                AdminQuery.json(
                        reads.status(
                                AdminQuery.window(query, AdminQuery.HOUR, clock),
                                AdminQuery.filter(query, "queue"),
                                AdminQuery.filter(query, "namespace"),
                                AdminQuery.filter(query, "task"))));
    }

    private void volume(Exchange exchange) {
        Query query = exchange.query();
        Window window = AdminQuery.window(query, DAY, clock);
        String asked = query.text("interval");
        String interval = asked != null && INTERVALS.containsKey(asked) ? asked : "hour";
        Duration length = Duration.between(window.from(), window.to());
        if (length.dividedBy(INTERVALS.getOrDefault(interval, DAY)) >= POINTS_MAX) {
            throw new QueenException(
                    Failure.BAD_REQUEST,
                    "from and to must be at most %d times the interval apart"
                            .formatted(POINTS_MAX));
        }
        exchange.ok(
                AdminQuery.json(
                        reads.volume(
                                exchange.caller().tenant(),
                                window,
                                interval,
                                AdminQuery.filter(query, "queue"),
                                AdminQuery.filter(query, "namespace"),
                                AdminQuery.filter(query, "task"))));
    }

    /** Nothing is ever buffered on disk: pushes wait in memory or are refused. */
    private void buffers(Exchange exchange) {
        exchange.ok(
                new JsonBuffer(64)
                        .raw("{\"pending\":0,\"failed\":0,\"dbHealthy\":")
                        .bool(databaseTakesWrites.getAsBoolean())
                        .raw(",\"worker\":0}"));
    }
}
