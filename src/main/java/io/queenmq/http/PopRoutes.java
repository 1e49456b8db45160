package io.queenmq.http;

import io.queenmq.access.Level;
import io.queenmq.cipher.PayloadCipher;
import io.queenmq.metrics.Traffic;
import io.queenmq.model.Names;
import io.queenmq.pop.Client;
import io.queenmq.pop.Conflation;
import io.queenmq.pop.Pop;
import io.queenmq.pop.PopRequest;
import io.queenmq.pop.PopResult;
import io.queenmq.pop.PopScope;
import io.queenmq.web.Connection;
import io.queenmq.web.Exchange;
import io.queenmq.web.JsonBuffer;
import io.queenmq.web.Query;
import io.queenmq.web.Router;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** The three pops: of a queue, of one lane, of whatever carries the labels. */
final class PopRoutes {
    private static final int DEFAULT_BATCH = 200;
    private static final int BAD_REQUEST = 400;

    private final Pop pop;
    private final PayloadCipher cipher;
    private final HttpConfig config;
    private final Traffic traffic;

    PopRoutes(Pop pop, PayloadCipher cipher, HttpConfig config, Traffic traffic) {
        this.pop = pop;
        this.cipher = cipher;
        this.config = config;
        this.traffic = traffic;
    }

    void addTo(Router.Builder routes) {
        routes.route(Level.READ_WRITE, "GET", "/api/v1/pop/queue/:queue", this::queue)
                .route(
                        Level.READ_WRITE,
                        "GET",
                        "/api/v1/pop/queue/:queue/partition/:partition",
                        this::partition)
                .route(Level.READ_WRITE, "GET", "/api/v1/pop", this::labels);
    }

    private void queue(Exchange exchange) {
        String queue = Names.name("queue", exchange.segment("queue"));
        pop(exchange, new PopScope.Queue(queue), queue);
    }

    private void partition(Exchange exchange) {
        String queue = Names.name("queue", exchange.segment("queue"));
        String partition = Names.name("partition", exchange.segment("partition"));
        pop(exchange, new PopScope.Partition(queue, partition), queue);
    }

    private void labels(Exchange exchange) {
        String namespace = label(exchange.query(), "namespace");
        String task = label(exchange.query(), "task");
        pop(exchange, new PopScope.Labels(namespace, task), null);
    }

    private static String label(Query query, String name) {
        String value = query.text(name);
        return value == null ? "" : Names.checked(name, value, Names.NAME_BYTES_MAX);
    }

    private void pop(Exchange exchange, PopScope scope, @Nullable String queue) {
        PopRequest request = request(exchange, scope);
        String refusal = refusal(request);
        if (refusal != null) {
            exchange.refuse(BAD_REQUEST, PopJson.refusal(refusal));
            return;
        }
        traffic.popped(scope instanceof PopScope.Partition);
        Connection connection = exchange.connection();
        PopResult result = take(request, queue, client(connection));
        if (!result.lanes().isEmpty()) {
            deliver(exchange, result, queue, request.group());
        } else if (!connection.isGone()) {
            if (result.conflation().equals(Conflation.NONE)) {
                exchange.nothing();
            } else {
                exchange.ok(PopJson.empty(result, queue, request.group()));
            }
        }
    }

    private PopResult take(PopRequest request, @Nullable String queue, Client client) {
        if (request.patience().isZero()) {
            return traffic.pop(() -> pop.pop(request, client));
        }
        if (queue == null) {
            return pop.pop(request, client);
        }
        traffic.pollBegins(queue);
        try {
            return pop.pop(request, client);
        } finally {
            traffic.pollEnds(queue);
        }
    }

    // A claim that does not reach its client is given back: nobody else would get the lane before
    // the lease expires. An answer that left for a client that had just gone cannot be told from
    // one that arrived: that is what leases are for.
    private void deliver(
            Exchange exchange, PopResult result, @Nullable String queue, String group) {
        boolean delivered = false;
        try {
            if (!exchange.connection().isGone()) {
                long size = PopJson.size(result, group);
                if (result.leaseId() != null) {
                    // Without a lease the messages are gone once taken: refusing now would lose
                    // them, and a claim without one is small.
                    exchange.expectAnswer(size);
                }
                JsonBuffer json = PopJson.write(result, queue, group, cipher, size);
                exchange.ok(json);
                delivered = true;
            }
        } finally {
            if (!delivered && result.leaseId() != null) {
                pop.giveBack(result);
            }
        }
    }

    private PopRequest request(Exchange exchange, PopScope scope) {
        Query query = exchange.query();
        int batch = Math.max(1, query.int32("batch", DEFAULT_BATCH));
        int lanes =
                query.has("partitions")
                        ? Math.max(0, query.int32("partitions", 1))
                        : PopRequest.UNSAID;
        boolean wait = query.bool("wait", false);
        long pollMillis = query.unsigned64("timeout", config.pollTime().toMillis());
        Duration patience = wait ? config.patience(pollMillis) : Duration.ZERO;
        String group = query.text("consumerGroup");
        return new PopRequest(
                exchange.caller().tenant(),
                scope,
                group == null || group.isEmpty()
                        ? Names.QUEUE_MODE
                        : Names.name("consumerGroup", group),
                batch,
                lanes,
                query.bool("autoAck", false),
                patience,
                Math.max(0, query.int32("leaseSeconds", 0)),
                Subscription.of(
                        query.text("subscriptionMode"),
                        query.text("subscriptionFrom"),
                        config.groupsStartAtNow()),
                query.has("conflation") ? query.bool("conflation", false) : null,
                query.bool("autopilot", false)
                        ? new PopRequest.Left(!query.has("batch"), !query.has("partitions"))
                        : null);
    }

    private static @Nullable String refusal(PopRequest request) {
        if (request.scope() instanceof PopScope.Labels(String namespace, String task)
                && namespace.isEmpty()
                && task.isEmpty()) {
            return "namespace or task is required";
        }
        if (request.conflation() == null || !request.conflation()) {
            return null;
        }
        if (request.group().equals(Names.QUEUE_MODE)) {
            return "conflation requires consumerGroup: the policy belongs to a group";
        }
        if (request.autoAck()) {
            return "conflation cannot be combined with autoAck: it needs a lease";
        }
        return null;
    }

    private static Client client(Connection connection) {
        return new Client() {
            @Override
            public boolean isGone() {
                return connection.isGone();
            }

            @Override
            public void onGone(Runnable action) {
                connection.onGone(action);
            }
        };
    }
}
