package io.queenmq.db;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.queenmq.metrics.Metrics;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import io.queenmq.testkit.Await;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ColdReadsTest {
    /** Waits for whoever holds that lock, so that a test decides how long an answer takes. */
    private static final String WAITING =
            "select ?::bigint as number, pg_advisory_lock_shared(7), pg_advisory_unlock_shared(7)";

    private static TestDatabase database;

    private ColdReads reads;

    @BeforeAll
    static void create() {
        database = TestDatabase.migrated();
    }

    @AfterAll
    static void drop() {
        database.close();
    }

    @BeforeEach
    void open() {
        reads = new ColdReads(database.config(), new Metrics(), Clock.SYSTEM);
    }

    @AfterEach
    void close() {
        reads.close();
    }

    private ColdQuery<Long> waiting() {
        return reads.query("waiting", WAITING, row -> row.column("number").getLong());
    }

    private static CompletableFuture<List<Long>> ask(ColdQuery<Long> query, long number) {
        return CompletableFuture.supplyAsync(
                () -> query.ask(number), task -> Thread.ofVirtual().start(task));
    }

    private static int blocked(Connection connection) throws SQLException {
        return TestDatabase.rows(
                        connection,
                        "select from pg_locks where locktype = 'advisory' and not granted")
                .size();
    }

    @Test
    void parametersAndColumnsOfEveryTypeTravel() {
        Instant at = Instant.parse("2026-07-30T09:00:00.123456Z");
        ColdQuery<Optional<Instant>> query =
                reads.query(
                        "types",
                        "select ?::timestamptz as at union all select null",
                        row -> Optional.ofNullable(ColdQuery.instant(row, "at")));
        assertEquals(
                List.of(Optional.of(at), Optional.empty()), query.ask(at.atOffset(ZoneOffset.UTC)));
        ColdQuery<String> nothing =
                reads.query(
                        "nothing",
                        "select coalesce(?::text, 'none') as text",
                        row -> row.column("text").getString());
        assertEquals(List.of("none"), nothing.ask((Object) null));
    }

    @Test
    void whoAsksTheSameWhileItIsBeingAnsweredSharesTheAnswer() throws Exception {
        ColdQuery<Long> query = waiting();
        try (Connection holder = database.connect()) {
            TestDatabase.rows(holder, "select pg_advisory_lock(7)");
            List<CompletableFuture<List<Long>>> answers = new ArrayList<>();
            // More than may run or wait: were they asked one by one, some would be refused.
            for (int i = 0; i < ColdReads.RUNNING_MAX + ColdReads.WAITING_MAX + 10; i++) {
                answers.add(ask(query, 1));
            }
            Await.until("the question is asked", () -> blocked(holder) == 1);
            CompletableFuture<List<Long>> another = ask(query, 2);
            Await.until("another question is asked", () -> blocked(holder) == 2);
            TestDatabase.rows(holder, "select pg_advisory_unlock(7)");
            for (CompletableFuture<List<Long>> answer : answers) {
                assertEquals(List.of(1L), answer.get());
            }
            assertEquals(List.of(2L), another.get());
        }
        assertEquals(List.of(1L), query.ask(1L), "asked anew afterwards");
    }

    @Test
    void whoFindsNoTurnIsRefused() throws Exception {
        ColdQuery<Long> query = waiting();
        try (Connection holder = database.connect()) {
            TestDatabase.rows(holder, "select pg_advisory_lock(7)");
            List<CompletableFuture<List<Long>>> running = new ArrayList<>();
            for (int i = 0; i < ColdReads.RUNNING_MAX; i++) {
                running.add(ask(query, i));
            }
            Await.until("all turns are taken", () -> blocked(holder) == ColdReads.RUNNING_MAX);
            ExecutionException refused =
                    assertThrows(ExecutionException.class, () -> ask(query, 99).get());
            QueenException cause = assertInstanceOf(QueenException.class, refused.getCause());
            assertEquals(Failure.OVERLOADED, cause.failure());
            TestDatabase.rows(holder, "select pg_advisory_unlock(7)");
            for (CompletableFuture<List<Long>> answer : running) {
                answer.get();
            }
        }
        assertEquals(List.of(5L), query.ask(5L));
    }

    @Test
    void aFailureIsARefusalAndGivesTheConnectionBack() {
        ColdQuery<Long> broken =
                reads.query(
                        "broken",
                        "select 1::bigint as number from queen_store.require_number('n', ?::bigint,"
                                + " 1, 9)",
                        row -> row.column("number").getLong());
        // More often than there are connections.
        for (int i = 0; i < 3 * ColdReads.RUNNING_MAX; i++) {
            QueenException failure = assertThrows(QueenException.class, () -> broken.ask(0L));
            assertEquals(Failure.BAD_REQUEST, failure.failure());
        }
        assertEquals(List.of(1L), broken.ask(1L));
    }

    @Test
    void aConnectionThatEndsCostsOneAnswer() throws SQLException {
        ColdQuery<Long> suicide =
                reads.query(
                        "suicide",
                        "select pg_terminate_backend(pg_backend_pid()), ?::bigint as number",
                        row -> row.column("number").getLong());
        QueenException failure = assertThrows(QueenException.class, () -> suicide.ask(1L));
        assertEquals(Failure.DATABASE_AWAY, failure.failure());
        ColdQuery<Long> one =
                reads.query(
                        "one", "select ?::bigint as number", row -> row.column("number").getLong());
        assertEquals(List.of(3L), one.ask(3L));
    }
}
