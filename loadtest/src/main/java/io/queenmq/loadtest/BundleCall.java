package io.queenmq.loadtest;

import java.sql.Connection;
import java.sql.SQLException;

/** One statement that stores a bundle, a segment per lane, and commits. */
interface BundleCall extends AutoCloseable {
    /** Makes a call for lanes that stay the same. */
    interface Maker {
        BundleCall make(Connection connection, long[] lanes, int messagesPerLane)
                throws SQLException;
    }

    void store(byte[][] frames) throws SQLException;

    @Override
    void close() throws SQLException;
}
