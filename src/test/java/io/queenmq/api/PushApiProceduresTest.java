package io.queenmq.api;

import static io.queenmq.testkit.Lines.line;
import static io.queenmq.testkit.Lines.lines;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;

/** queen.push as an application uses it: within its own transaction. */
class PushApiProceduresTest {
    private static TestDatabase database;
    private Connection first;
    private Connection second;

    @BeforeAll
    static void createDatabase() throws SQLException {
        database = TestDatabase.migrated();
        try (Connection connection = database.connect()) {
            lines(connection, "create table application (id int primary key)");
        }
    }

    @AfterAll
    static void dropDatabase() {
        database.close();
    }

    @BeforeEach
    void connect() throws SQLException {
        first = database.connect();
        second = database.connect();
    }

    @AfterEach
    void disconnect() throws SQLException {
        first.close();
        second.close();
    }

    @Test
    void theShortestCallStoresAMessage() throws SQLException {
        assertEquals(
                "queued|0|t|t",
                line(
                        first,
                        "select status, \"offset\", message_id::text = transaction_id,"
                                + " partition_id::text like '00000000-0000-8000-8000-%'"
                                + " from queen.push('short', 'a', '{\"id\": 1}')"));
        assertEquals("0|{\"id\": 1}", read(first, "short", "a").getFirst());
    }

    @Test
    void aMessageCommitsWithTheRowsOfTheApplicationOrNotAtAll() throws SQLException {
        first.setAutoCommit(false);
        lines(first, "insert into application values (1)");
        push(first, "outbox", "a", "1", "t1");
        first.rollback();
        assertEquals(
                "0|0",
                line(
                        first,
                        "select (select count(*) from application), count(*) from queen.queues where queue = 'outbox'"));

        lines(first, "insert into application values (1)");
        push(first, "outbox", "a", "1", "t1");
        assertEquals(
                "0", line(second, "select count(*) from queen.partitions where queue = 'outbox'"));
        first.commit();
        assertEquals(List.of("0|1"), read(second, "outbox", "a"));
        assertEquals("1", line(second, "select count(*) from application"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '~',
            value = {
                "{\"a\" : 1,  \"a\": 2}",
                "1e400",
                "1.10",
                "123456789012345678901234567890123456789012",
                "\"\\u0000 \\ud800\"",
                "null",
                "\"\u20ac\uD83D\uDE00\"",
            })
    void payloadsKeepEveryByte(String payload) throws SQLException {
        try (PreparedStatement statement =
                first.prepareStatement("select * from queen.push('bytes', 'a', ?)")) {
            statement.setString(1, payload);
            statement.executeQuery().close();
        }
        List<String> stored =
                lines(
                        first,
                        "select convert_from(payload_bytes, 'UTF8') from queen.read('bytes', 'a',"
                                + " 0, 100) order by \"offset\" desc limit 1");
        assertEquals(List.of(payload), stored);
    }

    @Test
    void aRepeatedTransactionIdIsADuplicateOfTheOriginal() throws SQLException {
        String original =
                line(first, "select message_id, \"offset\" from queen.push('dup', 'a', '1', 't1')");
        push(first, "dup", "a", "2", "t2");

        assertEquals(
                "duplicate|" + original,
                line(
                        second,
                        "select status, message_id, \"offset\" from queen.push('dup', 'a', '9', 't1')"));
        assertEquals(List.of("0|1", "1|2"), read(first, "dup", "a"));
        assertEquals("queued", push(first, "dup", "b", "1", "t1"));
    }

    @Test
    @Contract("dedup-11")
    void aTransactionIdThatIsAUuidIsADuplicateOfOneThatABrokerMinted() throws SQLException {
        String minted = line(first, "select transaction_id from queen.push('minted', 'a', '1')");

        assertEquals(
                "duplicate|" + minted,
                line(
                        first,
                        "select status, message_id from queen.push('minted', 'a', '1', '%s')"
                                .formatted(minted)));
    }

    @Test
    void anEmptyTransactionIdOrPartitionIsAnAbsentOne() throws SQLException {
        assertEquals("queued", push(first, "empty", "", "1", ""));
        assertEquals("queued", push(first, "empty", "", "2", ""));

        assertEquals(List.of("0|1", "1|2"), read(first, "empty", "Default"));
    }

    @Test
    void aWindowOfZeroRefusesNothingButWithinTheCall() throws SQLException {
        lines(
                first,
                "select queen_store.configure_queue('00000000-0000-0000-0000-000000000001',"
                        + " 'nowindow', true, '{\"dedup_window_seconds\": 0}')");
        push(first, "nowindow", "a", "1", "t1");

        assertEquals(
                List.of("1|queued|1", "2|duplicate|1"),
                lines(
                        first,
                        "select ordinal, status, \"offset\" from queen.push("
                                + "array['nowindow', 'nowindow'], array['a', 'a'],"
                                + " array['2', '3'], array['t1', 't1'])"));
    }

    @Test
    void manyMessagesOfManyLanesKeepTheirOrder() throws SQLException {
        assertEquals(
                List.of("1|queued|0", "2|queued|0", "3|queued|1", "4|duplicate|0", "5|queued|2"),
                lines(
                        first,
                        "select ordinal, status, \"offset\" from queen.push("
                                + "array_fill('many'::text, array[5]),"
                                + " array['b', 'a', 'b', 'b', 'b'], array['1', '2', '3', '4', '5'],"
                                + " array['t1', 't1', null, 't1', 't5'])"));
        assertEquals(List.of("0|1", "1|3", "2|5"), read(first, "many", "b"));
        assertEquals(List.of("0|2"), read(first, "many", "a"));
    }

    @Test
    @Contract("dedup-7")
    void duplicatesInTheMiddleLeaveNoGap() throws SQLException {
        push(first, "middle", "a", "1", "t1");
        push(first, "middle", "a", "2", "t2");

        assertEquals(
                List.of("queued|2", "duplicate|1", "queued|3", "duplicate|0", "queued|4"),
                lines(
                        first,
                        "select status, \"offset\" from queen.push("
                                + "array_fill('middle'::text, array[5]),"
                                + " array_fill('a'::text, array[5]), array['3', '4', '5', '6', '7'],"
                                + " array['t3', 't2', 't5', 't1', null]) order by ordinal"));
        assertEquals(List.of(), lines(first, "select * from queen.violations('middle', 'a')"));
    }

    @Test
    void aCallOfMoreThanASegmentIsStoredWhole() throws SQLException {
        assertEquals(
                "2500|2500|0|2499",
                line(
                        first,
                        "select count(*), count(distinct message_id), min(\"offset\"), max(\"offset\")"
                                + " from queen.push(array_fill('long'::text, array[2500]),"
                                + " array_fill('a'::text, array[2500]),"
                                + " array(select i::text from generate_series(1, 2500) i))"
                                + " where status = 'queued'"));
        assertEquals(List.of(), lines(first, "select * from queen.violations('long', 'a')"));
        assertEquals(
                List.of("2498|2499", "2499|2500"),
                lines(first, "select \"offset\", payload from queen.read('long', 'a', 2498)"));
    }

    @Test
    void threeHundredNewLanesAreMadeInOneCall() throws SQLException {
        assertEquals(
                "300|300",
                line(
                        first,
                        "select count(*), count(distinct partition_id) from queen.push("
                                + "array_fill('wide'::text, array[300]),"
                                + " array(select 'p' || i from generate_series(1, 300) i),"
                                + " array_fill('1'::text, array[300])) where status = 'queued'"));
    }

    @Test
    @Contract("push-14")
    void twoCallsThatNameTheSameLanesInAnyOrderNeverDeadlock() throws Exception {
        String forwards = "array['l1', 'l2', 'l3', 'l4']";
        String backwards = "array['l4', 'l3', 'l2', 'l1']";
        try (ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor()) {
            Future<?> one = executor.submit(() -> pushRepeatedly(first, forwards));
            Future<?> two = executor.submit(() -> pushRepeatedly(second, backwards));
            one.get();
            two.get();
        }
        assertEquals(
                "400", line(first, "select count(*) from queen.messages where queue = 'crossed'"));
    }

    private static int pushRepeatedly(Connection connection, String lanes) throws SQLException {
        for (int i = 0; i < 50; i++) {
            lines(
                    connection,
                    "select * from queen.push(array_fill('crossed'::text, array[4]), "
                            + lanes
                            + ", array['1', '2', '3', '4'])");
        }
        return 0;
    }

    @Test
    void aPushWaitsForTheTransactionThatCreatesItsLane() throws Exception {
        first.setAutoCommit(false);
        push(first, "waited", "a", "1", "t1");
        try (ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor();
                Connection watcher = database.connect()) {
            Future<String> waiting = executor.submit(() -> push(second, "waited", "a", "2", "t1"));
            String blocked =
                    "select count(*) from pg_stat_activity where wait_event_type = 'Lock'"
                            + " and datname = current_database()";
            Await.until("a blocked session", () -> !line(watcher, blocked).equals("0"));
            first.commit();
            assertEquals("duplicate", waiting.get());
        }
    }

    @Test
    void brokersAreToldTheLanesAtCommit() throws SQLException {
        lines(second, "listen queen_hints");
        String lane =
                line(
                        first,
                        "select number from queen.push('told', 'a', '1')"
                                + " cross join lateral (select queen_store.partition_number(partition_id)"
                                + " as number) n");

        assertEquals(List.of("p:" + lane), hints());
    }

    @Test
    void aCallOfTooManyLanesTellsTheQueue() throws SQLException {
        lines(
                first,
                "select queen_store.ensure_lanes(array_fill("
                        + "'00000000-0000-0000-0000-000000000001'::uuid, array[2000]),"
                        + " array_fill('filler'::text, array[2000]),"
                        + " array(select i::text from generate_series(1, 2000) i))");
        lines(second, "listen queen_hints");
        String queue =
                line(
                        first,
                        "with w as (select queen.wake(array(select number from queen.partitions"
                                + " where queue = 'filler'), array[q.queue_id]), q.queue_id"
                                + " from queen.queues q where q.queue = 'filler')"
                                + " select queue_id from w where wake is not null");

        assertEquals(List.of("q:" + queue), hints());
    }

    @Test
    void nobodyIsToldWhenNotifyIsOff() throws SQLException {
        lines(second, "listen queen_hints");
        lines(first, "set queen.notify = off");
        push(first, "untold", "a", "1", "t1");
        lines(first, "reset queen.notify");
        push(first, "untold", "a", "1", "t1");
        String lane = line(first, "select number from queen.partitions where queue = 'untold'");
        push(first, "untold", "a", "2", "t2");

        // The duplicate stored nothing, so it told nothing either.
        assertEquals(List.of("p:" + lane), hints());
    }

    private List<String> hints() throws SQLException {
        lines(second, "select 1");
        PGNotification[] hints = second.unwrap(PGConnection.class).getNotifications(5000);
        return Arrays.stream(hints).map(PGNotification::getParameter).toList();
    }

    @Test
    void withNotifyOffAPushCanBePartOfATwoPhaseCommit() throws SQLException {
        lines(
                first,
                "set queen.notify = off; begin; select * from queen.push('twophase', 'a', '1');"
                        + " prepare transaction 'push'");
        assertEquals(
                "0", line(second, "select count(*) from queen.messages where queue = 'twophase'"));
        lines(second, "commit prepared 'push'");

        assertEquals(List.of("0|1"), read(second, "twophase", "a"));
    }

    @Test
    void anEncryptedQueueIsRefused() throws SQLException {
        lines(
                first,
                "select queen_store.configure_queue('00000000-0000-0000-0000-000000000001',"
                        + " 'secret', true, '{\"encryption_enabled\": true}')");

        assertEquals(
                "QN409 queue_encrypted: only a broker holds the key: push to this queue over HTTP",
                refusal("select * from queen.push('secret', 'a', '1')"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '~',
            // What SQL quotes is part of the text.
            quoteCharacter = '"',
            value = {
                "'', 'a', '1' ~ queue must be 1 to 1024 bytes of UTF-8, got 0",
                "null, 'a', '1' ~ queue is missing",
                "repeat('q', 1025), 'a', '1' ~ queue must be 1 to 1024 bytes of UTF-8, got 1025",
                "'q', repeat('\u20ac', 342), '1' ~ partition must be 0 to 1024 bytes of UTF-8, got 1026",
                "'q', 'a', null ~ payload of message 1 is missing; JSON null is written 'null'",
                "'q', 'a', 'hello' ~ payload of message 1 is not JSON: a text needs its double quotes",
                "'q', 'a', '1', repeat('t', 65536) ~ transaction id must be 0 to 65535 bytes of UTF-8, got 65536",
                "array['q'], array['a', 'b'], array['1'] ~ every array must have one element per message, 1 of them",
                "array_fill('q'::text, array[10001]), null, null ~ number of messages must be 0 to 10000, got 10001",
            })
    void badInputIsRefusedByNameLimitAndValue(String arguments, String detail) throws SQLException {
        assertEquals(
                "QN400 bad_request: " + detail.replaceAll("^'|'$", "'"),
                refusal("select * from queen.push(" + arguments + ")"));
        assertEquals(
                "0", line(first, "select count(*) from queen.queues where queue in ('', 'q')"));
    }

    @Test
    void namesMayHoldAnythingButNothing() throws SQLException {
        for (String name :
                List.of("a/b", "it''s", "\"quoted\"", "\uD83D\uDE00", " ", "%2F", "..")) {
            assertEquals("queued", push(first, name, name, "1", name));
            assertEquals(List.of("0|1"), read(first, name, name));
        }
        assertTrue(push(first, "n".repeat(300), "p".repeat(1024), "1", "t").equals("queued"));
    }

    @Test
    void anEmptyCallStoresNothing() throws SQLException {
        assertEquals(
                List.of(),
                lines(first, "select * from queen.push('{}'::text[], '{}'::text[], '{}'::text[])"));
    }

    private String refusal(String sql) {
        PSQLException e = assertThrows(PSQLException.class, () -> lines(first, sql));
        ServerErrorMessage message = e.getServerErrorMessage();
        return e.getSQLState() + " " + message.getMessage() + ": " + message.getDetail();
    }

    private static String push(
            Connection connection, String queue, String partition, String payload, String id)
            throws SQLException {
        return line(
                connection,
                "select status from queen.push('%s', '%s', '%s', '%s')"
                        .formatted(queue, partition, payload, id));
    }

    private static List<String> read(Connection connection, String queue, String partition)
            throws SQLException {
        return lines(
                connection,
                "select \"offset\", payload from queen.read('%s', '%s')"
                        .formatted(queue, partition));
    }
}
