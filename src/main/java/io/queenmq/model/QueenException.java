package io.queenmq.model;

import org.jspecify.annotations.Nullable;

/** A refusal on its way to the edge: which one, and a sentence for humans. */
public final class QueenException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final Failure failure;

    public QueenException(Failure failure, String detail) {
        this(failure, detail, null);
    }

    public QueenException(Failure failure, String detail, @Nullable Throwable cause) {
        super(detail, cause);
        this.failure = failure;
    }

    public Failure failure() {
        return failure;
    }

    /** The sentence for humans: names field, limit and value. */
    public String detail() {
        String message = getMessage();
        return message == null ? failure.code() : message;
    }
}
