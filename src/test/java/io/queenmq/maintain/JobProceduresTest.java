package io.queenmq.maintain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class JobProceduresTest {
    private static final UUID FIRST = UUID.fromString("00000000-0000-4000-8000-000000000001");
    private static final UUID SECOND = UUID.fromString("00000000-0000-4000-8000-000000000002");

    private final TestDatabase database = TestDatabase.migrated();
    private Connection connection;

    @BeforeEach
    void connect() throws SQLException {
        connection = database.connect();
        value("select queen_store.register_jobs(array['j', 'k'], array[10000, 10000])");
    }

    @AfterEach
    void close() throws SQLException {
        connection.close();
        database.close();
    }

    private @Nullable Object value(String sql, @Nullable Object... args) throws SQLException {
        return TestDatabase.rows(connection, sql, args).getFirst()[0];
    }

    private @Nullable Object claim(UUID holder) throws SQLException {
        return value("select queen_store.claim_job('j', ?, 60000)", holder);
    }

    private @Nullable Object release(UUID holder, long fence, boolean more, @Nullable String error)
            throws SQLException {
        return value(
                "select queen_store.release_job('j', ?, ?, 3, ?, ?)", holder, fence, more, error);
    }

    private @Nullable Object column(String expression) throws SQLException {
        return value("select " + expression + " from queen_store.jobs where name = 'j'");
    }

    @Test
    void aClaimIsGrantedOnceUntilItIsGivenBackAndThePeriodIsOver() throws SQLException {
        assertEquals(1L, claim(FIRST));
        assertNull(claim(SECOND));
        assertNull(claim(FIRST), "not to the holder either: it knows what it holds");
        assertEquals(true, release(FIRST, 1, false, null));
        assertNull(claim(SECOND));
        assertEquals(true, column("next_due_at = last_started_at + interval '10 seconds'"));
        value("update queen_store.jobs set next_due_at = clock_timestamp() returning 1");
        assertEquals(2L, claim(SECOND));
    }

    @Test
    void whatIsLeftOrFailedStaysDue() throws SQLException {
        claim(FIRST);
        release(FIRST, 1, true, null);
        assertEquals(2L, claim(SECOND));
        release(SECOND, 2, false, "it broke");
        assertEquals("it broke", column("last_error"));
        assertEquals(1L, column("failures"));
        assertEquals(3L, claim(FIRST));
        release(FIRST, 3, false, null);
        assertNull(column("last_error"));
        assertEquals(3L, column("runs"));
        assertEquals(3, column("last_steps"));
    }

    @Test
    void aHolderThatWasOvertakenChangesNothing() throws SQLException {
        claim(FIRST);
        value("update queen_store.jobs set lease_until = clock_timestamp() returning 1");
        assertEquals(2L, claim(SECOND));
        Object row = value("select j::text from queen_store.jobs j where name = 'j'");
        assertEquals(false, value("select queen_store.keep_job('j', ?, 1, 60000)", FIRST));
        assertEquals(false, release(FIRST, 1, false, "too late"));
        assertEquals(false, release(SECOND, 1, false, "an older fence"));
        assertEquals(row, value("select j::text from queen_store.jobs j where name = 'j'"));
        assertEquals(true, value("select queen_store.keep_job('j', ?, 2, 60000)", SECOND));
        assertEquals(true, release(SECOND, 2, false, null));
        assertEquals(false, release(SECOND, 2, false, "twice"));
    }

    @Test
    void theWaitIsForTheDueTimeOrTheEndOfALease() throws SQLException {
        assertEquals(0L, value("select wait_ms from queen_store.job_waits(array['j'])"));
        claim(FIRST);
        assertEquals(
                true,
                value(
                        "select wait_ms between 50000 and 60000"
                                + " from queen_store.job_waits(array['j'])"));
        release(FIRST, 1, false, null);
        assertEquals(
                true,
                value(
                        "select wait_ms between 1 and 10000"
                                + " from queen_store.job_waits(array['j'])"));
        value("update queen_store.jobs set enabled = false returning 1");
        assertNull(value("select wait_ms from queen_store.job_waits(array['j'])"));
        assertEquals(
                2L, value("select count(*) from queen_store.job_waits(array['j', 'k', 'none'])"));
    }

    @Test
    void theBrokerThatStartedLastSetsThePeriodAndPausesOrResumesNothing() throws SQLException {
        value(
                "update queen_store.jobs set enabled = false, next_due_at ="
                        + " clock_timestamp() + interval '1 hour' returning 1");
        Object before = column("xmin::text");
        value("select queen_store.register_jobs(array['j'], array[10000])");
        assertEquals(before, column("xmin::text"), "nothing to change");

        value("select queen_store.register_jobs(array['j'], array[2000])");
        assertEquals(2000, column("period_ms"));
        assertEquals(false, column("enabled"));
        assertEquals(true, column("next_due_at <= clock_timestamp() + interval '2 seconds'"));
    }

    @Test
    void aClaimWaitsForTheOneUnderWayAndThenSeesIt() throws SQLException {
        try (Connection other = database.connect()) {
            other.setAutoCommit(false);
            TestDatabase.rows(other, "select queen_store.claim_job('j', ?, 60000)", FIRST);
            try (java.util.concurrent.ExecutorService threads =
                    java.util.concurrent.Executors.newVirtualThreadPerTaskExecutor()) {
                var late = threads.submit(() -> claim(SECOND));
                io.queenmq.testkit.Await.until(
                        "the second claim to wait",
                        () ->
                                Long.valueOf(1)
                                        .equals(
                                                TestDatabase.rows(
                                                                other,
                                                                "select count(*) from pg_locks"
                                                                        + " where not granted")
                                                        .getFirst()[0]));
                other.commit();
                assertNull(late.get());
            } catch (InterruptedException | java.util.concurrent.ExecutionException e) {
                throw new AssertionError(e);
            }
        }
    }
}
