package io.queenmq.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
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
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MaintenanceHttpTest {
    private static final String PUSHES = "/api/v1/system/maintenance";
    private static final String POPS = PUSHES + "/pop";

    private static TestDatabase database;
    private static TestBroker broker;
    private static TestBroker other;

    @BeforeAll
    static void start() {
        database = TestDatabase.migrated();
        broker = TestBroker.on(database);
        other = TestBroker.on(database);
        other.awaitListening();
    }

    @AfterAll
    static void stop() {
        broker.close();
        other.close();
        database.close();
    }

    private static Http.Reply set(boolean enabled) {
        Http.Reply reply = broker.http().post(POPS, "{\"enabled\":" + enabled + "}");
        assertEquals(200, reply.status(), reply.body());
        assertEquals(enabled, reply.json().bool("popMaintenanceMode"));
        return reply;
    }

    @Test
    @Contract({"switch-3", "pop-conflate-4"})
    void duringMaintenanceNobodyIsGivenAnythingAndNothingIsLost() {
        Http http = broker.http();
        CompletableFuture<Http.Reply> parked =
                http.getLater("/api/v1/pop/queue/orders?wait=true&timeout=30000&autoAck=true");
        broker.awaitParked(1);
        assertTrue(set(true).json().text("message").contains("ENABLED"));
        assertTrue(http.get(POPS).json().bool("popMaintenanceMode"));
        assertTrue(http.get(PUSHES).json().bool("popMaintenanceMode"));
        assertEquals(1, broker.metric("queen_pop_maintenance_mode_enabled"));
        http.push("orders", "p", "1");
        assertEquals(204, parked.join().status(), "woken, but given nothing");
        assertEquals(204, http.pop("orders", "wait=true&timeout=30000").status());
        Http.Reply conflating = http.pop("orders", "consumerGroup=g&conflation=true");
        assertEquals(200, conflating.status(), "who asks for a policy is told of it");
        assertTrue(
                conflating
                        .body()
                        .endsWith(
                                "\"messages\":[],\"partitionsClaimed\":0,\"paused\":true,\"conflation\":true}"),
                conflating.body());
        Await.until(
                "the other broker has heard of it",
                () -> other.http().get(POPS).json().bool("popMaintenanceMode"));
        assertEquals(204, other.http().pop("orders", "").status());
        set(false);
        assertEquals(List.of("1"), http.pop("orders", "autoAck=true").payloads());
        http.push("orders", "p", "2");
        Await.until(
                "the other broker delivers again",
                () -> other.http().pop("orders", "autoAck=true").status() == 200);
    }

    @Test
    @Contract("switch-4")
    void pushesAreNotKeptBack() {
        Http.Reply refused = broker.http().post(PUSHES, "{\"enabled\":true}");
        assertEquals(400, refused.status());
        assertTrue(refused.json().text("error").contains("disk spool"), refused.body());
        Http.Reply off = broker.http().post(PUSHES, "{\"enabled\":false}");
        assertEquals(200, off.status());
        assertEquals(
                List.of("maintenanceMode", "bufferedMessages", "bufferHealthy", "message"),
                off.json().names());
        Json state = broker.http().get(PUSHES).json();
        assertEquals(
                List.of(
                        "maintenanceMode",
                        "popMaintenanceMode",
                        "bufferedMessages",
                        "bufferHealthy",
                        "bufferStats"),
                state.names());
        assertTrue(state.bool("bufferStats", "dbHealthy"));
        assertEquals("0", state.text("bufferStats", "failedFiles", "count"));
    }

    /** A row that another broker, or somebody by hand, has written. */
    @Test
    @Contract("switch-3")
    void whoAsksHowItIsIsToldWhatTheDatabaseSays() throws SQLException {
        try (Connection connection = database.connect()) {
            Lines.lines(connection, "select queen_store.set_switches(array['pop'], array[false])");
            assertTrue(broker.http().get(PUSHES).json().bool("popMaintenanceMode"));
            Lines.lines(connection, "select queen_store.set_switches(array['pop'], array[true])");
            assertFalse(broker.http().get(PUSHES).json().bool("popMaintenanceMode"));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "{}", "{\"enabled\":\"yes\"}", "{\"enabled\":null}"})
    @Contract("switch-4")
    void withoutASwitchNothingChanges(String body) {
        for (String path : List.of(PUSHES, POPS)) {
            Http.Reply reply = broker.http().post(path, body);
            assertEquals(400, reply.status());
            assertEquals("{\"error\":\"enabled (boolean) is required\"}", reply.body());
        }
    }
}
