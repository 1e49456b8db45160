package io.queenmq.api;

import static io.queenmq.testkit.Lines.line;
import static io.queenmq.testkit.Lines.lines;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.postgresql.PGConnection;
import org.postgresql.util.PSQLException;

/** queen.pop and queen.ack: a consumer that speaks nothing but SQL. */
class ConsumeApiProceduresTest {
    private static TestDatabase database;
    private Connection first;
    private Connection second;

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
    }

    @AfterEach
    void disconnect() throws SQLException {
        first.close();
        second.close();
    }

    @Test
    void aGrouplessPopDeliversFromTheOldestMessageOn() throws SQLException {
        push("plain", "a", 3);

        assertEquals(
                List.of("a|0|1|1", "a|1|2|1"),
                lines(
                        first,
                        "select partition, \"offset\", payload, delivery_attempt"
                                + " from queen.pop('plain', p_batch => 2)"));
        assertEquals(List.of(), pop(second, "'plain', p_batch => 2"));
    }

    @Test
    void anAckOfTheLastMessageReleasesTheLane() throws SQLException {
        push("acked", "a", 3);
        lines(first, "create temp table got as select * from queen.pop('acked', p_batch => 2)");

        assertEquals(
                List.of("1|t||f|f|f", "2|t||f|t|f"),
                lines(
                        first,
                        """
                        select a.ordinal, a.success, a.error, a.noop,
                            a.ordinal = 2 and a.lease_released, a.dead_lettered
                        from queen.ack(array(select partition_id from got order by "offset"),
                            array(select transaction_id from got order by "offset"), null,
                            array(select lease_id from got order by "offset")) a
                        """));
        assertEquals(List.of("2|3"), pop(second, "'acked', p_batch => 2"));
    }

    @Test
    void anAckAgainIsANoop() throws SQLException {
        push("again", "a", 1);
        lines(first, "create temp table got as select * from queen.pop('again')");
        String ack =
                "select a.success, a.noop from got g cross join lateral queen.ack(g.partition_id,"
                        + " g.transaction_id, p_lease_id => g.lease_id) a";

        assertEquals("t|f", line(first, ack));
        assertEquals("t|t", line(first, ack));
    }

    @Test
    @Contract("retry-8")
    void aFailedMessageComesBackAndIsADeadLetterInTheEnd() throws SQLException {
        push("failing", "a", 2);
        for (int i = 0; i < 3; i++) {
            lines(
                    first,
                    "create temp table got"
                            + i
                            + " as select * from queen.pop('failing', p_batch => 2)");
            assertEquals("t|t|f", line(first, failed(i)));
        }
        lines(first, "create temp table got3 as select * from queen.pop('failing', p_batch => 2)");
        assertEquals("t|t|t", line(first, failed(3)));

        assertEquals(
                "failing|a|__QUEUE_MODE__|0|no stock|3|1",
                line(
                        first,
                        "select queue, partition, consumer_group, \"offset\", error, retry_count,"
                                + " payload from queen.dead_letters where queue = 'failing'"));
        assertEquals(List.of("1|2"), pop(first, "'failing'"));
    }

    private static String failed(int attempt) {
        return ("select a.success, a.lease_released, a.dead_lettered from got%d g"
                        + " cross join lateral queen.ack(g.partition_id, g.transaction_id,"
                        + " p_lease_id => g.lease_id, p_status => 'failed', p_error => 'no stock') a"
                        + " where g.\"offset\" = 0")
                .formatted(attempt);
    }

    @Test
    void popWithAutoAckIsExactlyOnceWithinTheTransactionOfTheCaller() throws SQLException {
        push("once", "a", 1);
        first.setAutoCommit(false);
        assertEquals(List.of("0|1"), pop(first, "'once', p_auto_ack => true"));
        assertEquals(List.of(), pop(second, "'once', p_auto_ack => true"));
        first.rollback();

        assertEquals(List.of("0|1"), pop(second, "'once', p_auto_ack => true"));
        assertEquals(List.of(), pop(second, "'once', p_auto_ack => true"));
    }

    @Test
    void aNamedGroupBeginsWithWhatComesUnlessItAsksForAll() throws SQLException {
        push("modes", "a", 1);

        assertEquals(List.of(), pop(first, "'modes', 'late'"));
        assertEquals(List.of("0|1"), pop(first, "'modes', 'all', p_subscription_mode => 'all'"));
        assertEquals(
                List.of("0|1"),
                pop(first, "'modes', 'since', p_subscription_from => '2020-01-01'"));
        push("modes", "a", 1);
        assertEquals(List.of("1|1"), pop(first, "'modes', 'late'"));
    }

    @Test
    @Contract("pop-claim-4")
    void severalPartitionsShareALeaseAndFillTheBatchLaneByLane() throws SQLException {
        push("several", "a", 2);
        push("several", "b", 2);
        push("several", "c", 2);

        assertEquals(
                "5|3|1",
                line(
                        first,
                        "select count(*), count(distinct partition), count(distinct lease_id)"
                                + " from queen.pop('several', p_batch => 5, p_partitions => 0)"));
        assertEquals("3", line(first, "select count(*) from queen.leases where queue = 'several'"));
    }

    @Test
    @Contract("pop-claim-1")
    void aPopPassesOverLanesThatOthersHold() throws SQLException {
        lines(
                first,
                "select * from queen.push(array_fill('held'::text, array[600]),"
                        + " array(select 'p' || i from generate_series(1, 600) i),"
                        + " array_fill('1'::text, array[600]))");
        // A group is busy for others until the pop that made it has committed.
        assertEquals(1, pop(second, "'held', p_auto_ack => true").size());
        first.setAutoCommit(false);
        assertEquals(
                256,
                lines(first, "select * from queen.pop('held', p_batch => 256, p_partitions => 0)")
                        .size());

        assertEquals(1, pop(second, "'held'").size());
        first.rollback();
    }

    @Test
    void aPinnedPopOfNothingCreatesNothing() throws SQLException {
        assertEquals(List.of(), pop(first, "'pinned', 'g', p_partition => 'a'"));
        push("pinned", "b", 1);
        assertEquals(List.of(), pop(first, "'pinned', 'g', p_partition => 'a'"));

        assertEquals(
                "0",
                line(
                        first,
                        "select count(*) from queen_store.groups g join queen_store.queues q"
                                + " on q.id = g.queue_id where q.name = 'pinned'"));
    }

    @Test
    @Contract("pop-first-6")
    void aPinnedPopTakesItsOwnLaneAndItsOwnStart() throws SQLException {
        push("pinned.start", "a", 1);
        push("pinned.start", "b", 2);

        assertEquals(
                List.of("0|1", "1|2"),
                pop(
                        first,
                        "'pinned.start', 'g', 10, 'b', p_subscription_mode => 'all',"
                                + " p_lease_seconds => 7"));
        assertEquals(
                "t",
                line(
                        first,
                        "select lease_expires_at between clock_timestamp() and clock_timestamp()"
                                + " + interval '7 s' from queen.leases where queue = 'pinned.start'"));
    }

    @Test
    void payloadsBeyondWhatAClaimCarriesComeToo() throws SQLException {
        lines(
                first,
                "select * from queen.push(array_fill('large'::text, array[3]),"
                        + " array_fill('a'::text, array[3]),"
                        + " array_fill('\"' || repeat('x', 23000000) || '\"', array[3]))");

        assertEquals(
                "3|23000002|23000002",
                line(
                        first,
                        "select count(*), min(octet_length(payload_bytes)),"
                                + " max(octet_length(payload_bytes))"
                                + " from queen.pop('large', p_batch => 10)"));
    }

    @Test
    void anUnknownMessageOrLaneIsAnErrorOfItsOwnRow() throws SQLException {
        push("errors", "a", 1);
        lines(first, "create temp table got as select * from queen.pop('errors')");

        assertEquals(
                List.of(
                        "1|f|unresolvable: transaction not in the ack window (hash purged or never"
                                + " pushed); if leased, the message redelivers",
                        "2|f|partition not owned by tenant",
                        "3|f|partition not owned by tenant",
                        "4|f|invalid or expired lease"),
                lines(
                        first,
                        """
                        select a.ordinal, a.success, a.error
                        from got g
                        cross join lateral queen.ack(
                            array[g.partition_id, '00000000-0000-8000-8000-0000000fffff',
                                  gen_random_uuid(), g.partition_id],
                            array['never', 'never', 'never', g.transaction_id], null,
                            array[g.lease_id, null, null, gen_random_uuid()]) a
                        """));
    }

    @Test
    void anAckThatFreesALaneWithWorkTellsTheBrokers() throws SQLException {
        push("freed", "a", 2);
        lines(first, "create temp table got as select * from queen.pop('freed')");
        lines(second, "listen queen_hints");
        lines(
                first,
                "select a.* from got g cross join lateral queen.ack(g.partition_id,"
                        + " g.transaction_id, p_lease_id => g.lease_id) a");
        lines(second, "select 1");

        assertEquals(
                "p:" + line(first, "select number from queen.partitions where queue = 'freed'"),
                second.unwrap(PGConnection.class).getNotifications(5000)[0].getParameter());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '~',
            value = {
                "queen.pop('') ~ queue must be 1 to 1024 bytes of UTF-8, got 0",
                "queen.pop('q', p_batch => 0) ~ batch must be 1 to 10000, got 0",
                "queen.pop('q', p_partitions => -1) ~ partitions must be 0 to 10000, got -1",
                "queen.pop('q', p_lease_seconds => 0) ~ lease seconds must be 1 to 2147483647, got 0",
                "queen.pop('q', 'g', p_subscription_mode => 'old') ~ subscription mode must be new or all, got old",
                "queen.ack(gen_random_uuid(), null) ~ transaction id is missing",
                "queen.ack(gen_random_uuid(), 't', p_status => 'nack') ~ status must be completed, failed, retry or dlq, got nack",
                "queen.read('q', 'a') ~ queue q has no partition a",
                "queen.read('q', 'a', p_limit => 0) ~ limit must be 1 to 10000, got 0",
                "queen.message('q', 'a', '') ~ transaction id must be 1 to 65535 bytes of UTF-8, got 0",
            })
    void badInputIsRefusedByNameLimitAndValue(String call, String detail) {
        PSQLException e =
                assertThrows(PSQLException.class, () -> lines(first, "select * from " + call));
        assertEquals(detail, e.getServerErrorMessage().getDetail());
        assertEquals(
                detail.contains("no partition") ? "QN404 not_found" : "QN400 bad_request",
                e.getSQLState() + " " + e.getServerErrorMessage().getMessage());
    }

    @Test
    void readPagesByOffset() throws SQLException {
        push("paged", "a", 5);
        lines(
                first,
                "select * from queen.push(array_fill('paged'::text, array[3]),"
                        + " array_fill('a'::text, array[3]), array['6', '7', '8'])");

        assertEquals(List.of("0|1", "1|2"), read("'paged', 'a', 0, 2"));
        assertEquals(List.of("4|5", "5|6", "6|7"), read("'paged', 'a', 4, 3"));
        assertEquals(List.of("6|7", "7|8"), read("'paged', 'a', 6"));
        assertEquals(List.of(), read("'paged', 'a', 8"));
    }

    @Test
    void messageFindsTheNewestAndThenEarlierOnes() throws SQLException {
        lines(
                first,
                "select queen_store.configure_queue('00000000-0000-0000-0000-000000000001',"
                        + " 'found', true, '{\"dedup_window_seconds\": 0}')");
        for (int i = 1; i <= 4; i++) {
            lines(first, "select * from queen.push('found', 'a', '%d', 't%d')".formatted(i, i % 2));
        }

        assertEquals("t|2|2|3|t1", message("'t1'"));
        assertEquals("t|0|0|1|t1", message("'t1', 2"));
        assertEquals("f|0|||", message("'t1', 0"));
        assertEquals("f|0|||", message("'never'"));
    }

    /** A key is found at multiples of 16 only, though its bytes also stand across two others. */
    @Test
    void messageIsNotFooledByBytesBetweenTwoKeys() throws SQLException {
        lines(
                first,
                "select * from queen.push(array['cross', 'cross'], array['a', 'a'], array['1', '2'],"
                        + " array['11111111-1111-7111-8111-1111222222aa',"
                        + " '33333333-3333-7333-b333-333333333333'])");

        assertEquals(
                "f",
                line(
                        first,
                        "select found from queen.message('cross', 'a',"
                                + " encode('\\x1111711181111111222222aa33333333', 'hex')::uuid::text)"));
    }

    /** 64 MiB of keys are 4,195 full segments here: the answer says where the search stopped. */
    @Test
    void messageStopsAtItsBoundAndSaysWhere() throws SQLException {
        lines(first, "select * from queen.push('bound', 'a', '1', 'oldest')");
        lines(
                first,
                """
                do $$
                declare
                    v_lane bigint := (select number from queen.partitions where queue = 'bound');
                begin
                    for i in 1 .. 4300 loop
                        perform queen_store.append(array[v_lane], array[i::bigint],
                            array[0::bigint], array[9223372036854775807], array[null::bigint],
                            array[1], array[1000], array[sha512(i::text::bytea) || decode(
                                repeat('00', 15936), 'hex')],
                            array[decode(repeat('00000001', 1000), 'hex')], true);
                        -- Versions of the lane's row would pile up until the end.
                        commit;
                    end loop;
                end
                $$
                """);
        String stopped =
                line(
                        first,
                        "select found, searched_from from queen.message('bound', 'a', 'oldest')");
        assertEquals("f", stopped.substring(0, 1));
        int from = Integer.parseInt(stopped.substring(2));
        assertEquals(4300 * 1000 + 1 - 4195 * 1000, from);

        assertEquals(
                "t|0|1",
                line(
                        first,
                        "select found, \"offset\", payload from queen.message('bound', 'a', 'oldest', %d)"
                                .formatted(from)));
    }

    private void push(String queue, String partition, int count) throws SQLException {
        List<String> payloads =
                IntStream.rangeClosed(1, count).mapToObj(Integer::toString).toList();
        for (String payload : payloads) {
            lines(
                    first,
                    "select * from queen.push('%s', '%s', '%s')"
                            .formatted(queue, partition, payload));
        }
    }

    private static List<String> pop(Connection connection, String arguments) throws SQLException {
        return lines(connection, "select \"offset\", payload from queen.pop(" + arguments + ")");
    }

    private List<String> read(String arguments) throws SQLException {
        return lines(first, "select \"offset\", payload from queen.read(" + arguments + ")");
    }

    private String message(String arguments) throws SQLException {
        return line(
                first,
                "select found, searched_from, \"offset\", payload, transaction_id"
                        + " from queen.message('found', 'a', "
                        + arguments
                        + ")");
    }
}
