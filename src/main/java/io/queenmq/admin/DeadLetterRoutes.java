package io.queenmq.admin;

import io.queenmq.access.Level;
import io.queenmq.ack.DeadLetterFilter;
import io.queenmq.ack.DeadLetters;
import io.queenmq.ack.Replay;
import io.queenmq.cipher.PayloadCipher;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.web.Exchange;
import io.queenmq.web.Query;
import io.queenmq.web.Router;
import java.util.UUID;
import java.util.function.Supplier;

/** {@code /api/v1/dlq} and the dead letters behind {@code /api/v1/messages}. */
final class DeadLetterRoutes {
    private static final int LIMIT = 100;
    private static final int LIMIT_MAX = 1_000;
    private static final int OFFSET_MAX = 1_000_000;
    private static final int BAD_REQUEST = 400;
    private static final int NOT_FOUND = 404;
    private static final int SERVER_ERROR = 500;

    private final DeadLetters letters;
    private final PayloadCipher cipher;

    DeadLetterRoutes(DeadLetters letters, PayloadCipher cipher) {
        this.letters = letters;
        this.cipher = cipher;
    }

    void addTo(Router.Builder routes) {
        routes.read(Level.READ_ONLY, "/api/v1/dlq", this::list)
                .manage(Level.ADMIN, "DELETE", "/api/v1/dlq", this::deleteAll)
                .manage(Level.READ_WRITE, "POST", "/api/v1/dlq/replay", this::replayAll)
                .manage(Level.READ_WRITE, "POST", "/api/v1/dlq/:id/replay", this::replay)
                .manage(Level.READ_WRITE, "DELETE", MessageAddress.ROUTE, this::delete)
                .manage(Level.READ_WRITE, "POST", MessageAddress.ROUTE + "/retry", this::retry);
    }

    private void list(Exchange exchange) {
        Query query = exchange.query();
        DeadLetterJson.After after = DeadLetterJson.after(AdminQuery.filter(query, "after"));
        int offset = AdminQuery.offset(query, "offset", OFFSET_MAX);
        DeadLetterFilter filter =
                new DeadLetterFilter(
                        exchange.caller().tenant(),
                        AdminQuery.filter(query, "queue"),
                        AdminQuery.filter(query, "consumerGroup"),
                        AdminQuery.filter(query, "partition"),
                        AdminQuery.time(query, "from"),
                        AdminQuery.time(query, "to"),
                        AdminQuery.filter(query, "search"),
                        after.place(),
                        AdminQuery.number(query, "limit", LIMIT, 1, LIMIT_MAX),
                        offset + after.offset());
        exchange.ok(DeadLetterJson.page(filter.limit(), offset, letters.list(filter), cipher));
    }

    private void deleteAll(Exchange exchange) {
        String queue = AdminQuery.filter(exchange.query(), "queue");
        if (queue == null) {
            throw new QueenException(Failure.BAD_REQUEST, "queue is required");
        }
        String group = AdminQuery.filter(exchange.query(), "consumerGroup");
        long deleted = letters.deleteAll(exchange.caller().tenant(), queue, group, exchange::done);
        exchange.ok(DeadLetterJson.deleted(queue, group, deleted));
    }

    private void delete(Exchange exchange) {
        MessageAddress address = MessageAddress.of(exchange);
        boolean deleted =
                address.lane() > 0
                        && letters.delete(
                                exchange.caller().tenant(),
                                address.lane(),
                                address.transactionId());
        if (deleted) {
            exchange.ok(DeadLetterJson.deleted(address.partitionId(), address.transactionId()));
        } else {
            notFound(exchange, address);
        }
    }

    private void retry(Exchange exchange) {
        MessageAddress address = MessageAddress.of(exchange);
        UUID tenant = exchange.caller().tenant();
        long id;
        try {
            id =
                    address.lane() > 0
                            ? letters.newest(tenant, address.lane(), address.transactionId())
                            : 0;
        } catch (QueenException e) {
            if (isOfTheMove(e)) {
                exchange.refuse(SERVER_ERROR, DeadLetterJson.notLookedUp(e));
            } else {
                exchange.refuse(e.failure(), DeadLetterJson.notLookedUp(e));
            }
            return;
        }
        answer(
                exchange,
                () -> id > 0 ? letters.replay(tenant, id, null, null) : new Replay.Gone(),
                () -> notFound(exchange, address));
    }

    private void replay(Exchange exchange) {
        String text = exchange.segment("id");
        DeadLetterJson.Destination to;
        try {
            to = DeadLetterJson.destination(exchange.body());
        } catch (QueenException e) {
            exchange.refuse(BAD_REQUEST, DeadLetterJson.failed(e.detail(), e.detail()));
            return;
        }
        UUID tenant = exchange.caller().tenant();
        long id = id(text);
        answer(
                exchange,
                () ->
                        id > 0
                                ? letters.replay(tenant, id, to.queue(), to.partition())
                                : new Replay.Gone(),
                () -> exchange.refuse(NOT_FOUND, DeadLetterJson.gone(text)));
    }

    private void replayAll(Exchange exchange) {
        DeadLetterJson.Bulk bulk = DeadLetterJson.bulk(exchange.body());
        DeadLetters.Replayed replayed =
                letters.replayAll(
                        exchange.caller().tenant(),
                        bulk.queue(),
                        bulk.group(),
                        bulk.after(),
                        bulk.limit());
        exchange.done(replayed.moved());
        exchange.ok(DeadLetterJson.replayed(bulk, replayed));
    }

    private static void answer(Exchange exchange, Supplier<Replay> replay, Runnable gone) {
        Replay result;
        try {
            result = replay.get();
        } catch (QueenException e) {
            if (!isOfTheMove(e)) {
                throw e;
            }
            exchange.refuse(SERVER_ERROR, DeadLetterJson.unmoved(e));
            return;
        }
        switch (result) {
            case Replay.Moved moved -> exchange.ok(DeadLetterJson.moved(moved));
            case Replay.Duplicate duplicate -> exchange.ok(DeadLetterJson.duplicate(duplicate));
            case Replay.Gone() -> gone.run();
            case Replay.Expired _ ->
                    exchange.refuse(
                            BAD_REQUEST,
                            DeadLetterJson.failed(
                                    "Payload expired",
                                    "its payload had expired before it was given up: there is"
                                            + " nothing to replay"));
            case Replay.NoPartition _ ->
                    exchange.refuse(
                            BAD_REQUEST,
                            DeadLetterJson.failed(
                                    "Partition not found",
                                    "its partition has been cleaned up: name one to replay it"
                                            + " to"));
        }
    }

    /** What the database said of the move itself has a shape of its own; the rest is overload. */
    private static boolean isOfTheMove(QueenException failure) {
        return switch (failure.failure()) {
            case OUTCOME_UNKNOWN, INTERNAL, DEADLINE -> true;
            case BAD_REQUEST,
                    UNAUTHENTICATED,
                    FORBIDDEN,
                    NOT_FOUND,
                    BODY_TOO_LARGE,
                    QUEUE_ENCRYPTED,
                    DUPLICATE,
                    ACK_REJECTED,
                    PAYLOAD_TOO_LARGE,
                    KV_PRECONDITION,
                    RATE_LIMITED,
                    KV_DISABLED,
                    TIMERS_DISABLED,
                    TIMER_HORIZON_EXCEEDED,
                    FEATURE_GATED,
                    KV_QUOTA_EXCEEDED,
                    TIMERS_QUOTA_EXCEEDED,
                    OVERLOADED,
                    BUSY,
                    DATABASE_AWAY,
                    STOPPING ->
                    false;
        };
    }

    private static void notFound(Exchange exchange, MessageAddress address) {
        exchange.refuse(
                NOT_FOUND, DeadLetterJson.notFound(address.partitionId(), address.transactionId()));
    }

    /** The number that a text names; 0 = none. */
    private static long id(String text) {
        try {
            return Math.max(0, Long.parseLong(text));
        } catch (NumberFormatException e) {
            return 0;
        }
    }
}
