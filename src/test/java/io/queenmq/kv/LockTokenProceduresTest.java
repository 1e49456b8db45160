package io.queenmq.kv;

import static io.queenmq.testkit.Lines.line;
import static io.queenmq.testkit.Lines.lines;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.postgresql.PGConnection;

/**
 * Tokens of a lock grow from holder to holder, whatever happens in between: a release, an end, the
 * removal of the row, somebody who had it for a moment and took that back.
 */
class LockTokenProceduresTest {
    private static final int WORKERS = 4;
    private static final int TURNS = 80;

    private static TestDatabase database;

    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private Connection one;
    private Connection other;

    @BeforeAll
    static void create() {
        database = TestDatabase.migrated();
    }

    @AfterAll
    static void drop() {
        database.close();
    }

    @BeforeEach
    void open() throws SQLException {
        one = database.connect();
        other = database.connect();
        lines(one, "truncate queen_store.kv");
    }

    @AfterEach
    void close() throws SQLException {
        one.close();
        other.close();
        threads.close();
    }

    private static String acquire(Connection by) throws SQLException {
        return line(
                by,
                "select case when status = 'applied' then version else 0 end"
                        + " from queen.kv_put('queen-locks', 'l#0', '1', 600, 0)");
    }

    private static long held(String token) {
        long number = Long.parseLong(token);
        assertTrue(number > 0, "somebody else has it");
        return number;
    }

    private static String release(Connection by, long token) throws SQLException {
        return line(
                by,
                "select status from queen.kv_delete('queen-locks', 'l#0', %d)".formatted(token));
    }

    private static String end(Connection by, long token) throws SQLException {
        return line(
                by,
                "update queen_store.kv set expires_at = clock_timestamp() where version = "
                        + token
                        + " returning 'applied'");
    }

    /** Removes what has ended, its minute being over. */
    private static String prune(Connection by) throws SQLException {
        return line(
                by, "select queen_store.prune_kv(clock_timestamp() + interval '1 min', 10, null)");
    }

    @Test
    void theNextHolderHasAHigherTokenHoweverTheLastOneLostIt() throws SQLException {
        long first = held(acquire(one));
        assertEquals("0", acquire(other), "it is held");
        assertEquals("0", prune(other));
        assertEquals("applied", release(one, first));
        long second = held(acquire(other));
        assertEquals("applied", end(other, second));
        long third = held(acquire(one));
        assertEquals("applied", release(one, third));
        assertEquals("1", prune(other));
        long fourth = held(acquire(one));
        assertEquals("applied", end(one, fourth));
        assertEquals("1", prune(other));
        long fifth = held(acquire(other));
        assertTrue(first < second && second < third && third < fourth && fourth < fifth);
    }

    @Test
    void whoWaitsForOneThatIsTakenBackHasAHigherToken() throws Exception {
        one.setAutoCommit(false);
        long lost = held(acquire(one));
        Future<String> waiting = threads.submit(() -> acquire(other));
        awaitLock(other);
        one.rollback();
        one.setAutoCommit(true);
        assertTrue(held(waiting.get()) > lost);
    }

    @Test
    void whoWaitsForARowThatIsRemovedHasAHigherToken() throws Exception {
        long released = held(acquire(one));
        assertEquals("applied", release(one, released));
        one.setAutoCommit(false);
        assertEquals("1", prune(one));
        Future<String> waiting = threads.submit(() -> acquire(other));
        awaitLock(other);
        one.commit();
        one.setAutoCommit(true);
        assertTrue(held(waiting.get()) > released);
        assertEquals("0", prune(one), "what is held stays");
    }

    private void awaitLock(Connection by) throws SQLException {
        int pid = by.unwrap(PGConnection.class).getBackendPID();
        try (Connection witness = database.connect()) {
            Await.until(
                    "it waits",
                    () ->
                            line(
                                            witness,
                                            "select count(*) from pg_locks where not granted and"
                                                    + " pid = "
                                                    + pid)
                                    .equals("1"));
        }
    }

    /**
     * Workers acquire, renew, let end and release one lock and remove what is left of it; each
     * notes its token in a row that only a holder writes, in the transaction in which it has the
     * lock.
     */
    @Test
    void tokensOnlyGrow() throws Exception {
        lines(one, "create table seen (at bigserial, token bigint)");
        List<Future<Void>> workers = new ArrayList<>();
        for (int i = 0; i < WORKERS; i++) {
            Random random = new Random(i);
            workers.add(threads.submit(() -> work(random)));
        }
        for (Future<Void> worker : workers) {
            worker.get();
        }
        assertEquals(
                "0|t",
                line(
                        one,
                        "select count(*) filter (where token <= before), count(*) > 0 from (select"
                                + " token, lag(token) over (order by at) as before from seen) s"));
    }

    private static Void work(Random random) throws Exception {
        try (Connection own = database.connect()) {
            for (int turn = 0; turn < TURNS; turn++) {
                own.setAutoCommit(false);
                long token;
                try {
                    token = Long.parseLong(acquire(own));
                } catch (SQLException e) {
                    // The row was removed at this very moment.
                    assertEquals("40001", e.getSQLState(), e.getMessage());
                    own.rollback();
                    own.setAutoCommit(true);
                    continue;
                }
                if (token == 0) {
                    own.commit();
                    own.setAutoCommit(true);
                    continue;
                }
                note(own, token);
                if (random.nextBoolean()) {
                    token =
                            held(
                                    line(
                                            own,
                                            "select version from queen.kv_put('queen-locks', 'l#0',"
                                                    + " '2', 600, %d)".formatted(token)));
                    note(own, token);
                }
                if (random.nextInt(4) == 0) {
                    own.rollback();
                    own.setAutoCommit(true);
                    continue;
                }
                own.commit();
                own.setAutoCommit(true);
                assertEquals(
                        "applied", random.nextBoolean() ? release(own, token) : end(own, token));
                if (random.nextBoolean()) {
                    prune(own);
                }
            }
        }
        return null;
    }

    private static void note(Connection own, long token) throws SQLException {
        line(own, "insert into seen (token) values (" + token + ") returning 1");
    }
}
