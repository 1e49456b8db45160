package io.queenmq.admin;

import io.queenmq.access.Level;
import io.queenmq.model.Names;
import io.queenmq.trace.NewTrace;
import io.queenmq.trace.Traces;
import io.queenmq.web.Exchange;
import io.queenmq.web.Query;
import io.queenmq.web.Router;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

/** {@code /api/v1/traces}: what applications note about messages. */
final class TraceRoutes {
    private static final String TRACES = "/api/v1/traces";
    private static final int LIMIT = 100;
    private static final int NAMES_LIMIT = 50;
    private static final int OFFSET_MAX = 100_000;
    private static final int NOT_FOUND = 404;

    private final Traces traces;

    TraceRoutes(Traces traces) {
        this.traces = traces;
    }

    void addTo(Router.Builder routes) {
        routes.route(Level.READ_WRITE, "POST", TRACES, this::add)
                .read(Level.READ_ONLY, TRACES + "/names", this::names)
                .read(Level.READ_ONLY, TRACES + "/by-name/:name", this::named)
                .read(Level.READ_ONLY, TRACES + "/:partitionId/:transactionId", this::ofMessage);
    }

    private void add(Exchange exchange) {
        NewTrace trace = TraceJson.read(exchange.body());
        Optional<UUID> id = traces.add(exchange.caller().tenant(), trace);
        if (id.isPresent()) {
            exchange.created(TraceJson.added(id.get()));
        } else {
            exchange.refuse(NOT_FOUND, TraceJson.notFound());
        }
    }

    private void ofMessage(Exchange exchange) {
        MessageAddress address = MessageAddress.of(exchange);
        Query query = exchange.query();
        int limit = AdminQuery.number(query, "limit", Traces.PAGE_MAX, 1, Traces.PAGE_MAX);
        int offset = AdminQuery.offset(query, "offset", OFFSET_MAX);
        exchange.ok(
                TraceJson.ofMessage(
                        address.lane() == 0
                                ? List.of()
                                : traces.of(
                                        exchange.caller().tenant(),
                                        address.lane(),
                                        address.transactionId(),
                                        limit,
                                        offset)));
    }

    private void named(Exchange exchange) {
        Query query = exchange.query();
        String name = Names.name("name", exchange.segment("name"));
        int limit = AdminQuery.number(query, "limit", LIMIT, 1, Traces.PAGE_MAX);
        int offset = AdminQuery.offset(query, "offset", OFFSET_MAX);
        UUID tenant = exchange.caller().tenant();
        exchange.ok(
                TraceJson.named(
                        traces.named(tenant, name, limit, offset),
                        traces.count(tenant, name),
                        limit,
                        offset));
    }

    private void names(Exchange exchange) {
        Query query = exchange.query();
        int limit = AdminQuery.number(query, "limit", NAMES_LIMIT, 1, Traces.PAGE_MAX);
        int offset = AdminQuery.offset(query, "offset", OFFSET_MAX);
        exchange.ok(
                TraceJson.names(
                        traces.names(exchange.caller().tenant(), limit, offset), limit, offset));
    }
}
