package io.queenmq.db;

/** This database cannot be used by this broker; the message says why, for the operator. */
public final class DatabaseRefused extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public DatabaseRefused(String message) {
        super(message);
    }

    public DatabaseRefused(String message, Throwable cause) {
        super(message, cause);
    }
}
