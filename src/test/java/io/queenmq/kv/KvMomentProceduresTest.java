package io.queenmq.kv;

import static io.queenmq.testkit.Lines.line;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Keys that somebody makes while a call that has found them absent is under way. */
class KvMomentProceduresTest {
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private TestDatabase database;
    private Connection connection;
    private Connection other;

    @BeforeEach
    void open() throws SQLException {
        database = TestDatabase.migrated();
        connection = database.connect();
        other = database.connect();
    }

    @AfterEach
    void close() throws SQLException {
        threads.shutdownNow();
        connection.close();
        other.close();
        database.close();
    }

    /**
     * Goal: what is not applied is told with what was there when that was decided. Method: the call
     * has found {@code a} absent, and waits for {@code b}, when somebody makes {@code a}.
     */
    @ParameterizedTest
    @CsvSource({
        "delete, null, null, absent||0",
        "delete, 0, null, applied||0",
        "put, 5, null, absent||0",
        "incr, null, 10, limit|0|0"
    })
    void aVerdictAndItsValueAreOfOneMoment(String op, String expect, String max, String answer)
            throws Exception {
        line(connection, "select queen.kv_put('n', 'b', '1', null)");
        other.setAutoCommit(false);
        line(other, "select queen.kv_put('n', 'b', '2', null)");
        Future<String> waits =
                threads.submit(
                        () ->
                                line(
                                        connection,
                                        "select status, value, version from queen.kv_apply("
                                                + "array['"
                                                + op
                                                + "', 'put'], array['n', 'n'], '{a,b}', '{3,3}',"
                                                + " p_expects => array["
                                                + expect
                                                + ", null]::bigint[], p_deltas => '{11,null}',"
                                                + " p_maxs => array["
                                                + max
                                                + ", null]::numeric[]) where ordinal = 1"));
        try (Connection third = database.connect()) {
            Await.until(
                    "it waits for b",
                    () ->
                            line(
                                            third,
                                            "select count(*) from pg_stat_activity where"
                                                    + " wait_event_type = 'Lock'")
                                    .equals("1"));
            line(third, "select queen.kv_put('n', 'a', '-5', null)");
        }
        other.commit();
        other.setAutoCommit(true);
        assertEquals(answer, waits.get());
        assertEquals(
                "-5",
                line(connection, "select value from queen.kv_get('n', 'a')"),
                "nothing was done to it");
    }
}
