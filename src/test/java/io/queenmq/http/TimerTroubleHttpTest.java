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
 * Trouble that is no timer's fault. Statements may take a second here, and one attempt that is
 * charged makes a dead letter.
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
}
