package io.queenmq.http;

import io.queenmq.access.Level;
import io.queenmq.model.Names;
import io.queenmq.queue.Queues;
import io.queenmq.web.Exchange;
import io.queenmq.web.Router;

/** {@code POST /api/v1/configure} and {@code DELETE /api/v1/resources/queues/:queue}. */
final class QueueRoutes {
    private final Queues queues;

    QueueRoutes(Queues queues) {
        this.queues = queues;
    }

    void addTo(Router.Builder routes) {
        routes.route(Level.READ_WRITE, "POST", "/api/v1/configure", this::configure)
                .manage(
                        Level.ADMIN,
                        "DELETE",
                        "/api/v1/resources/queues/:queue",
                        exchange -> delete(exchange, exchange.segment("queue")))
                // The queue with the empty name: it can be configured, so it can go.
                .manage(
                        Level.ADMIN,
                        "DELETE",
                        "/api/v1/resources/queues/",
                        exchange -> delete(exchange, ""));
    }

    private void configure(Exchange exchange) {
        QueueJson.Request request = QueueJson.read(exchange.body());
        Queues.Configured configured =
                queues.configure(
                        exchange.caller().tenant(),
                        request.queue(),
                        request.mode(),
                        request.options());
        exchange.ok(QueueJson.write(request.queue(), configured));
    }

    private void delete(Exchange exchange, String name) {
        String queue = Names.checked("queue", name, Names.NAME_BYTES_MAX);
        exchange.ok(QueueJson.deleted(queue, queues.delete(exchange.caller().tenant(), queue)));
    }
}
