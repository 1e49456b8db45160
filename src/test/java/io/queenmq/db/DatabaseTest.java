package io.queenmq.db;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.queenmq.metrics.Metrics;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.TcpProxy;
import io.queenmq.testkit.TestDatabase;
import java.io.IOException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class DatabaseTest {
    private static final String VERSION = "select current_setting('server_version_num')::integer";
    private static final String TIMEOUT = "'transaction_timeout', '50ms', false";

    private static TestDatabase test;
    private static Metrics metrics;
    private static Database database;

    @BeforeAll
    static void open() {
        test = TestDatabase.migrated();
        metrics = new Metrics();
        database = new Database(test.config(), metrics, Clock.SYSTEM);
    }

    @AfterAll
    static void close() {
        database.close();
        metrics.close();
        test.close();
    }

    private static Object one(Database.Session session, String sql) throws SQLException {
        return TestDatabase.rows(session.connection(), sql).getFirst()[0];
    }

    private static QueenException refusal(Database on, String sql) {
        return assertThrows(
                QueenException.class, () -> on.call("test", session -> one(session, sql)));
    }

    private static String raise(String state, String rest) {
        return "do $$ begin raise exception using errcode = '" + state + "'" + rest + "; end $$";
    }

    @Test
    void setsWhatEveryConnectionNeeds() {
        assertEquals("30s", database.call("test", s -> one(s, "show statement_timeout")));
        assertEquals(
                "read committed",
                database.call("test", s -> one(s, "show default_transaction_isolation")));
        assertEquals("off", database.call("test", s -> one(s, "show jit")));
    }

    @Test
    void givesEveryConnectionANameOfItsOwn() throws SQLException {
        Set<Object> names = new HashSet<>();
        for (int i = 0; i < 3; i++) {
            try (Database.Session session = database.openDedicated()) {
                Object shown = one(session, "show application_name");
                assertEquals(shown, session.backend().applicationName());
                assertTrue(shown.toString().startsWith(database.connector().applicationPrefix()));
                assertEquals(one(session, "select pg_backend_pid()"), session.backend().pid());
                names.add(shown);
            }
        }
        assertEquals(3, names.size());
    }

    @Test
    void turnsARaisedCodeIntoItsFailure() {
        QueenException refusal =
                refusal(
                        database,
                        raise("QN404", ", message = 'not_found', detail = 'no such queue: q'"));
        assertEquals(Failure.NOT_FOUND, refusal.failure());
        assertEquals("no such queue: q", refusal.detail());
    }

    @Test
    void callsAnUnknownErrorInternal() {
        assertEquals(Failure.INTERNAL, refusal(database, "select 1/0").failure());
        assertEquals(
                Failure.INTERNAL,
                refusal(database, raise("QN400", ", message = 'no_such_code'")).failure());
    }

    @Test
    void callsAFullDiskAway() {
        assertEquals(Failure.DATABASE_AWAY, refusal(database, raise("53100", "")).failure());
    }

    @Test
    void runsATransientErrorFourTimesThenSaysBusy() {
        for (String state : new String[] {"40001", "40P01", "55P03"}) {
            AtomicInteger runs = new AtomicInteger();
            QueenException refusal =
                    assertThrows(
                            QueenException.class,
                            () ->
                                    database.call(
                                            "test",
                                            session -> {
                                                runs.incrementAndGet();
                                                return one(session, raise(state, ""));
                                            }));
            assertEquals(Failure.BUSY, refusal.failure());
            assertEquals(4, runs.get());
        }
    }

    @Test
    void succeedsWhenARetryDoes() {
        AtomicInteger runs = new AtomicInteger();
        assertEquals(
                (Object) 2,
                database.call(
                        "test",
                        session ->
                                runs.incrementAndGet() < 2
                                        ? one(session, raise("40P01", ""))
                                        : one(session, "select 2")));
    }

    @Test
    @Contract("error-6")
    void cancelsAStatementOnTheServerAtItsDeadline() throws SQLException {
        try (Database hasty =
                        new Database(
                                test.config().withStatementTimeout(Duration.ofMillis(100)),
                                metrics,
                                Clock.SYSTEM);
                Connection observer = test.connect()) {
            assertEquals(Failure.DEADLINE, refusal(hasty, "select pg_sleep(60)").failure());
            assertEquals(
                    0L,
                    TestDatabase.rows(
                                    observer,
                                    "select count(*) from pg_stat_activity where state = 'active'"
                                            + " and query like '%pg_sleep(60)%' and pid <>"
                                            + " pg_backend_pid()")
                            .getFirst()[0]);
        }
    }

    @Test
    void saysUnknownWhenTheAnswerIsLostAndSettlesByEndingTheBackend() throws Exception {
        try (TcpProxy link = new TcpProxy(test.host(), test.port());
                Database cut =
                        new Database(
                                DatabaseConfig.of(
                                                "127.0.0.1",
                                                link.port(),
                                                test.name(),
                                                test.user(),
                                                "")
                                        .withPoolSize(1),
                                metrics,
                                Clock.SYSTEM);
                Connection holder = test.connect();
                Statement lock = holder.createStatement()) {
            lock.execute("select pg_advisory_lock(7)");
            CompletableFuture<Backend> waiting = new CompletableFuture<>();
            CompletableFuture<QueenException> refused =
                    CompletableFuture.supplyAsync(
                            () ->
                                    assertThrows(
                                            QueenException.class,
                                            () ->
                                                    cut.call(
                                                            "test",
                                                            session -> {
                                                                waiting.complete(session.backend());
                                                                return one(
                                                                        session,
                                                                        "select"
                                                                                + " pg_advisory_lock(7)");
                                                            })));
            Backend backend = waiting.get();
            awaitBlocked(holder, backend);
            link.refuse(true);
            link.cut();
            QueenException refusal = refused.get();
            assertEquals(Failure.OUTCOME_UNKNOWN, refusal.failure());
            ConnectionLost lost = assertInstanceOf(ConnectionLost.class, refusal.getCause());
            assertEquals(backend, lost.backend());

            assertTrue(database.endBackend(backend, Duration.ofSeconds(10)));
            assertEquals(
                    0L,
                    TestDatabase.rows(
                                    holder,
                                    "select count(*) from pg_stat_activity where pid = ?",
                                    backend.pid())
                            .getFirst()[0]);
        }
    }

    @Test
    void whatMayRunTwiceRunsAgainWhenItsConnectionBreaks() throws Exception {
        try (TcpProxy link = new TcpProxy(test.host(), test.port());
                Database cut =
                        new Database(
                                DatabaseConfig.of(
                                                "127.0.0.1",
                                                link.port(),
                                                test.name(),
                                                test.user(),
                                                "")
                                        .withPoolSize(1),
                                metrics,
                                Clock.SYSTEM)) {
            AtomicInteger runs = new AtomicInteger();
            Database.Work<Object> work =
                    session -> {
                        if (runs.incrementAndGet() < 3) {
                            link.cut();
                        }
                        return one(session, "select 7");
                    };
            assertEquals(7, cut.repeatable("test", work));
            assertEquals(3, runs.get());
            runs.set(-2);
            QueenException away =
                    assertThrows(QueenException.class, () -> cut.repeatable("test", work));
            assertEquals(Failure.DATABASE_AWAY, away.failure());
            assertEquals(2, runs.get());
        }
    }

    private static void awaitBlocked(Connection observer, Backend backend) throws SQLException {
        boolean blocked = false;
        while (!blocked) {
            blocked =
                    (Boolean)
                            TestDatabase.rows(
                                            observer,
                                            "select cardinality(pg_blocking_pids(?)) > 0",
                                            backend.pid())
                                    .getFirst()[0];
        }
    }

    @Test
    void endsNoOtherProcessThatHasThePidNow() throws SQLException {
        try (Database.Session other = database.openDedicated()) {
            Backend old = new Backend(other.backend().pid(), "queen-00000000-1");
            assertTrue(database.endBackend(old, Duration.ofSeconds(1)));
            assertEquals(1, one(other, "select 1"));
        }
    }

    /** The state of this one does not say that it ends the connection. */
    @Test
    void saysUnknownWhenTheServerEndsTheConnectionWhateverItsReason() {
        int version = (Integer) database.call("test", s -> one(s, VERSION));
        assumeTrue(version >= 170_000, "transaction_timeout is younger");
        QueenException refusal =
                assertThrows(
                        QueenException.class,
                        () ->
                                database.call(
                                        "test",
                                        session -> {
                                            one(session, "select set_config(" + TIMEOUT + ")");
                                            return one(session, "select pg_sleep(60)");
                                        }));
        assertEquals(Failure.OUTCOME_UNKNOWN, refusal.failure());
    }

    @Test
    void saysAwayWhereNoServerListens() throws IOException {
        TcpProxy gone = new TcpProxy("127.0.0.1", 1);
        gone.close();
        try (Database away =
                new Database(
                        DatabaseConfig.of("127.0.0.1", gone.port(), "x", "x", "")
                                .withBorrowTimeout(Duration.ofMillis(300)),
                        metrics,
                        Clock.SYSTEM)) {
            assertEquals(Failure.DATABASE_AWAY, refusal(away, "select 1").failure());
            assertEquals(Failure.DATABASE_AWAY, refusal(away, "select 1").failure());
        }
    }

    @Test
    @Contract("error-8")
    void saysOverloadedWhenEveryConnectionIsInUse() {
        try (Database small =
                new Database(
                        test.config().withPoolSize(1).withBorrowTimeout(Duration.ofMillis(300)),
                        metrics,
                        Clock.SYSTEM)) {
            small.call(
                    "outer",
                    session -> {
                        assertEquals(Failure.OVERLOADED, refusal(small, "select 1").failure());
                        return 1;
                    });
        }
    }

    @Test
    void replacesEveryConnectionAfterOneShowsAServerThatTakesNoWrites() throws Exception {
        try (Database pool = new Database(test.config().withPoolSize(2), metrics, Clock.SYSTEM)) {
            Backend stale;
            CountDownLatch borrowed = new CountDownLatch(1);
            CountDownLatch release = new CountDownLatch(1);
            CompletableFuture<Backend> other =
                    CompletableFuture.supplyAsync(
                            () ->
                                    pool.call(
                                            "held",
                                            session -> {
                                                borrowed.countDown();
                                                awaitUninterrupted(release);
                                                return session.backend();
                                            }));
            borrowed.await();
            stale = pool.call("test", Database.Session::backend);
            assertEquals(Failure.DATABASE_AWAY, refusal(pool, raise("25006", "")).failure());
            release.countDown();
            Backend heldBefore = other.get();
            for (int i = 0; i < 4; i++) {
                Backend now = pool.call("test", Database.Session::backend);
                assertNotEquals(stale, now);
                assertNotEquals(heldBefore, now);
            }
        }
    }

    private static void awaitUninterrupted(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void serversRestartCostsNoCallerMoreThanOneRefusal() throws SQLException {
        Backend before = database.call("test", Database.Session::backend);
        try (Connection observer = test.connect();
                PreparedStatement kill =
                        observer.prepareStatement(
                                "select pg_terminate_backend(pid, 5000) from pg_stat_activity where"
                                        + " application_name like ?")) {
            kill.setString(1, database.connector().applicationPrefix() + "%");
            try (ResultSet result = kill.executeQuery()) {
                assertTrue(result.next());
            }
        }
        try {
            database.call("test", session -> one(session, "select 1"));
        } catch (QueenException e) {
            assertEquals(Failure.OUTCOME_UNKNOWN, e.failure());
        }
        assertEquals((Object) 1, database.call("test", session -> one(session, "select 1")));
        assertNotEquals(before, database.call("test", Database.Session::backend));
    }

    @Test
    void refusesAfterItsEnd() {
        Database closed = test.pool();
        closed.close();
        assertEquals(Failure.STOPPING, refusal(closed, "select 1").failure());
        assertFalse(test.config().toString().contains("password"));
    }
}
