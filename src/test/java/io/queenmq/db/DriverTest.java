package io.queenmq.db;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.TcpProxy;
import io.queenmq.testkit.TestDatabase;
import java.io.IOException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Properties;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.postgresql.PGConnection;

/**
 * What the hot path expects of the PostgreSQL driver. Goal: an upgrade that takes any of it away
 * fails here and not in production. Method: a proxy on the link counts the round trips.
 */
class DriverTest {
    private static TestDatabase database;
    private static TcpProxy link;

    @BeforeAll
    static void open() throws IOException {
        database = TestDatabase.migrated();
        link = new TcpProxy(database.host(), database.port());
    }

    @AfterAll
    static void close() throws IOException {
        link.close();
        database.close();
    }

    private static Connection connect() throws SQLException {
        Properties properties = new Properties();
        properties.setProperty("user", database.user());
        properties.setProperty("prepareThreshold", "1");
        return DriverManager.getConnection(
                "jdbc:postgresql://127.0.0.1:" + link.port() + "/" + database.name(), properties);
    }

    @Test
    void carriesArraysOfBigintIntAndByteaBothWays() throws SQLException {
        byte[][] blobs = {{0, 1, -1}, {}, {127, -128}};
        try (Connection connection = connect();
                PreparedStatement statement =
                        connection.prepareStatement(
                                "select ?::int8[], ?::int4[], ?::bytea[], ?::bytea")) {
            for (int round = 0; round < 3; round++) {
                statement.setArray(
                        1, arrays(connection).createArrayOf("int8", new long[] {1L << 40, -2, 0}));
                statement.setArray(2, arrays(connection).createArrayOf("int4", new int[] {7, -8}));
                statement.setArray(3, connection.createArrayOf("bytea", blobs));
                statement.setBytes(4, blobs[0]);
                try (ResultSet result = statement.executeQuery()) {
                    result.next();
                    assertArrayEquals(
                            new Long[] {1L << 40, -2L, 0L},
                            (Object[]) result.getArray(1).getArray());
                    assertArrayEquals(
                            new Integer[] {7, -8}, (Object[]) result.getArray(2).getArray());
                    assertArrayEquals(blobs, (byte[][]) result.getArray(3).getArray());
                    assertArrayEquals(blobs[0], result.getBytes(4));
                }
            }
        }
    }

    @Test
    void sendsAndReceivesByteaArraysInBinary() throws SQLException {
        byte[][] blobs = {new byte[100_000], new byte[100_000]};
        try (Connection connection = connect();
                PreparedStatement statement = connection.prepareStatement("select ?::bytea[]")) {
            long before = 0;
            // The first answer may still be text: its types are not known yet.
            for (int round = 0; round < 2; round++) {
                before = link.bytes();
                statement.setArray(1, connection.createArrayOf("bytea", blobs));
                try (ResultSet result = statement.executeQuery()) {
                    result.next();
                    assertArrayEquals(blobs, (byte[][]) result.getArray(1).getArray());
                }
            }
            // As text each byte would be two characters.
            assertTrue(link.bytes() - before < 410_000, () -> "bytes " + link.bytes());
        }
    }

    @Test
    void makesOneRoundTripPerAutocommitCall() throws SQLException {
        try (Connection connection = connect()) {
            call(connection, 1);
            call(connection, 1);
            int before = link.roundTrips();
            for (int i = 0; i < 10; i++) {
                call(connection, i);
            }
            assertEquals(10, link.roundTrips() - before);
        }
    }

    @Test
    void preparesOnTheServerFromTheFirstUse() throws SQLException {
        try (Connection connection = connect()) {
            call(connection, 1);
            assertEquals(
                    1L,
                    TestDatabase.rows(
                                    connection,
                                    "select count(*) from pg_prepared_statements where statement"
                                            + " like '%sum(i)%' and statement not like"
                                            + " '%pg_prepared%'")
                            .getFirst()[0]);
        }
    }

    /** Only the driver's own interface takes primitive arrays. */
    private static PGConnection arrays(Connection connection) throws SQLException {
        return connection.unwrap(PGConnection.class);
    }

    private static void call(Connection connection, int value) throws SQLException {
        try (PreparedStatement statement =
                connection.prepareStatement("select sum(i) from unnest(?::int8[]) i")) {
            statement.setArray(1, arrays(connection).createArrayOf("int8", new long[] {value, 2}));
            try (ResultSet result = statement.executeQuery()) {
                result.next();
                assertEquals(value + 2L, result.getLong(1));
            }
        }
    }
}
