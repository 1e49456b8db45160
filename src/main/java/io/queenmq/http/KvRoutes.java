package io.queenmq.http;

import io.queenmq.access.Level;
import io.queenmq.kv.Kv;
import io.queenmq.kv.KvAnswer;
import io.queenmq.kv.KvOp;
import io.queenmq.kv.KvResult;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.web.Exchange;
import io.queenmq.web.Handler;
import io.queenmq.web.JsonBody;
import io.queenmq.web.JsonBuffer;
import io.queenmq.web.Router;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** {@code /api/v1/kv}: a batch of operations, or one on the key that the path names. */
final class KvRoutes {
    private static final String ONE = "/api/v1/kv/:ns/*key";

    private final Kv kv;

    KvRoutes(Kv kv) {
        this.kv = kv;
    }

    void addTo(Router.Builder routes) {
        routes.route(Level.READ_WRITE, "POST", "/api/v1/kv", refusing(this::batch))
                .read(Level.READ_ONLY, ONE, refusing(this::get))
                .route(Level.READ_WRITE, "PUT", ONE, refusing(this::put))
                .route(Level.READ_WRITE, "DELETE", ONE, refusing(this::delete));
    }

    private void batch(Exchange exchange) {
        List<KvOp> ops = KvJson.read(exchange.body(), kv.limits());
        exchange.ok(KvJson.write(ops, kv.apply(exchange.caller(), ops)));
    }

    private void get(Exchange exchange) {
        refuseQuery(exchange);
        KvOp op = new KvOp.Get(exchange.segment("ns"), exchange.segment("key"));
        KvAnswer answer = kv.apply(exchange.caller(), List.of(op));
        if (answer instanceof KvAnswer.Done(List<KvResult> results)
                && results.getFirst() instanceof KvResult.Got got
                && got.row() != null) {
            exchange.entityTag(got.row().version());
        }
        exchange.ok(KvJson.writeOne(op, answer));
    }

    private void put(Exchange exchange) {
        refuseQuery(exchange);
        KvDraft draft = new KvDraft("", kv.limits().keys());
        read(draft, exchange.body());
        answer(exchange, draft.put(exchange.segment("ns"), exchange.segment("key")));
    }

    private void delete(Exchange exchange) {
        refuseQuery(exchange);
        KvDraft draft = new KvDraft("", kv.limits().keys());
        byte[] body = exchange.body();
        String text = body.length > 16 ? "" : new String(body, StandardCharsets.UTF_8).strip();
        if (body.length > 0 && !text.equals("null")) {
            read(draft, body);
        }
        answer(exchange, draft.delete(exchange.segment("ns"), exchange.segment("key")));
    }

    private void answer(Exchange exchange, KvOp op) {
        exchange.ok(KvJson.writeOne(op, kv.apply(exchange.caller(), List.of(op))));
    }

    private static void read(KvDraft draft, byte[] bytes) {
        try (JsonBody body = new JsonBody(bytes)) {
            draft.readOfPath(body);
            body.end();
        }
    }

    private static void refuseQuery(Exchange exchange) {
        if (exchange.hasQuery()) {
            throw KvDraft.bad("kv_no_query_string", "a key is named by the path alone");
        }
    }

    /** Refusals of these routes have a form of their own. */
    static Handler refusing(Handler handler) {
        return Handler.refusing(handler, KvRoutes::refusal);
    }

    private static JsonBuffer refusal(QueenException e) {
        Refused refused = refused(e);
        JsonBuffer json = new JsonBuffer(128).raw("{\"error\":").string(refused.error());
        if (refused.reason() != null) {
            json.raw(",\"reason\":").string(refused.reason());
        }
        return json.raw(",\"detail\":").string(refused.detail()).raw('}');
    }

    /** What an operator has to do. */
    static final String MISCONFIGURED =
            "the database lacks what this broker needs, or denies it: the broker's log names it;"
                    + " migrate the database, or grant it";

    /** A refusal in the words of these routes. */
    private record Refused(String error, @Nullable String reason, String detail) {}

    private static Refused refused(QueenException e) {
        Failure failure = e.failure();
        return switch (failure) {
            // What has no reason yet comes from reading the body, or the path.
            case BAD_REQUEST ->
                    new Refused(
                            "kv_bad_request",
                            e.reason() == null ? "kv_bad_body" : e.reason(),
                            e.detail());
            case PAYLOAD_TOO_LARGE, BODY_TOO_LARGE ->
                    new Refused("payload_too_large", e.reason(), e.detail());
            case OVERLOADED ->
                    new Refused(
                            "kv_unavailable",
                            e.reason() == null ? "kv_pool_exhausted" : e.reason(),
                            e.detail());
            case BUSY, DEADLINE -> new Refused("kv_unavailable", "kv_timeout", e.detail());
            case DATABASE_AWAY, OUTCOME_UNKNOWN, STOPPING ->
                    new Refused("kv_unavailable", "connection", e.detail());
            case UNAUTHENTICATED,
                    FORBIDDEN,
                    NOT_FOUND,
                    QUEUE_ENCRYPTED,
                    DUPLICATE,
                    ACK_REJECTED,
                    KV_PRECONDITION,
                    RATE_LIMITED,
                    KV_DISABLED,
                    TIMERS_DISABLED,
                    TIMER_HORIZON_EXCEEDED,
                    FEATURE_GATED,
                    KV_QUOTA_EXCEEDED,
                    TIMERS_QUOTA_EXCEEDED ->
                    new Refused(failure.code(), e.reason(), e.detail());
            case INTERNAL ->
                    QueenException.MISCONFIGURED.equals(e.reason())
                            ? new Refused("kv_misconfigured", null, MISCONFIGURED)
                            : new Refused("kv_error", null, "internal error");
        };
    }
}
