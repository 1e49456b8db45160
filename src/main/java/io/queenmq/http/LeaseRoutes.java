package io.queenmq.http;

import io.queenmq.access.Level;
import io.queenmq.ack.Ack;
import io.queenmq.ack.LeaseExtension;
import io.queenmq.model.QueenException;
import io.queenmq.web.Exchange;
import io.queenmq.web.JsonBody;
import io.queenmq.web.JsonBuffer;
import io.queenmq.web.Router;

/** {@code POST /api/v1/lease/:leaseId/extend}. */
final class LeaseRoutes {
    private static final int DEFAULT_SECONDS = 60;

    private final Ack ack;

    LeaseRoutes(Ack ack) {
        this.ack = ack;
    }

    void addTo(Router.Builder routes) {
        routes.route(Level.READ_WRITE, "POST", "/api/v1/lease/:leaseId/extend", this::extend);
    }

    private void extend(Exchange exchange) {
        String leaseId = exchange.segment("leaseId");
        int seconds = seconds(exchange.body());
        LeaseExtension extension = ack.extend(exchange.caller().tenant(), leaseId, seconds);
        exchange.ok(write(leaseId, extension));
    }

    /** How long: a body that does not say so in a way we understand asks for the usual. */
    static int seconds(byte[] bytes) {
        try (JsonBody body = new JsonBody(bytes)) {
            int seconds = DEFAULT_SECONDS;
            for (String name = body.nextName(); name != null; name = body.nextName()) {
                Long whole = name.equals("seconds") ? body.whole() : null;
                if (whole != null) {
                    seconds = Math.clamp(whole, 1, Integer.MAX_VALUE);
                } else {
                    body.skip();
                }
            }
            body.end();
            return seconds;
        } catch (QueenException e) {
            return DEFAULT_SECONDS;
        }
    }

    static JsonBuffer write(String leaseId, LeaseExtension extension) {
        JsonBuffer json = new JsonBuffer(256).raw("{\"leaseId\":").string(leaseId);
        json.raw(",\"success\":").bool(extension.renewed() > 0);
        json.raw(",\"renewed\":").number(extension.renewed());
        json.raw(",\"newExpiresAt\":").instant(extension.expiresAt());
        json.raw(",\"expiresAt\":").instant(extension.expiresAt());
        return json.raw(",\"lease_expires_at\":").instant(extension.expiresAt()).raw('}');
    }
}
