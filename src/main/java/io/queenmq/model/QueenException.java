package io.queenmq.model;

import org.jspecify.annotations.Nullable;

/** A refusal on its way to the edge: which one, and a sentence for humans. */
public final class QueenException extends RuntimeException {
    /**
     * Reason of an internal failure that no change of the program mends: the database lacks what a
     * statement needs, or does not let the broker use it.
     */
    public static final String MISCONFIGURED = "misconfigured";

    private static final long serialVersionUID = 1L;

    private final Failure failure;
    private final @Nullable String reason;

    public QueenException(Failure failure, String detail) {
        this(failure, null, detail, null);
    }

    public QueenException(Failure failure, String detail, @Nullable Throwable cause) {
        this(failure, null, detail, cause);
    }

    /**
     * One of the several things that a failure may mean.
     *
     * @param reason stable name of it, for clients to branch on
     */
    public QueenException(Failure failure, String reason, String detail) {
        this(failure, reason, detail, null);
    }

    public QueenException(
            Failure failure, @Nullable String reason, String detail, @Nullable Throwable cause) {
        super(detail, cause);
        this.failure = failure;
        this.reason = reason;
    }

    public Failure failure() {
        return failure;
    }

    /** What exactly, where the failure may mean several things; null where it says enough. */
    public @Nullable String reason() {
        return reason;
    }

    /** The sentence for humans: names field, limit and value. */
    public String detail() {
        String message = getMessage();
        return message == null ? failure.code() : message;
    }
}
