package io.queenmq.admin;

import io.queenmq.access.Level;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.web.Exchange;
import io.queenmq.web.JsonBuffer;
import io.queenmq.web.Router;

/** {@code /api/v1/system/ephemeral}: says that there are no queues in memory. */
final class EphemeralRoutes {
    private static final String PATH = "/api/v1/system/ephemeral";

    private EphemeralRoutes() {}

    static void addTo(Router.Builder routes) {
        routes.read(Level.ADMIN, PATH, EphemeralRoutes::state)
                .route(Level.ADMIN, "POST", PATH, EphemeralRoutes::set);
    }

    private static void state(Exchange exchange) {
        exchange.ok(
                new JsonBuffer(192)
                        .raw("{\"ephemeralEnabled\":false,\"cellBytes\":0,\"cellMaxBytes\":0,")
                        .raw("\"queues\":0,\"grantedTenants\":0,\"requireGrant\":false,")
                        .raw("\"epoch\":0}"));
    }

    private static void set(Exchange exchange) {
        if (SwitchBody.enabled(exchange.body())) {
            throw new QueenException(
                    Failure.BAD_REQUEST,
                    "ephemeral queues cannot be switched on: this version has none");
        }
        state(exchange);
    }
}
