package io.queenmq.api;

import static io.queenmq.testkit.Lines.line;
import static io.queenmq.testkit.Lines.lines;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
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
import org.postgresql.PGNotification;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;

/** queen.timer_*: messages scheduled in SQL. */
class TimerApiProceduresTest {
    private static TestDatabase database;

    private Connection connection;
    private Connection other;

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
        lines(connection, "truncate queen_store.timers");
    }

    @AfterEach
    void disconnect() throws SQLException {
        connection.close();
        other.close();
    }

    @Test
    void itIsOneWithTheTransactionThatCallsIt() throws SQLException {
        String schedule =
                "select status, transaction_id, deliver_at > clock_timestamp() + interval '50 min'"
                        + " from queen.timer_schedule('q', 'k', '{\"a\": 1}',"
                        + " p_delay => '1 hour', p_transaction_id => 't', p_partition => 'p')";
        connection.setAutoCommit(false);
        assertEquals("scheduled|t|t", line(connection, schedule));
        connection.rollback();
        assertEquals("scheduled|t|t", line(connection, schedule));
        assertEquals("rescheduled|t|t", line(connection, schedule));
        connection.commit();
        connection.setAutoCommit(true);
        assertEquals(
                "k|p|t|{\"a\": 1}|0||f",
                line(
                        other,
                        "select timer_key, partition, transaction_id, payload, attempts,"
                                + " last_error, claimed from queen.timer_get('q', 'k')"));
        assertEquals("0", line(other, "select count(*) from queen.queues where queue = 'q'"));
        assertEquals("cancelled|t", line(other, "select * from queen.timer_cancel('q', 'k')"));
        assertEquals("absent|", line(other, "select * from queen.timer_cancel('q', 'k')"));
        assertEquals(List.of(), lines(other, "select * from queen.timer_get('q', 'k')"));
    }

    @Test
    void manyGoInOneCallAndAreListedByTheBytesOfTheirKeys() throws SQLException {
        assertEquals(
                List.of("1|scheduled|t|t", "2|scheduled|x|t", "3|scheduled|t|t"),
                lines(
                        connection,
                        """
                        select ordinal, status,
                            case when transaction_id = message_id::text then 't'
                                 else transaction_id end,
                            deliver_at >= clock_timestamp() - interval '1 min'
                        from queen.timer_schedule(
                            array['q', 'q', 'r'], array['é', 'z', 'a'], array['1', '2', '3'],
                            array['2020-01-01', clock_timestamp(), clock_timestamp()],
                            p_transaction_ids => array[null, 'x', ''])
                        """));
        assertEquals(
                List.of("z|Default", "é|Default"),
                lines(connection, "select timer_key, partition from queen.timer_list('q')"));
        assertEquals(
                List.of("é"),
                lines(connection, "select timer_key from queen.timer_list('q', 'z')"));
        assertEquals(
                List.of("z"),
                lines(connection, "select timer_key from queen.timer_list('q', p_limit => 1)"));
        assertEquals(
                List.of("1|cancelled|x", "2|absent|", "3|cancelled|"),
                lines(
                        connection,
                        """
                        select ordinal, status,
                            case when transaction_id ~ '-.*-.*-' then '' else transaction_id end
                        from queen.timer_cancel(array['q', 'q', 'r'], array['z', 'y', 'a'])
                        """));
        assertEquals(
                List.of(),
                lines(
                        connection,
                        "select * from queen.timer_schedule('{}'::text[], '{}', '{}', '{}')"));
    }

    @Test
    void schedulesAndCancellationsGoInOneCall() throws SQLException {
        schedule("a", "2027-01-01T00:00:00Z");
        assertEquals(
                List.of("1|scheduled|x|2027|t", "2|cancelled|t||f", "3|absent|||f"),
                lines(
                        connection,
                        """
                        select ordinal, status,
                            case when transaction_id ~ '-.*-.*-' then 't' else transaction_id end,
                            extract(year from deliver_at), message_id is not null
                        from queen.timer_apply(
                            array['reschedule', 'cancel', 'cancel'], array['q', 'q', 'q'],
                            array['b', 'a', 'none'], array['1', null, null],
                            array['2027-01-02', null, null]::timestamptz[],
                            p_transaction_ids => array['x', null, null])
                        """));
        assertEquals(
                List.of("b|x"),
                lines(connection, "select timer_key, transaction_id from queen.timer_list('q')"));
    }

    @Test
    @Contract("timer-15")
    void brokersAreToldWhenTheEarliestIsDueUnlessThatIsOff() throws SQLException {
        lines(other, "listen queen_hints");
        lines(connection, "set queen.notify = off");
        schedule("a", "2027-01-01T00:00:00Z");
        lines(connection, "set queen.notify = on");
        lines(
                connection,
                """
                select * from queen.timer_schedule(array['q', 'q'], array['b', 'c'],
                    array['1', '2'], array['2027-01-02T00:00:00Z', '2027-01-01T12:00:00Z']
                        ::timestamptz[])
                """);
        List<String> told = new ArrayList<>();
        for (PGNotification hint : other.unwrap(PGConnection.class).getNotifications(5000)) {
            told.add(hint.getParameter());
        }
        assertEquals(List.of("t:1798804800000"), told);
        lines(connection, "select * from queen.timer_cancel('q', 'b')");
        PGNotification[] more = other.unwrap(PGConnection.class).getNotifications(10);
        assertTrue(more == null || more.length == 0, "a cancelled timer is nobody's business");
    }

    private void schedule(String key, String at) throws SQLException {
        lines(
                connection,
                "select * from queen.timer_schedule('q', '%s', '1', p_deliver_at => '%s')"
                        .formatted(key, at));
    }

    @Test
    void anEncryptingQueueIsForBrokers() throws SQLException {
        lines(connection, "select queen.push('secret', 'p', '1')");
        lines(
                connection,
                "update queen_store.queues set encryption_enabled = true where name = 'secret'");
        ServerErrorMessage refusal =
                refused(
                        "select * from queen.timer_schedule('secret', 'k', '1', p_delay => '1 min')");
        assertEquals("QN409", refusal.getSQLState());
        assertEquals("queue_encrypted", refusal.getMessage());
    }

    @Test
    void aTimerThatABrokerHasClaimedIsLeftAlone() throws SQLException {
        lines(
                connection,
                "select * from queen.timer_schedule('q', 'k', '1', p_delay => '-1 hour')");
        assertEquals(
                "k",
                line(
                        other,
                        "select timer_key from queen_store.claim_timers(10, 1000000, 30000, null, null, null, null)"));
        assertEquals("too_late|", line(connection, "select * from queen.timer_cancel('q', 'k')"));
        assertEquals(
                "too_late|||",
                line(
                        connection,
                        "select * from queen.timer_schedule('q', 'k', '2', p_delay => '1 hour')"));
        assertEquals("t", line(connection, "select claimed from queen.timer_get('q', 'k')"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            value = {
                "queue must be 1 to 1024 bytes; timer_schedule('', 'k', '1', p_delay => '1 s')",
                "queue is missing; timer_schedule(null::text, 'k', '1', p_delay => '1 s')",
                "timer key must be 1 to 512 bytes; timer_schedule('q', '', '1', p_delay => '1 s')",
                "timer key must be 1 to 512 bytes; timer_schedule('q', repeat('x', 513), '1', p_delay => '1 s')",
                "timer key is missing; timer_cancel('q', null::text)",
                "payload of message 1 is not JSON; timer_schedule('q', 'k', 'x', p_delay => '1 s')",
                "payload of message 1 is missing; timer_schedule('q', 'k', null::text, p_delay => '1 s')",
                "bytes of payload must be; timer_schedule('q', 'k', '\"' || repeat('x', 1048576) || '\"', p_delay => '1 s')",
                "exactly one of; timer_schedule('q', 'k', '1')",
                "exactly one of; timer_schedule('q', 'k', '1', p_delay => '1 s', p_deliver_at => clock_timestamp())",
                "occurs twice; timer_cancel(array['q', 'q'], array['k', 'k'])",
                "one element per timer; timer_schedule(array['q'], array['k'], array['1'], '{}')",
                "one element per timer; timer_apply(array['cancel'], array['q', 'r'], array['k', 'k'])",
                "message 2 has no time; timer_apply(array['cancel', 'schedule'], array['q', 'q'], array['k', 'l'], array[null, '1'])",
                "payload of message 2 is missing; timer_apply(array['cancel', 'schedule'], array['q', 'q'], array['k', 'l'])",
                "operation 2 must be schedule, reschedule or cancel, got null; timer_apply(array['cancel', null], array['q', 'q'], array['k', 'l'])",
                "operation 1 must be schedule, reschedule or cancel, got cancell; timer_apply(array['cancell'], array['q'], array['k'])",
                "partition must be 0 to 1024; timer_schedule('q', 'k', '1', p_delay => '1 s', p_partition => repeat('x', 1025))",
            })
    void whatCannotBeIsRefusedByName(String detail, String call) {
        ServerErrorMessage refusal = refused("select * from queen." + call);
        assertEquals("QN400", refusal.getSQLState());
        assertEquals("bad_request", refusal.getMessage());
        assertTrue(
                Objects.toString(refusal.getDetail()).contains(detail.strip()),
                refusal.getDetail());
    }

    @Test
    void aTimeTooFarAheadIsRefused() throws SQLException {
        ServerErrorMessage refusal =
                refused("select * from queen.timer_schedule('q', 'k', '1', p_delay => '91 days')");
        assertEquals("QN403", refusal.getSQLState());
        assertEquals("timer_horizon_exceeded", refusal.getMessage());
        lines(
                connection,
                "select queen_store.set_kv_quota('00000000-0000-0000-0000-000000000001',"
                        + " '{max_timer_horizon_seconds}', null, null, null, null, 60, null, null)");
        refusal = refused("select * from queen.timer_schedule('q', 'k', '1', p_delay => '61 s')");
        assertEquals("QN403", refusal.getSQLState());
        assertEquals("a message can be scheduled up to 60 s ahead", refusal.getDetail());
        lines(connection, "delete from queen_store.kv_quotas");
        assertEquals("0", line(connection, "select count(*) from queen.timers"));
    }

    private ServerErrorMessage refused(String sql) {
        PSQLException e = assertThrows(PSQLException.class, () -> lines(connection, sql));
        ServerErrorMessage message = e.getServerErrorMessage();
        assertNotNull(message);
        return message;
    }
}
