package io.queenmq.model;

/**
 * The only catalogue of refusals. SQL raises SQLSTATE class {@code QN} with the code as message;
 * every edge renders a failure in one exhaustive switch. {@code docs/errors.md} lists them.
 */
public enum Failure {
    /** A field of the request is missing, of the wrong type or out of its range. */
    BAD_REQUEST("bad_request", 400, Retry.NEVER),
    /** There is no token, or none that is taken. */
    UNAUTHENTICATED("unauthenticated", 401, Retry.NEVER),
    /** The roles of the token do not suffice for the route. */
    FORBIDDEN("forbidden", 403, Retry.NEVER),
    /** No such queue, partition, group or message for this tenant. */
    NOT_FOUND("not_found", 404, Retry.NEVER),
    /** The body is longer than the server accepts. */
    BODY_TOO_LARGE("body_too_large", 413, Retry.NEVER),
    /** An encrypted queue cannot take a payload that did not pass a broker. */
    QUEUE_ENCRYPTED("queue_encrypted", 409, Retry.NEVER),
    /** A transaction stores a message that its partition has already; nothing of it took effect. */
    DUPLICATE("duplicate", 409, Retry.NEVER),
    /** A transaction has an ack that cannot be carried out; nothing of it took effect. */
    ACK_REJECTED("ack_rejected", 409, Retry.NEVER),
    /** A key, a value or a payload is longer than it may be. */
    PAYLOAD_TOO_LARGE("payload_too_large", 413, Retry.NEVER),
    /** An operation on a key that must be applied is not; nothing of the call took effect. */
    KV_PRECONDITION("kv_precondition", 409, Retry.NEVER),
    /** A message is scheduled for a time that is too far ahead. */
    TIMER_HORIZON_EXCEEDED("timer_horizon_exceeded", 403, Retry.NEVER),
    /** The tenant may not use keys and timers. */
    FEATURE_GATED("feature_gated", 403, Retry.NEVER),
    /** The tenant has as many keys, or bytes of values, as it may. */
    KV_QUOTA_EXCEEDED("kv_quota_exceeded", 403, Retry.NEVER),
    /** The tenant has as many messages scheduled as it may. */
    TIMERS_QUOTA_EXCEEDED("timers_quota_exceeded", 403, Retry.NEVER),
    /** More work waits than the broker may hold; nothing of this request was stored. */
    OVERLOADED("overloaded", 503, Retry.LATER),
    /** A row this request needs is held by somebody else past the deadline; nothing was stored. */
    BUSY("busy", 503, Retry.LATER),
    /** The database cannot be reached or refuses work; nothing was stored. */
    DATABASE_AWAY("database_away", 503, Retry.LATER),
    /** The answer of a commit was lost: it may or may not have been stored. */
    OUTCOME_UNKNOWN("outcome_unknown", 503, Retry.SAFE),
    /** The statement ran longer than its deadline and was cancelled. */
    DEADLINE("deadline", 503, Retry.LATER),
    /** The tenant makes more calls than it may. */
    RATE_LIMITED("rate_limited", 429, Retry.LATER),
    /** An operator has switched keys off. */
    KV_DISABLED("kv_disabled", 503, Retry.LATER),
    /** An operator has switched new timers off; those that are pending are delivered. */
    TIMERS_DISABLED("timers_disabled", 503, Retry.LATER),
    /** The broker is stopping. */
    STOPPING("stopping", 503, Retry.LATER),
    /** Our own bug. */
    INTERNAL("internal", 500, Retry.NEVER);

    /** Whether, and how, the caller may send the same request again. */
    public enum Retry {
        /** The same request fails again. */
        NEVER,
        /** Sending it again at once is safe if it carries its own ids. */
        SAFE,
        /** Nothing happened; send it again after a pause. */
        LATER
    }

    private final String code;
    private final int status;
    private final Retry retry;

    Failure(String code, int status, Retry retry) {
        this.code = code;
        this.status = status;
        this.retry = retry;
    }

    /** Stable machine-readable name. */
    public String code() {
        return code;
    }

    /** HTTP status. */
    public int status() {
        return status;
    }

    public Retry retry() {
        return retry;
    }
}
