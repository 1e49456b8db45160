package io.queenmq.db;

import java.sql.SQLException;

/**
 * The connection broke while a statement was under way: whether it committed is unknown until its
 * backend is known to be gone. Always the cause of a refusal {@code OUTCOME_UNKNOWN}.
 */
public final class ConnectionLost extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final transient Backend backend;
    private final SQLException error;

    public ConnectionLost(Backend backend, SQLException error) {
        super(error);
        this.backend = backend;
        this.error = error;
    }

    public Backend backend() {
        return backend;
    }

    SQLException error() {
        return error;
    }
}
