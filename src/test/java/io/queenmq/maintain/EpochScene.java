package io.queenmq.maintain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Lines;
import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** A log whose epochs a test moves step by step, and the connections it needs for that. */
final class EpochScene implements AutoCloseable {
    private final TestDatabase database = TestDatabase.migrated();
    private final List<Connection> connections = new ArrayList<>();
    private final Connection connection;
    final LogFixture log;

    EpochScene() throws SQLException {
        connection = connect();
        log = new LogFixture(connection);
    }

    TestDatabase database() {
        return database;
    }

    /** The connection of the log and of the steps. */
    Connection connection() {
        return connection;
    }

    /** Another one; closed with the scene. */
    Connection connect() throws SQLException {
        Connection other = database.connect();
        connections.add(other);
        return other;
    }

    /** Another one with a transaction open on it. */
    Connection begin(int isolation) throws SQLException {
        Connection other = connect();
        other.setTransactionIsolation(isolation);
        other.setAutoCommit(false);
        return other;
    }

    String line(String sql) throws SQLException {
        return Lines.line(connection, sql);
    }

    List<String> lines(String sql) throws SQLException {
        return Lines.lines(connection, sql);
    }

    /** Waits until that is who holds an epoch up: what autovacuum began before is named first. */
    void awaitWaitsFor(int epoch, String who) {
        Await.until(
                "epoch " + epoch + " waits for " + who,
                () ->
                        line("select waits_for from queen.epochs where epoch = " + epoch)
                                .matches(who));
    }

    int openEpoch() throws SQLException {
        return Integer.parseInt(line("select epoch from queen_store.epochs where state = 'open'"));
    }

    /** Builds the next epoch and returns its number. */
    int build() throws SQLException {
        return Integer.parseInt(
                line("select queen_store.build_epoch(" + openEpoch() + ", clock_timestamp())"));
    }

    boolean open() throws SQLException {
        return line("select queen_store.open_epoch(clock_timestamp())").equals("t");
    }

    int seal() throws SQLException {
        return Integer.parseInt(line("select queen_store.seal_epochs()"));
    }

    /** Opens another epoch and seals the one before, which nobody else may hold up. */
    void rotate() throws SQLException {
        build();
        assertTrue(open());
        assertEquals(1, seal());
    }

    /** One step of an evacuation: verdict, lane that is held, rows moved. */
    String evacuate(int epoch, int rows) throws SQLException {
        return evacuate(epoch, "10000, " + rows + ", 1000000, false, clock_timestamp()");
    }

    String evacuate(int epoch, String arguments) throws SQLException {
        return line(
                "select verdict, partition_id, rows from queen_store.evacuate("
                        + epoch
                        + ", "
                        + arguments
                        + ")");
    }

    /** Moves all that is alive out of an epoch, which nobody else may hold up. */
    void evacuateAll(int epoch) throws SQLException {
        String verdict = "moved";
        while (verdict.startsWith("moved")) {
            verdict = evacuate(epoch, 3);
        }
        assertTrue(verdict.startsWith("empty"), verdict);
    }

    /** Epoch and step, or an empty text. */
    String departing() throws SQLException {
        return String.join("", lines("select epoch, step from queen_store.departing_epoch()"));
    }

    /** Takes the empty epoch out of the log and drops it. */
    void depart(int epoch) throws SQLException {
        seal();
        assertEquals(epoch + "|detach", departing());
        detach(epoch, "concurrently");
        assertEquals(epoch + "|drop", departing());
        assertEquals("t", line("select queen_store.drop_epoch(" + epoch + ")"));
    }

    void detach(int epoch, String how) throws SQLException {
        lines(
                "alter table queen_store.segments detach partition queen_store.segments_"
                        + epoch
                        + " "
                        + how);
    }

    /** The epochs that hold segments of a lane, in the order of the offsets. */
    List<String> epochsOf(long lane) throws SQLException {
        return lines(
                "select epoch from queen_store.segments where partition_id = "
                        + lane
                        + " order by base_offset");
    }

    /** Epochs and their states. */
    List<String> states() throws SQLException {
        return lines("select epoch, state from queen_store.epochs order by epoch");
    }

    /** A lane whose log begins at an offset. */
    void expire(long lane, long logStart) throws SQLException {
        log.run(
                "update queen_store.partitions set log_start = ?, oldest_live_at = (select created_at"
                        + " from queen_store.segments where partition_id = ? and base_offset >= ?"
                        + " order by base_offset limit 1) where id = ?",
                logStart,
                lane,
                logStart,
                lane);
    }

    /** What an operator would be shown as a fault. */
    List<String> violations(long lane) throws SQLException {
        return lines(
                "select v.* from queen_store.partitions p join queen_store.queues q on q.id ="
                        + " p.queue_id cross join lateral queen.violations(q.name, p.name) v where"
                        + " p.id = "
                        + lane);
    }

    @Override
    public void close() throws SQLException {
        for (Connection each : connections) {
            each.close();
        }
        database.close();
    }
}
