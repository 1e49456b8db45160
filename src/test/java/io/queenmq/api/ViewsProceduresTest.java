package io.queenmq.api;

import static io.queenmq.testkit.Lines.line;
import static io.queenmq.testkit.Lines.lines;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The views of schema queen. */
class ViewsProceduresTest {
    private TestDatabase database;
    private Connection connection;

    @BeforeEach
    void connect() throws SQLException {
        database = TestDatabase.migrated();
        connection = database.connect();
    }

    @AfterEach
    void disconnect() throws SQLException {
        connection.close();
        database.close();
    }

    @Test
    @Contract("configure-13")
    void aDeletedQueueIsShownNowhere() throws SQLException {
        lines(
                connection,
                """
                select * from queen.push('gone', 'a', '1');
                create temp table got as select * from queen.pop('gone');
                select a.* from got g cross join lateral queen.ack(g.partition_id,
                    g.transaction_id, p_lease_id => g.lease_id, p_status => 'dlq') a;
                select * from queen.push('gone', 'a', '2');
                select * from queen.pop('gone')
                """);
        List<String> views =
                List.of("queues", "partitions", "messages", "cursors", "leases", "dead_letters");
        for (String view : views) {
            assertEquals(
                    view.equals("messages") ? "2" : "1",
                    line(connection, "select count(*) from queen." + view),
                    view);
        }
        lines(
                connection,
                "select queen_store.delete_queue('00000000-0000-0000-0000-000000000001', 'gone')");

        for (String view : views) {
            assertEquals("0", line(connection, "select count(*) from queen." + view), view);
        }
    }

    @Test
    void aLaneWithoutACursorHasTheLagThatAPopWouldFind() throws SQLException {
        for (String statement :
                List.of(
                        "push('q', 'a', '1')",
                        "pop('q', 'new')",
                        "pop('q', 'all', p_subscription_mode => 'all', p_auto_ack => true)",
                        "push('q', 'b', '1')",
                        "push('q', 'b', '2')")) {
            lines(connection, "select * from queen." + statement);
        }

        assertEquals(
                List.of("all|a|0|t", "all|b|2|f", "new|a|0|f", "new|b|2|f"),
                lines(
                        connection,
                        "select consumer_group, partition, lag, touched from queen.cursors"
                                + " where queue = 'q' order by 1, 2"));
    }

    @Test
    void aLeaseShowsItsBatch() throws SQLException {
        lines(
                connection,
                """
                select * from queen.push(array['q', 'q'], array['a', 'a'], array['1', '2']);
                select * from queen.pop('q', p_batch => 2)
                """);

        assertEquals(
                "q|a|__QUEUE_MODE__|0|1|f|1|0",
                line(
                        connection,
                        "select queue, partition, consumer_group, first_offset, last_offset, expired,"
                                + " delivery_attempt, retry_count from queen.leases"));
    }

    @Test
    void whoHoldsALaneIsNamedWhetherOrNotAnybodyWaits() throws Exception {
        lines(connection, "select * from queen.push('q', 'a', '1')");
        lines(connection, "select * from queen.push('q', 'b', '1')");
        assertEquals(List.of(), blocked());
        try (Connection holder = database.connect();
                Connection waiter = database.connect();
                ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor()) {
            lines(holder, "set application_name = 'forgetful'");
            String pid = line(holder, "select pg_backend_pid()");
            String waiting = line(waiter, "select pg_backend_pid()");
            holder.setAutoCommit(false);
            lines(holder, "select * from queen.push('q', 'a', '2')");
            assertEquals(List.of("a|" + pid + "|forgetful|idle in transaction|{}"), blocked());
            assertEquals(List.of("q|a|" + pid + "|{}"), held(true));
            assertEquals(List.of(), held(false));

            Future<List<String>> push =
                    executor.submit(() -> lines(waiter, "select * from queen.push('q', 'a', '3')"));
            List<String> expected =
                    List.of("a|%s|forgetful|idle in transaction|{%s}".formatted(pid, waiting));
            Await.until("the blocked push to show", () -> blocked().equals(expected));
            List<String> held = List.of("q|a|%s|{%s}".formatted(pid, waiting));
            assertEquals(held, held(true));
            assertEquals(held, held(false));
            holder.commit();
            push.get();
        }
        assertEquals(List.of(), blocked());
    }

    /**
     * The same for a broker: where there are many partitions, only those that somebody waits for.
     */
    private List<String> held(boolean all) throws SQLException {
        return lines(
                connection,
                "select queue, partition, pid, waiting_pids from queen_store.held_lanes("
                        + all
                        + ")");
    }

    private List<String> blocked() throws SQLException {
        return lines(
                connection,
                "select partition, pid, application_name, state, waiting_pids"
                        + " from queen.blocked_partitions where queue = 'q'");
    }

    @Test
    void aPreparedTransactionIsNamedToo() throws SQLException {
        lines(
                connection,
                "set queen.notify = off; begin; select * from queen.push('q', 'a', '1');"
                        + " prepare transaction 'views'");
        lines(connection, "commit prepared 'views'");
        lines(
                connection,
                "begin; select * from queen.push('q', 'a', '2'); prepare transaction 'views'");
        String shown =
                line(
                        connection,
                        "select partition, pid, prepared_transaction from queen.blocked_partitions");
        String held =
                line(
                        connection,
                        "select partition, pid, prepared_transaction from"
                                + " queen_store.held_lanes(true)");
        String holder =
                line(
                        connection,
                        "select pid, prepared_transaction, transaction_age is not null"
                                + " from queen.lane_holders");
        lines(connection, "rollback prepared 'views'");

        assertEquals("|views|t", holder);
        assertEquals("a||views", shown);
        assertEquals("a||views", held);
    }

    @Test
    void functionsShowPurposeLocksAndCost() throws SQLException {
        lines(connection, "set track_functions = 'all'; select * from queen.push('q', 'a', '1')");
        lines(connection, "select pg_stat_force_next_flush()");

        assertEquals(
                "t|t|t",
                line(
                        connection,
                        "select purpose <> '', locks like 'partitions%', calls = 1 and mean_ms > 0"
                                + " from queen.functions where function_name = 'append'"));
        assertEquals(
                "0",
                line(
                        connection,
                        "select count(*) from queen.functions where purpose = '' or locks = ''"));
    }
}
