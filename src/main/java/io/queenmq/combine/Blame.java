package io.queenmq.combine;

import io.queenmq.model.Failure;

/** Whether a call of several failed for a reason that one of them may be. */
final class Blame {
    private Blame() {}

    /** The same where a call ends with the time of the first of several: others may have some. */
    static boolean isOfAll(Failure failure) {
        return failure != Failure.DEADLINE && isNobodys(failure);
    }

    static boolean isNobodys(Failure failure) {
        return switch (failure) {
            case DATABASE_AWAY, OUTCOME_UNKNOWN, DEADLINE, OVERLOADED, STOPPING -> true;
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
                    BUSY,
                    INTERNAL ->
                    false;
        };
    }
}
