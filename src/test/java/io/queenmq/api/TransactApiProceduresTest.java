package io.queenmq.api;

import static io.queenmq.testkit.Lines.line;
import static io.queenmq.testkit.Lines.lines;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.postgresql.PGConnection;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;

/** queen.transact: a consumer that produces, in SQL. */
class TransactApiProceduresTest {
    private static TestDatabase database;

    private Connection connection;
    private Connection other;
    private String source;
    private String target;

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
        connection = database.connect();
        other = database.connect();
        String name = line(connection, "select nextval('queen_store.dead_letters_id_seq')");
        source = "in" + name;
        target = "out" + name;
        for (int i = 0; i < 3; i++) {
            lines(
                    connection,
                    "select from queen.push('%s', 'a', '%d', 't%d')".formatted(source, i, i));
        }
        lines(
                connection,
                "create temp table got as select * from queen.pop('%s', p_batch => 2)"
                        .formatted(source));
    }

    @AfterEach
    void disconnect() throws SQLException {
        connection.close();
        other.close();
    }

    /** One push and the acks of both messages that were popped. */
    private String relay(String id, String more) {
        return """
        select part, ordinal, status, transaction_id, "offset", lease_released, dead_lettered
        from queen.transact(array['%s'], array['b'], array['"x"'], array['%s'],
            array(select partition_id from got order by "offset"),
            array(select transaction_id from got order by "offset")%s)
        """
                .formatted(target, id, more);
    }

    private static final String LEASES =
            ", p_ack_lease_ids => array(select lease_id from got order by \"offset\")";

    private String stored() throws SQLException {
        return line(
                other, "select count(*) from queen.messages where queue = '%s'".formatted(target));
    }

    private ServerErrorMessage refused(String sql) {
        PSQLException e = assertThrows(PSQLException.class, () -> lines(connection, sql));
        ServerErrorMessage message = e.getServerErrorMessage();
        assertNotNull(message);
        assertTrue(Objects.toString(message.getSQLState()).startsWith("QN"), e.getMessage());
        return message;
    }

    @Test
    void itIsOneWithTheTransactionThatCallsIt() throws SQLException {
        connection.setAutoCommit(false);
        assertEquals(
                List.of("push|1|queued|id|0||", "ack|1|done|t0||t|f", "ack|2|done|t1||t|f"),
                lines(connection, relay("id", LEASES)));
        assertEquals("0", stored());
        connection.rollback();
        connection.setAutoCommit(true);
        assertEquals(3, lines(connection, relay("id", LEASES)).size());
        assertEquals("1", stored());
        assertEquals(
                "2",
                line(
                        connection,
                        "select payload from queen.pop('%s', p_batch => 9)".formatted(source)));
    }

    @Test
    void aDuplicateIsAnErrorThatNamesTheMessage() throws SQLException {
        lines(connection, "select from queen.push('%s', 'b', '0', 'id')".formatted(target));
        ServerErrorMessage message = refused(relay("id", LEASES));
        assertEquals("QN409", message.getSQLState());
        assertEquals("duplicate", message.getMessage());
        assertEquals(
                "message 1, transaction id \"id\", is in queue \"%s\" partition \"b\" already"
                        .formatted(target),
                message.getDetail());
        assertEquals(3, lines(connection, relay("other", LEASES)).size(), "nothing was acked");
    }

    @Test
    void aRepetitionWithinTheCallIsNone() throws SQLException {
        assertEquals(
                List.of("push|1|queued|0", "push|2|duplicate|0", "push|3|queued|0"),
                lines(
                        connection,
                        """
                        select part, ordinal, status, "offset" from queen.transact(
                            array['%s', '%s', '%s'], array['', 'Default', 'c'],
                            array['1', '2', '3'], array['same', 'same', 'same'])
                        """
                                .formatted(target, target, target)));
    }

    @Test
    void anAckThatCannotBeCarriedOutUndoesThePush() throws SQLException {
        ServerErrorMessage message =
                refused(
                        relay(
                                "id",
                                ", p_ack_lease_ids => array[gen_random_uuid(),"
                                        + " gen_random_uuid()]"));
        assertEquals("QN409", message.getSQLState());
        assertEquals("ack_rejected", message.getMessage());
        assertTrue(
                Objects.toString(message.getDetail())
                        .endsWith("for group \"__QUEUE_MODE__\": invalid lease"),
                message.getDetail());
        assertEquals("0", stored());
    }

    @Test
    void aSavepointLetsTheTransactionGoOn() throws SQLException {
        connection.setAutoCommit(false);
        lines(connection, "select from queen.push('%s', 'b', '0', 'id')".formatted(target));
        lines(connection, "savepoint before");
        refused(relay("id", LEASES));
        lines(connection, "rollback to savepoint before");
        connection.commit();
        assertEquals("1", stored());
    }

    @Test
    void requiredLeasesPassForTheHolder() throws SQLException {
        assertEquals(
                "ack_rejected",
                refused(relay("id", ", p_required_lease_ids => array[gen_random_uuid()]"))
                        .getMessage());
        assertEquals(
                3,
                lines(
                                connection,
                                relay(
                                        "id",
                                        ", p_required_lease_ids => array(select lease_id from"
                                                + " got)"))
                        .size());
    }

    @Test
    void aFailureAndADeadLetterAreInTheSameCommit() throws SQLException {
        assertEquals(
                List.of("push|1|queued|id|0||", "ack|1|done|t0||t|t", "ack|2|done|t1||t|f"),
                lines(
                        connection,
                        relay(
                                "id",
                                LEASES
                                        + ", p_ack_statuses => array['dlq', null], p_ack_errors =>"
                                        + " array['why', null]")));
        assertEquals(
                "0|why",
                line(
                        connection,
                        "select payload, error from queen.dead_letters where queue = '%s'"
                                .formatted(source)));
    }

    @Test
    void groupsOfTheirOwnAreAckedInOneCall() throws SQLException {
        lines(
                connection,
                "create temp table more as select * from queen.pop('%s', 'g', 9,".formatted(source)
                        + " p_subscription_mode => 'all')");
        assertEquals(
                List.of("ack|1|done", "ack|2|done"),
                lines(
                        connection,
                        """
                        select part, ordinal, status from queen.transact(
                            p_ack_partition_ids => array[
                                (select max(partition_id::text) from got)::uuid,
                                (select max(partition_id::text) from more)::uuid],
                            p_ack_transaction_ids => array['t1', 't2'],
                            p_ack_groups => array[null, 'g'],
                            p_required_lease_ids => array(
                                select lease_id from got union select lease_id from more))
                        """));
    }

    @Test
    void timersShareItsFate() throws SQLException {
        String timers =
                ", p_timer_ops => array['schedule', 'cancel'], p_timer_queues => array['%1$s', '%1$s'],"
                                .formatted(target)
                        + " p_timer_keys => array['k', 'none'], p_timer_payloads => array['7', null],"
                        + " p_timer_deliver_ats => array['2027-01-01', null]::timestamptz[],"
                        + " p_timer_transaction_ids => array['later', null]";
        String pending =
                "select transaction_id, payload from queen.timer_list('%s')".formatted(target);
        String foreign = ", p_ack_lease_ids => array[gen_random_uuid(), gen_random_uuid()]";
        assertEquals("ack_rejected", refused(relay("id", timers + foreign)).getMessage());
        assertEquals(List.of(), lines(other, pending));
        connection.setAutoCommit(false);
        assertEquals(
                List.of(
                        "timer|1|scheduled|later|||",
                        "timer|2|absent||||",
                        "push|1|queued|id|0||",
                        "ack|1|done|t0||t|f",
                        "ack|2|done|t1||t|f"),
                lines(connection, relay("id", timers + LEASES)));
        assertEquals(List.of(), lines(other, pending));
        connection.commit();
        assertEquals(List.of("later|7"), lines(other, pending));
        assertEquals(
                "timer_horizon_exceeded",
                refused(relay("other", timers.replace("2027", "2029") + LEASES)).getMessage());
        connection.rollback();
        assertEquals(
                "1|cancelled|f|f",
                line(
                        connection,
                        "select ordinal, status, message_id is not null, deliver_at is not null from"
                                + " queen.transact(p_timer_ops => array['cancel'], p_timer_queues =>"
                                + " array['%s'], p_timer_keys => array['k'])".formatted(target)));
    }

    @Test
    void nothingAtAllIsNoRow() throws SQLException {
        assertEquals(List.of(), lines(connection, "select * from queen.transact()"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "array['q'], array['p'], array['no json']|payload of message 1 is not JSON",
                "array['q'], array['p', 'q'], array['1']|every array must have one element per"
                        + " message",
                "null, null, null, null, array[gen_random_uuid()], array['t', 'u']|every array"
                        + " must have one element per ack, 1 of them",
                "null, null, null, null, array[gen_random_uuid()], array['']|transaction id must"
                        + " be 1 to 65535 bytes",
                "null, null, null, null, array[gen_random_uuid()], array['t'], null, null,"
                        + " array['done']|status must be completed, failed, retry or dlq, got done",
                "array_fill('q'::text, array[10001]), null, null|number of pushes and acks must be"
                        + " 0 to 10000, got 10001",
            })
    void whatItCannotTakeIsABadRequest(String arguments, String detail) {
        ServerErrorMessage message =
                refused("select * from queen.transact(%s)".formatted(arguments));
        assertEquals("bad_request", message.getMessage());
        assertTrue(Objects.toString(message.getDetail()).startsWith(detail), message.getDetail());
    }

    @Test
    void brokersAreToldOfWhatWasStoredAndGivenBack() throws SQLException {
        lines(other, "listen queen_hints");
        connection.setAutoCommit(false);
        lines(connection, relay("id", LEASES));
        connection.commit();
        String lanes =
                line(
                        other,
                        "select string_agg(number::text, ' ' order by queue) from queen.partitions"
                                + " where queue in ('%s', '%s')".formatted(source, target));
        List<String> heard = new ArrayList<>();
        Await.until(
                "both hints",
                () -> {
                    for (var note : other.unwrap(PGConnection.class).getNotifications(10)) {
                        heard.add(note.getParameter());
                    }
                    return heard.size() == 2;
                });
        assertEquals(
                List.of(lanes.split(" ")),
                heard.stream().map(hint -> hint.substring(2)).sorted().toList());
    }
}
