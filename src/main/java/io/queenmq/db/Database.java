package io.queenmq.db;

import java.sql.Connection;
import java.sql.SQLException;

/** The pool of connections that the procedures of the data plane run on. */
public final class Database {

    /** One borrowed connection, in autocommit mode. */
    public record Session(Connection connection, Backend backend) {}

    /** What to do with a connection; statements are prepared on the server from their first use. */
    @FunctionalInterface
    public interface Work<T> {
        T run(Session session) throws SQLException;
    }

    /**
     * Runs one autocommit call. Serialization failures, deadlocks and lock timeouts are retried, at
     * most three times.
     *
     * @param statement name for logs and metrics: the procedure's
     * @throws io.queenmq.model.QueenException with the failure that SQL raised; {@code
     *     DATABASE_AWAY} when nothing was sent; {@code OUTCOME_UNKNOWN} with a {@link
     *     ConnectionLost} as cause when the connection broke under way; {@code DEADLINE}, {@code
     *     BUSY} (a lock not had in time), {@code INTERNAL}
     */
    public <T> T call(String statement, Work<T> work) {
        throw new UnsupportedOperationException();
    }
}
