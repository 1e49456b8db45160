package io.queenmq.loadtest;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import org.postgresql.PGConnection;

/** The same bytes in a heap without an index: what PostgreSQL takes at all. */
final class RawInsert implements BundleCall {
    private final PGConnection arrays;
    private final PreparedStatement statement;

    RawInsert(Connection connection, long[] lanes) throws SQLException {
        try (Statement create = connection.createStatement()) {
            create.execute(
                    """
                    create table if not exists public.raw_segments
                        (lane bigint, base bigint, created_at timestamptz, frames bytea);
                    alter table public.raw_segments alter column frames set storage external
                    """);
        }
        this.arrays = connection.unwrap(PGConnection.class);
        this.statement =
                connection.prepareStatement(
                        """
                        insert into public.raw_segments
                        select i.lane, 0, clock_timestamp(), i.frames
                        from unnest(?, ?) as i(lane, frames)
                        """);
        statement.setArray(1, arrays.createArrayOf("int8", lanes));
    }

    @Override
    public void store(byte[][] frames) throws SQLException {
        statement.setArray(2, arrays.createArrayOf("bytea", frames));
        statement.executeUpdate();
    }

    @Override
    public void close() throws SQLException {
        statement.close();
    }
}
