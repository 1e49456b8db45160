package io.queenmq.http;

import io.queenmq.access.Level;
import io.queenmq.ack.Ack;
import io.queenmq.ack.AckResult;
import io.queenmq.metrics.Traffic;
import io.queenmq.web.Exchange;
import io.queenmq.web.Router;
import java.util.List;
import java.util.UUID;

/** {@code POST /api/v1/ack} and {@code /api/v1/ack/batch}. */
final class AckRoutes {
    private final Ack ack;
    private final Traffic traffic;

    AckRoutes(Ack ack, Traffic traffic) {
        this.ack = ack;
        this.traffic = traffic;
    }

    void addTo(Router.Builder routes) {
        routes.route(
                        Level.READ_WRITE,
                        "POST",
                        "/api/v1/ack",
                        e -> ack(e, AckJson.readOne(e.body())))
                .route(
                        Level.READ_WRITE,
                        "POST",
                        "/api/v1/ack/batch",
                        e -> ack(e, AckJson.readBatch(e.body())));
    }

    private void ack(Exchange exchange, AckJson.Request request) {
        traffic.acknowledged();
        UUID tenant = exchange.caller().tenant();
        List<AckResult> results =
                request.items().isEmpty()
                        ? List.of()
                        : traffic.ack(() -> ack.ack(tenant, request.group(), request.items()));
        exchange.ok(AckJson.write(request.items(), results));
    }
}
