package io.queenmq.http;

import io.queenmq.access.Level;
import io.queenmq.kv.Kv;
import io.queenmq.model.Caller;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.timer.TimersConfig;
import io.queenmq.transact.Transact;
import io.queenmq.transact.TransactRequest;
import io.queenmq.web.Exchange;
import io.queenmq.web.JsonBuffer;
import io.queenmq.web.Router;
import java.util.UUID;

/** {@code POST /api/v1/transaction}. */
final class TransactionRoutes {
    private static final int FORBIDDEN = 403;

    private final Transact transact;
    private final Kv.Limits kvLimits;
    private final TimersConfig timerBounds;

    TransactionRoutes(Transact transact, Kv.Limits kvLimits, TimersConfig timerBounds) {
        this.transact = transact;
        this.kvLimits = kvLimits;
        this.timerBounds = timerBounds;
    }

    void addTo(Router.Builder routes) {
        routes.route(Level.READ_WRITE, "POST", "/api/v1/transaction", this::transact);
    }

    private void transact(Exchange exchange) {
        Caller caller = exchange.caller();
        UUID id = transact.newId();
        TransactRequest request;
        try {
            request =
                    TransactionJson.read(
                            exchange.body(), transact.stepsMax(), kvLimits, timerBounds);
        } catch (TransactionJson.Malformed e) {
            exchange.refuse(
                    Failure.BAD_REQUEST,
                    TransactionJson.refusal(id, Failure.BAD_REQUEST.code(), e.sentence()));
            return;
        } catch (QueenException e) {
            if (e.reason() == null) {
                throw e;
            }
            refuse(exchange, id, e);
            return;
        }
        try {
            exchange.ok(TransactionJson.write(id, transact.transact(caller, id, request)));
        } catch (QueenException e) {
            refuse(exchange, id, e);
        }
    }

    /** What the database refuses is an answer of its own; what kept it from being asked is not. */
    private static void refuse(Exchange exchange, UUID id, QueenException refusal) {
        Failure failure = refusal.failure();
        switch (failure) {
            // Whatever it was, nothing took effect, and the same bundle may come again.
            case BUSY, DEADLINE, OVERLOADED, DATABASE_AWAY, STOPPING ->
                    exchange.refuse(
                            failure, TransactionJson.refusal(id, "db_error", refusal.detail()));
            // For as long as it lasts: a bundle that is refused for ever must not come again at
            // once.
            case KV_DISABLED, TIMERS_DISABLED ->
                    exchange.refuse(
                            FORBIDDEN,
                            TransactionJson.refusal(id, failure.code(), refusal.detail()));
            case INTERNAL -> exchange.ok(TransactionJson.refusal(id, "db_error", "internal error"));
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
                    TIMER_HORIZON_EXCEEDED,
                    FEATURE_GATED,
                    KV_QUOTA_EXCEEDED,
                    TIMERS_QUOTA_EXCEEDED,
                    RATE_LIMITED,
                    OUTCOME_UNKNOWN -> {
                String sentence =
                        refusal.reason() == null
                                ? refusal.detail()
                                : refusal.reason() + ": " + refusal.detail();
                JsonBuffer json = TransactionJson.refusal(id, failure.code(), sentence);
                exchange.refuse(failure, json);
            }
        }
    }
}
