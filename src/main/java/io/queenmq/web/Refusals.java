package io.queenmq.web;

import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import java.util.concurrent.ThreadLocalRandom;

/** How a refusal looks over HTTP. Pure. */
final class Refusals {
    private Refusals() {}

    /** Body of a refusal, where a route has none of its own. */
    static JsonBuffer body(QueenException refusal) {
        return body(sentence(refusal));
    }

    static JsonBuffer body(String error) {
        return new JsonBuffer(64).raw("{\"error\":").string(error).raw('}');
    }

    /** The sentence the client gets to read: that of our own bugs stays in the log. */
    private static String sentence(QueenException refusal) {
        return switch (refusal.failure()) {
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
                    OUTCOME_UNKNOWN,
                    DEADLINE,
                    STOPPING ->
                    refusal.detail();
            case INTERNAL -> "internal error";
        };
    }

    /** Seconds after which the client should come again; 0 = coming again does not help. */
    static int retryAfterSeconds(Failure failure) {
        return switch (failure) {
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
                    INTERNAL ->
                    0;
            case BUSY,
                    OUTCOME_UNKNOWN,
                    DEADLINE,
                    RATE_LIMITED,
                    KV_DISABLED,
                    TIMERS_DISABLED,
                    STOPPING ->
                    1;
            // Spread: the refused would otherwise all come back in the same second.
            case OVERLOADED, DATABASE_AWAY -> ThreadLocalRandom.current().nextInt(1, 4);
        };
    }
}
