package io.queenmq.http;

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

    PushRoutes(Push push) {
        this.push = push;
    }

    void addTo(Router.Builder routes) {
        routes.route("POST", "/api/v1/push", this::push);
    }

    private void push(Exchange exchange) {
        Caller caller = exchange.caller();
        List<PushItem> items = PushJson.read(exchange.body());
        List<PushResult> results = items.isEmpty() ? List.of() : push.push(caller, items);
        exchange.created(PushJson.write(items, results));
    }
}
