package io.queenmq.push;

import static io.queenmq.push.AppendCall.messages;
import static io.queenmq.testkit.Lines.line;
import static io.queenmq.testkit.Lines.lines;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.queenmq.push.AppendCall.Verdict;
import io.queenmq.segment.Frame;
import io.queenmq.testkit.Await;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;

/** A queue of its own for every test of append, and connections to it. */
abstract class PushScene {
    static TestDatabase database;
    static int queues;

    Connection first;
    Connection second;
    Connection observer;
    ExecutorService threads;
    int queue;

    @BeforeAll
    static void createDatabase() {
        database = TestDatabase.migrated();
    }

    @AfterAll
    static void dropDatabase() {
        database.close();
    }

    @BeforeEach
    void connect() throws SQLException {
        first = database.connect();
        second = database.connect();
        observer = database.connect();
        threads = Executors.newVirtualThreadPerTaskExecutor();
        queue =
                Integer.parseInt(
                        line(
                                first,
                                "insert into queen_store.queues (tenant_id, name) values"
                                        + " ('00000000-0000-0000-0000-000000000001', 'q"
                                        + ++queues
                                        + "') returning id"));
    }

    @AfterEach
    void disconnect() throws SQLException {
        first.close();
        second.close();
        observer.close();
        threads.close();
    }

    List<String> page(long lane, long from, long to, int seconds, int limit) throws SQLException {
        return lines(
                first,
                "select base_offset, end_offset from queen_store.read_keys("
                        + lane
                        + ", "
                        + from
                        + ", "
                        + to
                        + ", clock_timestamp() - make_interval(secs => "
                        + seconds
                        + "), "
                        + limit
                        + ")");
    }

    Verdict vouching(long lane, long from, long to, List<Frame> messages) throws SQLException {
        return new AppendCall().lane(lane, 9, from, to, null, messages).runAlone(first);
    }

    void refused(AppendCall call) {
        SQLException refusal = assertThrows(SQLException.class, () -> call.run(first));
        assertEquals("QN400", refusal.getSQLState());
    }

    /**
     * Makes the segments up to this offset older, and the lane with them when it holds no others.
     */
    void age(long lane, long upToBase, int seconds) throws SQLException {
        String shift = " - make_interval(secs => " + seconds + ")";
        lines(
                first,
                "update queen_store.segments set created_at = created_at"
                        + shift
                        + " where base_offset <= "
                        + upToBase
                        + " and partition_id = "
                        + lane
                        + "; update queen_store.partitions p set last_created_at = (select"
                        + " max(created_at) from queen_store.segments where partition_id = p.id)"
                        + " where id = "
                        + lane);
    }

    long lane(String name) throws SQLException {
        return Long.parseLong(
                line(
                        first,
                        "insert into queen_store.partitions (queue_id, name) values ("
                                + queue
                                + ", '"
                                + name
                                + "') returning id"));
    }

    String segments(long lane) throws SQLException {
        return line(
                first, "select count(*) from queen_store.segments where partition_id = " + lane);
    }

    static List<String> names(List<Verdict> verdicts) {
        return verdicts.stream().map(Verdict::verdict).toList();
    }

    <T> Future<T> inBackground(Callable<T> task) {
        return threads.submit(task);
    }

    /** Returns once the connection's statement waits for a lock. */
    void awaitBlocked(Connection connection) throws SQLException {
        int pid = connection.unwrap(org.postgresql.PGConnection.class).getBackendPID();
        String blockers = "select cardinality(pg_blocking_pids(" + pid + "))";
        Await.until("a blocked session", () -> !line(observer, blockers).equals("0"));
    }
}
