package io.queenmq.insight;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Lines;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import org.junit.jupiter.api.Test;

/** What metrics show of the log: how it is divided, and who is in its way. */
class StorageGaugesProceduresTest {
    private static String gauge(Connection connection, String expression) throws SQLException {
        return Lines.line(
                connection, "select " + expression + " from queen_store.storage_gauges() g");
    }

    /** Of a queue the newest messages are kept; a queue that is deleted keeps none. */
    @Test
    void whatIsKeptIsLiveAndTheRestHasExpired() throws SQLException {
        try (TestDatabase database = TestDatabase.migrated();
                Connection connection = database.connect()) {
            assertEquals(
                    "2|0|true",
                    gauge(
                            connection,
                            "g.epochs || '|' || g.seal_blocked_seconds"
                                    + " || '|' || (g.live_bytes > 0 and g.expired_bytes = 0)"));
            Lines.lines(
                    connection,
                    """
                    insert into queen_store.queues (tenant_id, name, deleted_at)
                    values ('00000000-0000-0000-0000-000000000001', 'kept', null),
                           ('00000000-0000-0000-0000-000000000001', 'gone', clock_timestamp());
                    insert into queen_store.counts (queue_id, group_id, stored, passed, counted_at)
                    select q.id, 0, 150, 90, clock_timestamp() from queen_store.queues q;
                    insert into queen_store.queue_epochs (queue_id, epoch, messages, bytes)
                    select q.id, e.epoch, e.messages, e.bytes
                    from queen_store.queues q, (values (0, 50, 500), (1, 100, 1000)) e (epoch, messages, bytes);
                    update queen_store.epochs
                    set state = 'closed', closed_at = clock_timestamp() - interval '100 seconds'
                    where epoch = 1;
                    """);
            // 60 of the 100 messages of the newer epoch, of 3,000 bytes in all.
            assertEquals(
                    "20",
                    gauge(
                            connection,
                            "round(100.0 * g.live_bytes / (g.live_bytes + g.expired_bytes))"));
            assertEquals("t", gauge(connection, "g.seal_blocked_seconds between 100 and 200"));
        }
    }

    @Test
    void whoHoldsDeadRowsAndLanesIsSeen() throws SQLException {
        try (TestDatabase database = TestDatabase.migrated();
                Connection connection = database.connect();
                Connection application = database.connect()) {
            Lines.lines(
                    connection,
                    """
                    insert into queen_store.queues (tenant_id, name)
                    values ('00000000-0000-0000-0000-000000000001', 'q');
                    insert into queen_store.partitions (queue_id, name)
                    select q.id, 'p' from queen_store.queues q;
                    """);
            application.setAutoCommit(false);
            String pid =
                    Lines.line(
                            application,
                            "update queen_store.partitions set last_write_at = clock_timestamp()"
                                    + " returning pg_backend_pid()");
            String holder = gauge(connection, "g.xmin_holder");
            assertTrue(holder.startsWith("pid " + pid + " ("), holder);
            assertEquals("t", gauge(connection, "g.xmin_age_transactions >= 1"));
            Await.until(
                    "it has held a lane for a second",
                    () -> gauge(connection, "g.lane_holders").equals("1"));
            assertEquals("t", gauge(connection, "g.xmin_age_seconds >= 1"));
            assertEquals("t", gauge(connection, "g.safe_time_behind_seconds >= 6"));
            application.rollback();
            assertEquals("t", gauge(connection, "g.safe_time_behind_seconds between 5 and 6"));
            assertEquals("0", gauge(connection, "g.lane_holders"));
        }
    }
}
