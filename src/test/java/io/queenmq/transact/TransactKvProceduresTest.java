package io.queenmq.transact;

import static io.queenmq.testkit.LogFixture.Item.completed;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.LogFixture.Claim;
import io.queenmq.testkit.LogFixture.Job;
import io.queenmq.testkit.TestDatabase;
import io.queenmq.transact.TransactCall.Row;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Operations on keys in a bundle: they come first, and they share its fate. */
class TransactKvProceduresTest {
    private static TestDatabase database;

    private Connection connection;
    private LogFixture log;
    private int group;

    /** Holds m10 to m19, acknowledged up to 9. */
    private long lane;

    private long target;

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
        connection = database.connect();
        log = new LogFixture(connection);
        int queue = log.queue();
        group = log.group(queue);
        lane = log.lane(queue);
        log.fill(lane, 5, 6);
        log.cursor(lane, group, 9);
        target = log.lane(log.queue());
    }

    @AfterEach
    void close() throws SQLException {
        connection.close();
    }

    private @Nullable UUID lease() throws SQLException {
        List<Claim> claims = log.claimLeased(Job.of(10), group, lane);
        return claims.getFirst().leaseId();
    }

    private List<String> run(TransactCall call) throws SQLException {
        return call.run(connection).stream().map(Row::toString).toList();
    }

    private long messages(long of) throws SQLException {
        return (long)
                log.value("select last_offset + 1 from queen_store.partitions where id = ?", of);
    }

    @Test
    void keysPushesAndAcksAreOneCommit() throws SQLException {
        assertEquals(
                List.of("kv 1 applied", "push 1 queued", "ack 1 done"),
                run(
                        new TransactCall()
                                .key("put", "k", 0L, true)
                                .push(target, "a")
                                .ack(lane, "g", lease(), completed("m12"))));
        assertEquals("1", log.value("select value from queen_store.kv where key = 'k'"));
        assertEquals(
                List.of("kv 1 exists", "undone 0 kv_precondition"),
                run(new TransactCall().key("put", "k", 0L, true).push(target, "b")));
        assertEquals(1, messages(target));
        assertEquals(
                List.of("kv 2 applied", "kv 1 exists", "push 1 queued"),
                run(
                        new TransactCall()
                                .key("put", "k", 0L, false)
                                .key("incr", "n", null, false)
                                .push(target, "c")));
        assertEquals(
                List.of("kv 1 applied", "push 1 duplicate", "undone 0 duplicate"),
                run(new TransactCall().key("incr", "n", null, false).push(target, "c")));
        assertEquals("1", log.value("select value from queen_store.kv where key = 'n'"));
    }

    @Test
    void aLostAnswerAboutKeysIsGivenAgain() throws SQLException {
        TransactCall call =
                new TransactCall()
                        .key("incr", "again", null, false)
                        .key("put", "gone", 7L, false)
                        .push(target, "a");
        List<Row> first = call.run(connection);
        assertEquals("[kv 1 applied, kv 2 absent, push 1 queued]", first.toString());
        log.run("update queen_store.kv set value = '9' where key = 'again'");
        assertEquals(List.of("push 1 queued", "kv 1 applied", "kv 2 absent"), run(call.settling()));
        assertEquals("9", log.value("select value from queen_store.kv where key = 'again'"));
        TransactCall keysAlone = new TransactCall().key("incr", "alone", null, false);
        assertEquals(List.of("kv 1 applied"), run(keysAlone.settling()), "it had not committed");
        assertEquals(List.of("kv 1 applied"), run(keysAlone));
        assertEquals("1", log.value("select value from queen_store.kv where key = 'alone'"));
    }
}
