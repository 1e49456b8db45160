package io.queenmq.http;

import io.queenmq.access.Level;
import io.queenmq.metrics.Traffic;
import io.queenmq.model.Caller;
import io.queenmq.push.Push;
import io.queenmq.push.PushItem;
import io.queenmq.push.PushResult;
import io.queenmq.web.Exchange;
import io.queenmq.web.Router;
import java.util.List;

/** {@code POST /api/v1/push}. */
final class PushRoutes {
    private final Push push;
    private final Traffic traffic;

    PushRoutes(Push push, Traffic traffic) {
        this.push = push;
        this.traffic = traffic;
    }

    void addTo(Router.Builder routes) {
        routes.route(Level.WRITE_ONLY, "POST", "/api/v1/push", this::push);
    }

    private void push(Exchange exchange) {
        traffic.pushed();
        Caller caller = exchange.caller();
        List<PushItem> items = PushJson.read(exchange.body());
        List<PushResult> results =
                items.isEmpty() ? List.of() : traffic.push(() -> push.push(caller, items));
        exchange.created(PushJson.write(items, results));
    }
}
