package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.Lines;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Trouble that is no timer's fault, or not of all that share it. Statements may take a second here,
 * one attempt that is charged makes a dead letter, and all of a commit are charged.
 */
class TimerTroubleHttpTest {
    private static TestDatabase database;
    private static TestBroker broker;
    private static Http http;

    @BeforeAll
    static void start() {
        database = TestDatabase.migrated();
        broker =
                TestBroker.withEnvironment(
                        database,
                        Map.of(
                                "QUEEN_STMT_TIMEOUT_MS", "1000",
                                "QUEEN_SWEEPER_ISOLATE_ON_PERMANENT", "false",
                                "QUEEN_SWEEPER_MAX_ATTEMPTS", "1"));
        http = broker.http();
    }

    @AfterAll
    static void stop() {
        broker.close();
        database.close();
    }

    /** What happens when a message is stored whose payload holds the word. */
    private static void trouble(String word, String statement) throws SQLException {
        sql(
                """
                create or replace function public.trouble() returns trigger language plpgsql as $$
                begin
                    if position('%s'::bytea in new.frames) > 0 then
                        %s;
                    end if;
                    return new;
                end $$;
                create trigger trouble before insert on queen_store.segments
                    for each row execute function public.trouble()
                """
                        .formatted(word, statement));
    }

    @AfterEach
    void noTrouble() throws SQLException {
        sql("drop trigger if exists trouble on queen_store.segments");
    }

    private static void sql(String statements) throws SQLException {
        try (Connection connection = database.connect()) {
            Lines.lines(connection, statements);
        }
    }

    private static void schedule(String queue, String... payloads) {
        StringBuilder ops = new StringBuilder("[");
        for (String payload : payloads) {
            ops.append(ops.length() == 1 ? "" : ",")
                    .append(
                            "{\"op\":\"schedule\",\"queue\":\"%1$s\",\"key\":\"%2$s\",\"partition\":\"%2$s\",\"delaySeconds\":0,\"payload\":\"%2$s\"}"
                                    .formatted(queue, payload));
        }
        assertEquals(200, http.post("/api/v1/timers", ops + "]").status());
    }

    private static List<String> popped(String queue) {
        return http.get("/api/v1/pop/queue/" + queue + "?wait=true&timeout=30000&autoAck=true")
                .payloads();
    }

    private static Json timer(String queue, String key) {
        return http.get("/api/v1/timers/" + queue + "/" + key).json();
    }

    @Test
    @Contract("timer-19")
    void aServerThatIsAtOddsWithItselfMakesNoDeadLetters() throws SQLException {
        trouble("unlucky", "raise exception 'lost' using errcode = 'XX000'");
        schedule("odd", "unlucky");
        Await.until(
                "a fire that came to nothing",
                () ->
                        !broker.metrics()
                                .contains(
                                        "queen_timers_fire_failures_total{class=\"transient\"} 0"));
        assertEquals("0", timer("odd", "unlucky").text("attempts"));
        noTrouble();
        assertEquals(List.of("unlucky"), popped("odd"));
    }

    @Test
    @Contract("timer-19")
    void aPartitionThatTakesTooLongDelaysNoOther() throws SQLException {
        trouble("endless", "perform pg_sleep(60)");
        schedule("slow", "endless", "quick");
        assertEquals(List.of("quick"), popped("slow"));
        Json endless = timer("slow", "endless");
        assertTrue(endless.bool("found"), endless.toString());
        assertEquals("0", endless.text("attempts"));
        noTrouble();
        assertEquals("cancelled", http.delete("/api/v1/timers/slow/endless").json().text("status"));
    }

    @Test
    void whereItIsSaidSoAllOfACommitAreCharged() throws SQLException {
        trouble("poison", "raise exception 'this one is poison'");
        schedule("shared", "poison", "innocent");
        Await.until("two dead letters", () -> dead("shared").equals(List.of("innocent", "poison")));
        assertTrue(!timer("shared", "innocent").bool("found"));
    }

    private static List<String> dead(String queue) throws SQLException {
        try (Connection connection = database.connect()) {
            return Lines.lines(
                    connection,
                    "select partition from queen.dead_letters where queue = '%s' order by 1"
                            .formatted(queue));
        }
    }

    @Test
    void severalSweepersDeliverEachTimerOnce() throws SQLException {
        try (TestDatabase own = TestDatabase.migrated();
                TestBroker many =
                        TestBroker.withEnvironment(own, Map.of("QUEEN_SWEEPER_PARALLELISM", "3"));
                Connection connection = own.connect()) {
            assertTrue(
                    many.metrics().contains("queen_runtime_loop_idle_seconds{loop=\"sweeper-3\"}"));
            Lines.lines(
                    connection,
                    """
                    begin;
                    insert into queen_store.timers (
                        tenant_id, queue, timer_key, partition, deliver_at, transaction_id,
                        message_id, payload)
                    select '00000000-0000-0000-0000-000000000001', 'q' || i % 7, 'k' || i, 'p',
                           clock_timestamp(), 't' || i, gen_random_uuid(), '1'
                    from generate_series(1, 1000) i;
                    notify queen_hints, 't:1';
                    commit
                    """);
            Await.until(
                    "none is left",
                    () ->
                            Lines.line(connection, "select count(*) from queen_store.timers")
                                    .equals("0"));
            assertEquals(
                    "1000|1000",
                    Lines.line(
                            connection,
                            "select count(*), count(distinct transaction_id) from queen.messages"));
        }
    }
}
