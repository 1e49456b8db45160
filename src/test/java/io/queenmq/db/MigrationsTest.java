package io.queenmq.db;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.db.Migrations.Bounds;
import io.queenmq.db.Migrations.Outcome;
import io.queenmq.runtime.Clock;
import io.queenmq.testkit.Await;
import io.queenmq.testkit.TestDatabase;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** One test per trap of migrating a database that other brokers use. */
class MigrationsTest {
    private static final Bounds IMPATIENT =
            new Bounds(Duration.ofMillis(50), Duration.ofMillis(200), Duration.ofMillis(200));
    private static final String CORPUS_TABLE =
            "create table queen_store.corpus (only_row boolean primary key default true, number"
                    + " integer not null, compatible_from integer not null, applied_at timestamptz"
                    + " not null default clock_timestamp(), applied_by text not null);"
                    + " create table queen_store.things (id integer);";

    @TempDir private Path folder;
    private TestDatabase database;
    private Connection connection;

    @BeforeEach
    void open() throws SQLException {
        database = TestDatabase.empty();
        connection = database.connect();
    }

    @AfterEach
    void close() throws SQLException {
        connection.close();
        database.close();
    }

    private Migrations bundled(Bounds bounds) {
        return new Migrations(database.config(), Clock.SYSTEM, Corpus.bundled(), bounds);
    }

    /** A corpus of files in a folder of its own: name, content, name, content … */
    private Migrations corpus(int number, Bounds bounds, String... files) throws IOException {
        Path home = Files.createDirectory(folder.resolve("corpus-" + number));
        Files.writeString(home.resolve("V001__core.sql"), CORPUS_TABLE);
        for (int i = 0; i < files.length; i += 2) {
            Files.writeString(home.resolve(files[i]), files[i + 1]);
        }
        return new Migrations(
                database.config(),
                Clock.SYSTEM,
                new Corpus(number, List.of("filesystem:" + home)),
                bounds);
    }

    private static String answering(int value) {
        return "create or replace function queen_store.answer() returns integer language sql as"
                + " 'select "
                + value
                + "';";
    }

    private @Nullable Object one(String sql) throws SQLException {
        return TestDatabase.rows(connection, sql).getFirst()[0];
    }

    private static String refusal(Migrations migrations) {
        return String.valueOf(assertThrows(DatabaseRefused.class, migrations::apply).getMessage());
    }

    private void execute(String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    @Test
    void startsWithOneOpenEpoch() throws SQLException {
        assertEquals(Outcome.MIGRATED, bundled(Bounds.DEFAULT).apply());
        assertEquals(1, one("select epoch from queen_store.epochs where state = 'open'"));
        assertEquals(
                Corpus.bundled().number(),
                one("select number from queen_store.corpus where only_row"));
    }

    @Test
    void fiveBrokersThatBootAtOnceMigrateOnce() throws Exception {
        // The index is built concurrently: it would wait for any peer that waits in a transaction.
        List<Migrations> brokers = new ArrayList<>();
        Migrations one =
                corpus(
                        2,
                        Bounds.DEFAULT,
                        "V002__index.sql",
                        "create index concurrently things_id_idx on queen_store.things (id);",
                        "R__answer.sql",
                        answering(2));
        for (int i = 0; i < 5; i++) {
            brokers.add(one);
        }
        List<Outcome> outcomes = new ArrayList<>();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Callable<Outcome>> boots = new ArrayList<>();
            brokers.forEach(broker -> boots.add(broker::apply));
            for (Future<Outcome> boot : threads.invokeAll(boots)) {
                outcomes.add(boot.get());
            }
        }
        assertEquals(1, outcomes.stream().filter(o -> o == Outcome.MIGRATED).count());
        assertEquals(4, outcomes.stream().filter(o -> o == Outcome.UP_TO_DATE).count());
        assertEquals(
                true,
                one(
                        "select indisvalid from pg_index where indexrelid ="
                                + " 'queen_store.things_id_idx'::regclass"));
        assertEquals(3L, one("select count(*) from queen_store.schema_history where success"));
    }

    @Test
    void secondBootAsksForNoLockThatTrafficHolds() throws SQLException {
        bundled(Bounds.DEFAULT).apply();
        execute("begin; lock table queen_store.partitions, queen_store.segments in exclusive mode");
        assertEquals(Outcome.UP_TO_DATE, bundled(IMPATIENT).apply());
        execute("rollback");
    }

    @Test
    void olderBrokerDoesNotPutItsFunctionsBack() throws Exception {
        Migrations older = corpus(1, IMPATIENT, "R__answer.sql", answering(1));
        Migrations newer = corpus(2, IMPATIENT, "R__answer.sql", answering(2));
        older.apply();
        assertEquals(Outcome.MIGRATED, newer.apply());
        assertEquals(Outcome.AHEAD, older.apply());
        assertEquals(2, one("select queen_store.answer()"));
        assertEquals(Outcome.UP_TO_DATE, newer.apply());
    }

    @Test
    void refusesADatabaseThatDroppedWhatThisBrokerNeeds() throws Exception {
        Migrations older = corpus(1, IMPATIENT);
        Migrations newer =
                corpus(
                        3,
                        IMPATIENT,
                        "V002__drop.sql",
                        "update queen_store.corpus set compatible_from = 2;");
        older.apply();
        newer.apply();
        String message = refusal(older);
        assertTrue(message.contains("from corpus 2 on"), message);
        assertTrue(message.contains("this broker has corpus 1"), message);
    }

    @Test
    void droppedFunctionStaysGoneUntilItsRevisionRises() throws Exception {
        corpus(1, IMPATIENT, "R__answer.sql", answering(1)).apply();
        String drop = "drop function queen_store.answer();";
        corpus(2, IMPATIENT, "R__answer.sql", answering(1), "V002__drop.sql", drop).apply();
        assertEquals(null, one("select to_regproc('queen_store.answer')"));
        corpus(
                        3,
                        IMPATIENT,
                        "R__answer.sql",
                        "-- revision: 2\n" + answering(1),
                        "V002__drop.sql",
                        drop)
                .apply();
        assertEquals(1, one("select queen_store.answer()"));
    }

    @Test
    void namesWhoHoldsTheLockItWaitedFor() throws Exception {
        corpus(1, IMPATIENT).apply();
        execute("set application_name = 'nightly report'");
        execute("begin; select * from queen_store.things");
        Migrations blocked =
                corpus(
                        2,
                        new Bounds(
                                Duration.ofMillis(500),
                                Duration.ofSeconds(1),
                                Duration.ofSeconds(1)),
                        "V002__column.sql",
                        "alter table queen_store.things add column note text;");
        String message = refusal(blocked);
        execute("rollback");
        assertTrue(
                message.contains("application=nightly report state=idle in transaction"), message);
        assertEquals(1, one("select number from queen_store.corpus"));
    }

    @Test
    void triesAgainUntilTheLockIsFree() throws Exception {
        corpus(1, IMPATIENT).apply();
        execute("begin; select * from queen_store.things");
        Migrations patient =
                corpus(
                        2,
                        new Bounds(
                                Duration.ofMillis(50),
                                Duration.ofMinutes(1),
                                Duration.ofSeconds(1)),
                        "V002__column.sql",
                        "alter table queen_store.things add column note text;");
        CompletableFuture<Outcome> outcome = CompletableFuture.supplyAsync(patient::apply);
        // pg_locks is live even inside a transaction, pg_stat_activity is not.
        String waiting =
                "select exists (select from pg_locks where not granted and relation ="
                        + " 'queen_store.things'::regclass)";
        Await.until("the migration to wait", () -> Boolean.TRUE.equals(one(waiting)));
        execute("rollback");
        assertEquals(Outcome.MIGRATED, outcome.get());
        assertEquals(2, one("select number from queen_store.corpus"));
    }

    @Test
    void refusesAnEncodingThatCannotHoldEveryName() throws SQLException {
        String ascii = database.name() + "_ascii";
        execute("create database " + ascii + " encoding 'SQL_ASCII' template template0");
        DatabaseConfig config =
                DatabaseConfig.of(database.host(), database.port(), ascii, database.user(), "");
        try {
            Migrations migrations = new Migrations(config, Clock.SYSTEM);
            String message = refusal(migrations);
            assertTrue(message.contains("has the encoding SQL_ASCII: Queen needs UTF8"), message);
        } finally {
            execute("drop database " + ascii);
        }
    }

    @Test
    void refusesAtOnceWhatWaitingCannotCure() {
        DatabaseConfig nowhere =
                DatabaseConfig.of(database.host(), database.port(), "nowhere", database.user(), "");
        String message = refusal(new Migrations(nowhere, Clock.SYSTEM));
        assertTrue(message.contains("\"nowhere\" does not exist"), message);
    }

    @Test
    void whoMayNotMigrateTakesWhatIsThereOrNothing() throws SQLException {
        DatabaseConfig config = database.config().withMigrates(false);
        String message = refusal(new Migrations(config, Clock.SYSTEM));
        assertTrue(
                message.matches(
                        ".* holds no schema of Queen, this broker needs corpus \\d+, and"
                                + " QUEEN_APPLY_SCHEMA is false: .*"),
                message);
        assertEquals(
                false,
                one("select exists (select from pg_namespace where nspname = 'queen_store')"));
        new Migrations(database.config(), Clock.SYSTEM).apply();
        assertEquals(Outcome.UP_TO_DATE, new Migrations(config, Clock.SYSTEM).apply());
    }

    @Test
    void waitsForAServerThatIsNotThereYet() {
        DatabaseConfig closed = DatabaseConfig.of("127.0.0.1", 1, "x", "x", "");
        String message = refusal(new Migrations(closed, Clock.SYSTEM, Corpus.bundled(), IMPATIENT));
        assertTrue(message.startsWith("cannot use x@127.0.0.1:1/x: "), message);
    }
}
