package io.queenmq.http;

import io.queenmq.access.Level;
import io.queenmq.model.Names;
import io.queenmq.model.QueenException;
import io.queenmq.timer.TimerOp;
import io.queenmq.timer.Timers;
import io.queenmq.web.Exchange;
import io.queenmq.web.Handler;
import io.queenmq.web.JsonBuffer;
import io.queenmq.web.Query;
import io.queenmq.web.Router;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** {@code /api/v1/timers}. Its errors have a form of their own. */
final class TimerRoutes {
    private static final int LIST_LIMIT = 100;
    private static final int LIST_LIMIT_MAX = 1_000;
    private static final int PREFIX_BYTES_MAX = 128;

    /** What of a refused call nobody would have refused. */
    private static final String HINT =
            "nothing of the call was done; DELETE /api/v1/timers/:queue/:timerKey cancels a timer"
                    + " whatever is refused";

    private final Timers timers;

    TimerRoutes(Timers timers) {
        this.timers = timers;
    }

    void addTo(Router.Builder routes) {
        routes.route(Level.WRITE_ONLY, "POST", "/api/v1/timers", refusing(counted(this::change)))
                .route(
                        Level.READ_WRITE,
                        "DELETE",
                        "/api/v1/timers/:queue/*timerKey",
                        refusing(this::cancel))
                .read(Level.READ_ONLY, "/api/v1/timers/:queue/*timerKey", refusing(this::peek))
                .read(Level.READ_ONLY, "/api/v1/timers/:queue", refusing(this::list));
    }

    private void change(Exchange exchange) {
        List<TimerDraft> drafts = TimerJson.read(exchange.body(), timers.config());
        try {
            List<TimerOp> ops = TimerJson.operations(drafts, timers.config());
            exchange.ok(TimerJson.write(timers.change(exchange.caller(), ops)));
        } catch (QueenException e) {
            if (drafts.stream().map(TimerDraft::cancels).distinct().count() > 1) {
                exchange.hint("x-queen-timers-hint", HINT);
            }
            throw e;
        }
    }

    private void cancel(Exchange exchange) {
        TimerOp op =
                new TimerOp.Cancel(
                        queue(exchange), timerKey(exchange), exchange.query().text("txn"));
        exchange.ok(TimerJson.write(timers.change(exchange.caller(), List.of(op)).getFirst()));
    }

    private void peek(Exchange exchange) {
        String queue = queue(exchange);
        String timerKey = timerKey(exchange);
        exchange.ok(
                timers.find(exchange.caller().tenant(), queue, timerKey)
                        .map(timer -> TimerJson.write(queue, timer))
                        .orElseGet(() -> TimerJson.missing(queue, timerKey)));
    }

    private void list(Exchange exchange) {
        UUID tenant = exchange.caller().tenant();
        String queue = queue(exchange);
        Query query = exchange.query();
        String mode = query.text("mode");
        switch (mode) {
            case null -> {
                int limit = limit(query.text("limit"));
                String after = query.text("after");
                exchange.ok(
                        TimerJson.write(
                                queue,
                                timers.list(
                                        tenant,
                                        queue,
                                        after == null
                                                ? null
                                                : TimerJson.fit(
                                                        "timers_after_invalid",
                                                        "after",
                                                        after,
                                                        Names.TRANSACTION_ID_BYTES_MAX),
                                        limit + 1),
                                limit));
            }
            case "count" ->
                    exchange.ok(TimerJson.count(timers.count(tenant, queue, prefix(query))));
            default ->
                    throw TimerJson.bad(
                            "timers_read_mode_unknown", "mode must be count, got " + mode);
        }
    }

    private static int limit(@Nullable String text) {
        try {
            return text == null ? LIST_LIMIT : Math.clamp(Long.parseLong(text), 1, LIST_LIMIT_MAX);
        } catch (NumberFormatException e) {
            return LIST_LIMIT;
        }
    }

    private static String prefix(Query query) {
        if (query.has("after") || query.has("limit")) {
            throw TimerJson.bad(
                    "timers_count_page_parameters", "a count takes neither after nor limit");
        }
        String prefix = query.text("prefix");
        if (prefix == null || prefix.isEmpty()) {
            throw TimerJson.bad("timers_count_prefix_required", "a count needs a prefix");
        }
        TimerJson.fit("timers_count_prefix_invalid", "prefix", prefix, Integer.MAX_VALUE);
        return TimerJson.fit("timers_count_prefix_too_long", "prefix", prefix, PREFIX_BYTES_MAX);
    }

    private static String queue(Exchange exchange) {
        return TimerJson.queue("queue", exchange.segment("queue"));
    }

    private static String timerKey(Exchange exchange) {
        return TimerJson.timerKey("timerKey", exchange.segment("timerKey"));
    }

    private Handler counted(Handler handler) {
        return exchange -> {
            try {
                handler.handle(exchange);
            } catch (QueenException e) {
                timers.refused(e.failure());
                throw e;
            }
        };
    }

    private static Handler refusing(Handler handler) {
        return Handler.refusing(handler, TimerRoutes::refusal);
    }

    private static JsonBuffer refusal(QueenException e) {
        return switch (e.failure()) {
            case BAD_REQUEST, NOT_FOUND, DUPLICATE, ACK_REJECTED, KV_PRECONDITION ->
                    body(
                            "timers_bad_request",
                            e.reason() == null ? "timers_bad_request" : e.reason(),
                            e.detail());
            case UNAUTHENTICATED,
                    FORBIDDEN,
                    QUEUE_ENCRYPTED,
                    BODY_TOO_LARGE,
                    TIMERS_DISABLED,
                    KV_DISABLED,
                    RATE_LIMITED,
                    FEATURE_GATED,
                    KV_QUOTA_EXCEEDED,
                    TIMERS_QUOTA_EXCEEDED ->
                    body(
                            e.failure().code(),
                            e.reason() == null ? e.failure().code() : e.reason(),
                            e.detail());
            case PAYLOAD_TOO_LARGE ->
                    body(e.failure().code(), "timers_payload_too_large", e.detail());
            case TIMER_HORIZON_EXCEEDED -> body(e.failure().code(), "timers_horizon", e.detail());
            case OVERLOADED -> body("timers_unavailable", "timers_pool_exhausted", e.detail());
            case DEADLINE, BUSY -> body("timers_unavailable", "timers_timeout", e.detail());
            case DATABASE_AWAY -> body("timers_unavailable", "connection", e.detail());
            case OUTCOME_UNKNOWN, STOPPING ->
                    body("timers_unavailable", e.failure().code(), e.detail());
            case INTERNAL ->
                    QueenException.MISCONFIGURED.equals(e.reason())
                            ? body(
                                    "timers_misconfigured",
                                    QueenException.MISCONFIGURED,
                                    KvRoutes.MISCONFIGURED)
                            : body("timers_error", e.failure().code(), "internal error");
        };
    }

    private static JsonBuffer body(String error, String reason, String detail) {
        return new JsonBuffer(192)
                .raw("{\"error\":")
                .string(error)
                .raw(",\"reason\":")
                .string(reason)
                .raw(",\"detail\":")
                .string(detail)
                .raw('}');
    }
}
