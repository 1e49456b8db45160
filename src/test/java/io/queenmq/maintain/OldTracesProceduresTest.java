package io.queenmq.maintain;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Notes of applications go when they are old, where somebody said so, and nowhere else. */
class OldTracesProceduresTest {
    private static final String BEFORE = "clock_timestamp() - interval '10 days'";

    private TestDatabase database;
    private Connection connection;

    @BeforeEach
    void open() throws SQLException {
        database = TestDatabase.migrated();
        connection = database.connect();
    }

    @AfterEach
    void close() throws SQLException {
        connection.close();
        database.close();
    }

    /** Notes of so many days ago, each with a name of its own and one that all of them have. */
    private void note(int... days) throws SQLException {
        for (int ago : days) {
            run(
                    """
                    with t as (
                        insert into queen_store.traces (
                            id, tenant_id, queue, partition, partition_id, key, transaction_id,
                            consumer_group, event_type, data, names, worker, created_at)
                        values (
                            gen_random_uuid(), '00000000-0000-0000-0000-000000000001', 'q', 'p', 1,
                            '\\x00', '%1$s', 'g', 'e', '1', '{all,day%1$s}', 'w',
                            clock_timestamp() - interval '%1$s days')
                        returning *
                    )
                    insert into queen_store.trace_names (tenant_id, name, created_at, trace_id)
                    select t.tenant_id, n.name, t.created_at, t.id
                    from t, unnest(t.names) n (name)
                    """
                            .formatted(ago));
        }
    }

    private void run(String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private String value(String sql) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(sql)) {
            rows.next();
            return String.valueOf(rows.getString(1));
        }
    }

    private String left() throws SQLException {
        return value(
                "select coalesce((select string_agg(transaction_id, ' ' order by created_at)"
                        + " from queen_store.traces), '') || ' / ' || coalesce((select"
                        + " string_agg(name, ' ' order by created_at, name)"
                        + " from queen_store.trace_names), '')");
    }

    private String remove(int limit) throws SQLException {
        return value("select queen_store.remove_old_traces(" + BEFORE + ", " + limit + ")");
    }

    private String isOld() throws SQLException {
        return value("select queen_store.has_old_traces(" + BEFORE + ")");
    }

    @Test
    void theOldestGoFirstWithTheirNamesAndYoungOnesStay() throws SQLException {
        assertEquals("f", isOld());
        note(12, 30, 9, 20);
        assertEquals("t", isOld());
        assertEquals("2", remove(2));
        assertEquals("12 9 / all day12 all day9", left());
        assertEquals("1", remove(2));
        assertEquals("f", isOld());
        assertEquals("0", remove(2));
        assertEquals("9 / all day9", left());
    }

    @Test
    void oneThatSomebodyHoldsIsPassedOver() throws SQLException {
        note(30, 20);
        try (Connection other = database.connect();
                Statement statement = other.createStatement()) {
            other.setAutoCommit(false);
            statement.execute(
                    "select from queen_store.traces where transaction_id = '30' for update");
            assertEquals("1", remove(2));
            assertEquals("30 / all day30", left());
            other.rollback();
        }
        assertEquals("1", remove(2));
        assertEquals(" / ", left());
    }

    @Test
    @Contract("trace-5")
    void aBrokerRemovesThemWhereItIsToldHowLongTheyAreKept() throws SQLException {
        note(400, 12, 9);
        try (TestBroker keeper = TestBroker.withEnvironment(database, Map.of())) {
            keeper.http().post("/api/v1/system/jobs/sweep", "{\"runNow\":true}");
            assertEquals(
                    404,
                    keeper.http()
                            .post("/api/v1/system/jobs/trace_retention", "{\"runNow\":true}")
                            .status());
        }
        assertEquals("400 12 9 / all day400 all day12 all day9", left());
        try (TestBroker broker =
                TestBroker.withEnvironment(database, Map.of("QUEEN_TRACE_RETENTION_DAYS", "10"))) {
            Await.until("they are gone", () -> isGone());
            assertEquals("9 / all day9", left());
            assertEquals("1", broker.http().get("/api/v1/traces/by-name/all").json().text("total"));
        }
    }

    private boolean isGone() {
        try {
            return isOld().equals("f");
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }
}
