package io.queenmq.admin;

import io.queenmq.access.Level;
import io.queenmq.cipher.PayloadCipher;
import io.queenmq.insight.MessageReads;
import io.queenmq.insight.MessageReads.Filter;
import io.queenmq.insight.MessageReads.Found;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.queue.QueueReads;
import io.queenmq.runtime.Clock;
import io.queenmq.web.Exchange;
import io.queenmq.web.Query;
import io.queenmq.web.Router;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** {@code /api/v1/messages}: looking at messages without consuming them. */
final class MessageRoutes {
    private static final int LIMIT = 200;
    private static final Duration DEFAULT_SPAN = Duration.ofHours(1);
    private static final int NOT_FOUND = 404;
    private static final Set<String> STATUSES =
            Set.of("pending", "processing", "completed", "dead_letter");

    private final MessageReads messages;
    private final QueueReads queues;
    private final PayloadCipher cipher;
    private final Clock clock;

    MessageRoutes(MessageReads messages, QueueReads queues, PayloadCipher cipher, Clock clock) {
        this.messages = messages;
        this.queues = queues;
        this.cipher = cipher;
        this.clock = clock;
    }

    void addTo(Router.Builder routes) {
        routes.read(Level.READ_ONLY, "/api/v1/messages", this::list)
                .read(Level.READ_ONLY, MessageAddress.ROUTE, this::detail);
    }

    private void list(Exchange exchange) {
        Query query = exchange.query();
        Instant now = clock.now();
        Instant from = AdminQuery.time(query, "from");
        Instant to = AdminQuery.time(query, "to");
        String namespace = AdminQuery.filter(query, "namespace");
        int limit = AdminQuery.number(query, "limit", LIMIT, 1, MessageReads.PAGE_MAX);
        int offset = AdminQuery.number(query, "offset", 0, 0, Integer.MAX_VALUE);
        if (offset > MessageReads.PAGE_MAX - limit) {
            // Clamped it would be the same page again, and whoever pages by offset would not end.
            throw new QueenException(
                    Failure.BAD_REQUEST,
                    "limit and offset must be at most %d together, got %d and %d: go on with after"
                            .formatted(MessageReads.PAGE_MAX, limit, offset));
        }
        Filter filter =
                new Filter(
                        exchange.caller().tenant(),
                        AdminQuery.filter(query, "queue"),
                        AdminQuery.filter(query, "partition"),
                        namespace == null ? AdminQuery.filter(query, "ns") : namespace,
                        AdminQuery.filter(query, "task"),
                        AdminQuery.filter(query, "search"),
                        status(query),
                        from == null ? now.minus(DEFAULT_SPAN) : from,
                        // All of the minute that is named.
                        Objects.requireNonNullElse(to, now)
                                .truncatedTo(ChronoUnit.MINUTES)
                                .plus(1, ChronoUnit.MINUTES),
                        MessageJson.place(AdminQuery.filter(query, "after")),
                        limit + offset);
        exchange.ok(MessageJson.page(messages.list(filter), limit, offset, cipher));
    }

    private static @Nullable String status(Query query) {
        String status = AdminQuery.filter(query, "status");
        if (status != null && !STATUSES.contains(status)) {
            throw new QueenException(
                    Failure.BAD_REQUEST,
                    "status must be pending, processing, completed or dead_letter, got " + status);
        }
        return status;
    }

    private void detail(Exchange exchange) {
        MessageAddress address = MessageAddress.of(exchange);
        UUID tenant = exchange.caller().tenant();
        Optional<Found> found =
                address.lane() == 0
                        ? Optional.empty()
                        : messages.find(
                                tenant,
                                address.lane(),
                                address.transactionId(),
                                offset(exchange.query()));
        MessageReads.Message message = found.map(Found::message).orElse(null);
        if (message == null) {
            exchange.refuse(NOT_FOUND, MessageJson.notFound(address, found.orElse(null)));
            return;
        }
        byte[] payload = message.payload();
        exchange.expectAnswer(payload == null ? 0 : 2L * payload.length);
        exchange.ok(
                MessageJson.detail(
                        message,
                        address.transactionId(),
                        found.get().occurrences(),
                        messages.groups(message),
                        queues.find(tenant, message.queue()).orElse(null),
                        cipher));
    }

    /** Null = not given. */
    private static @Nullable Long offset(Query query) {
        return query.has("offset") ? query.unsigned64("offset", 0) : null;
    }
}
