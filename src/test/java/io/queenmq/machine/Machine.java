package io.queenmq.machine;

import java.sql.SQLException;
import java.util.List;

/** Something that does operations and can be looked into; the broker or the model of it. */
interface Machine extends AutoCloseable {
    /** What the operation answered, in the words of the model. */
    List<String> apply(Op op) throws SQLException;

    /** The operation just done, with what the broker chose where the choice was its own. */
    default Op chosen(Op op) {
        return op;
    }

    /** Cursors, leases, groups and dead letters as {@link State#lines} has them. */
    List<String> lines() throws SQLException;

    /** Messages and lanes with work as {@link State#log} has them; adds broken invariants. */
    List<String> log() throws SQLException;

    @Override
    void close() throws SQLException;
}
