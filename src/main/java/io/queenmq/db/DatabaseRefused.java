package io.queenmq.db;

import io.queenmq.runtime.StartRefused;

/** This database cannot be used by this broker; the message says why, for the operator. */
public final class DatabaseRefused extends StartRefused {
    private static final long serialVersionUID = 1L;

    public DatabaseRefused(String message) {
        super(message);
    }

    public DatabaseRefused(String message, Throwable cause) {
        super(message, cause);
    }
}
