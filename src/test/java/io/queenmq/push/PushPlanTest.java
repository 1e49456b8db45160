package io.queenmq.push;

import static io.queenmq.testkit.Lines.line;
import static io.queenmq.testkit.Lines.lines;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.segment.Frame;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * What a call reads does not depend on how much is stored, whatever the planner knew when the
 * statements were planned. Method: a session plans every statement while the tables are empty; then
 * 200,000 lanes and 300,000 segments appear; then the same session's calls are explained.
 */
class PushPlanTest {
    private static final int LANES = 64;
    private static final Pattern BUFFERS =
            Pattern.compile("Buffers: shared( hit=(\\d+))?( read=(\\d+))?");

    private static TestDatabase database;

    /** Planned while empty. */
    private static Connection early;

    /** Planned afterwards. */
    private static Connection late;

    @BeforeAll
    static void fill() throws SQLException {
        database = TestDatabase.migrated();
        early = database.connect();
        for (int i = 0; i < 6; i++) {
            everyPath(1, 1).run(early);
            lines(early, "select * from queen_store.read_keys(1, 0, 9, 'epoch', 10)");
            lines(early, "select * from queen_store.message_at(1, 5)");
        }
        lines(
                early,
                "insert into queen_store.queues (tenant_id, name) select"
                        + " '00000000-0000-0000-0000-000000000001', 'q' || i from generate_series(1,"
                        + " 1000) i; insert into queen_store.partitions (queue_id, name, last_offset,"
                        + " last_created_at) select 1 + i % 1000, 'p' || i, 99, clock_timestamp() from"
                        + " generate_series(1, 200000) i");
        // The first 10,000 lanes get 30 segments each, the last of them within the dedup window.
        lines(
                early,
                "insert into queen_store.segments select 1, p, s * 10, s * 10 + 9, clock_timestamp() -"
                        + " make_interval(mins => 5 * (30 - s)), s, (select string_agg(sha256(int8send(p *"
                        + " 10000 + s * 10 + i)), '') from generate_series(1, 5) i), '\\x00' from"
                        + " generate_series(1, 10000) p, generate_series(0, 29) s; update"
                        + " queen_store.partitions set last_offset = 299, last_created_at ="
                        + " clock_timestamp() where id <= 10000");
        late = database.connect();
        lines(late, "analyze");
    }

    @AfterAll
    static void close() throws SQLException {
        early.close();
        late.close();
        database.close();
    }

    @Test
    void appendReadsNothingButItsLanes() throws SQLException {
        for (Connection connection : List.of(early, late)) {
            AppendCall call = new AppendCall();
            for (int i = 0; i < LANES; i++) {
                call.lane(7 + i * 2_000L, 1, 0, Long.MAX_VALUE / 2, null, AppendCall.messages("a"));
            }
            String plans = explained(connection, call);
            assertBounded(plans, LANES * 40);
        }
    }

    @Test
    void probingAndSettlingReadTheLanesOwnSegments() throws SQLException {
        for (Connection connection : List.of(early, late)) {
            String plans = explained(connection, everyPath(100, 137));
            assertTrue(plans.contains("Hash Join"), "keys are matched by hash");
            assertTrue(plans.contains("segments_1_pkey"));
            // 64 lanes of some 12 segments within the window, each read twice, over two epochs.
            assertBounded(plans, LANES * 200);
        }
    }

    @Test
    void aPageOfKeysReadsThePageOnly() throws SQLException {
        for (Connection connection : List.of(early, late)) {
            assertBounded(
                    explained(connection, "queen_store.read_keys(77, 0, 299, 'epoch', 10)"), 100);
        }
    }

    @Test
    void oneMessageIsOneProbe() throws SQLException {
        for (Connection connection : List.of(early, late)) {
            assertBounded(explained(connection, "queen_store.message_at(77, 150)"), 100);
        }
    }

    @Test
    void everyTableIsAsBigAsClaimed() throws SQLException {
        assertEquals(
                "200000|t",
                line(
                        late,
                        "select (select count(*) from queen_store.partitions), (select count(*) from"
                                + " queen_store.segments) >= 300000"));
    }

    /** Batches that settle, that probe and that do neither. */
    private static AppendCall everyPath(long lane, long step) {
        AppendCall call = new AppendCall();
        for (int i = 0; i < LANES; i++) {
            List<Frame> messages = new ArrayList<>();
            for (int m = 0; m < 10; m++) {
                messages.add(AppendCall.message("m" + m));
            }
            @Nullable Long settle = i % 3 == 0 ? 250L : null;
            call.lane(
                    lane + i * step,
                    i,
                    i % 2 == 0 ? 1 : 100,
                    i % 2 == 0 ? 0 : 199,
                    settle,
                    messages);
        }
        return call;
    }

    /** The function's plan, with the buffers of its statements. */
    private static String explained(Connection connection, String function) throws SQLException {
        // The first call after the tables have grown also reads catalogues.
        lines(connection, "select * from " + function);
        return String.join(
                "\n", lines(connection, "explain (analyze, buffers) select * from " + function));
    }

    /**
     * The plans of all statements of the call, and then its own with the buffers of all of them.
     */
    private static String explained(Connection connection, AppendCall call) throws SQLException {
        connection.setAutoCommit(false);
        // The first call after the tables have grown also reads catalogues.
        call.run(connection);
        connection.rollback();
        try (Statement settings = connection.createStatement()) {
            settings.execute(
                    "load 'auto_explain'; set local auto_explain.log_nested_statements = on;"
                            + " set local auto_explain.log_min_duration = 0; set local"
                            + " client_min_messages = log");
        }
        StringBuilder plans = new StringBuilder();
        try (PreparedStatement statement =
                        call.prepare(
                                connection,
                                "explain (analyze, buffers) select * from queen_store.append(%s,"
                                        + " false)");
                ResultSet rows = statement.executeQuery()) {
            for (SQLWarning warning = statement.getWarnings();
                    warning != null;
                    warning = warning.getNextWarning()) {
                plans.append(warning.getMessage()).append('\n');
            }
            while (rows.next()) {
                plans.append(rows.getString(1)).append('\n');
            }
        } finally {
            connection.rollback();
            connection.setAutoCommit(true);
        }
        return plans.toString();
    }

    private static void assertBounded(String plans, int buffersMax) {
        assertFalse(plans.contains("Seq Scan"), plans);
        long most = most(plans);
        assertTrue(most > 0, plans);
        assertTrue(most <= buffersMax, most + " buffers, at most " + buffersMax + "\n" + plans);
    }

    /** Buffers of the outermost plan, which counts those of all others. */
    private static long most(String plans) {
        Matcher matcher = BUFFERS.matcher(plans);
        long most = 0;
        while (matcher.find()) {
            most = Math.max(most, number(matcher.group(2)) + number(matcher.group(4)));
        }
        return most;
    }

    private static long number(@Nullable String digits) {
        return digits == null ? 0 : Long.parseLong(digits);
    }
}
