package io.queenmq.http;

import io.queenmq.access.Level;
import io.queenmq.kv.LockOp;
import io.queenmq.kv.Locks;
import io.queenmq.web.Exchange;
import io.queenmq.web.Router;
import java.util.List;

/** {@code POST /api/v1/locks}. */
final class LockRoutes {
    private final Locks locks;

    LockRoutes(Locks locks) {
        this.locks = locks;
    }

    void addTo(Router.Builder routes) {
        routes.route(Level.READ_WRITE, "POST", "/api/v1/locks", KvRoutes.refusing(this::batch));
    }

    private void batch(Exchange exchange) {
        List<LockOp> ops = LockJson.read(exchange.body(), locks.opsMax());
        exchange.ok(LockJson.write(ops, locks.apply(exchange.caller(), ops)));
    }
}
