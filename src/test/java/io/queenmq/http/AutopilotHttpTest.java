package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Pops that leave to the broker how much they take. */
class AutopilotHttpTest {
    private static final String LEFT = "autopilot=true&consumerGroup=g&subscriptionMode=all";

    private static TestDatabase database;
    private static TestBroker broker;
    private static Http http;

    @BeforeAll
    static void start() {
        database = TestDatabase.migrated();
        broker = TestBroker.on(database);
        http = broker.http();
    }

    @AfterAll
    static void stop() {
        broker.close();
        database.close();
    }

    private static String filled(int lanes) {
        String queue = "autopilot-" + UUID.randomUUID();
        List<String> items = new ArrayList<>();
        for (int lane = 0; lane < lanes; lane++) {
            items.add(Http.item(queue, "p" + lane, null, "1"));
            items.add(Http.item(queue, "p" + lane, null, "2"));
        }
        http.pushItems(items);
        return queue;
    }

    @Test
    @Contract({"pop-auto-1", "pop-auto-2", "pop-param-10"})
    void aPopThatNamesNothingGetsTheLanesThatAreReadyAndIsToldHowMany() {
        String queue = filled(10);
        Json json = http.pop(queue, LEFT).json();
        assertEquals(20, json.size("messages"));
        assertEquals("10", json.text("partitionsClaimed"));
        assertEquals(List.of("partitions", "batch", "waitMs"), json.names("autopilot"));
        assertEquals("10", json.text("autopilot", "partitions"));
        assertEquals("100", json.text("autopilot", "batch"));
        int waitMillis = Integer.parseInt(json.text("autopilot", "waitMs"));
        assertTrue(waitMillis >= 25 && waitMillis <= 100, "advised " + waitMillis);
        Http.Reply empty = http.pop(queue, LEFT);
        assertEquals(204, empty.status(), "nothing left, and nothing to say about it");
    }

    @ParameterizedTest
    @CsvSource({
        "batch=3,3,3,3",
        "partitions=2,2,100,4",
        "partitions=4&batch=5,4,5,5",
        "partitions=0,64,100,20",
        "partitions=500&batch=1000000,64,10000,20"
    })
    @Contract("pop-auto-1")
    void whatThePopNamesHolds(String named, String lanes, String batch, int messages) {
        Json json = http.pop(filled(10), LEFT + "&" + named).json();
        assertEquals(lanes, json.text("autopilot", "partitions"));
        assertEquals(batch, json.text("autopilot", "batch"));
        assertEquals(messages, json.size("messages"));
    }

    @Test
    @Contract("pop-auto-3")
    void popsOfOtherKindsAreAsWithoutIt() {
        String queue = filled(3);
        for (String path :
                List.of(
                        "/api/v1/pop/queue/" + queue + "/partition/p0?" + LEFT,
                        "/api/v1/pop?namespace=" + queue + "&" + LEFT,
                        "/api/v1/pop/queue/" + queue + "?autopilot=true",
                        "/api/v1/pop/queue/" + queue + "?consumerGroup=h&subscriptionMode=all")) {
            Json json = http.get(path).json();
            assertEquals(List.of("1", "2"), json.each("messages", "data"), path);
            assertFalse(json.names().contains("autopilot"), path);
        }
        Json conflating =
                http.pop(queue, LEFT.replace("=g", "=newest") + "&conflation=true").json();
        assertEquals(List.of("2", "2", "2"), conflating.each("messages", "data"));
        assertFalse(conflating.names().contains("autopilot"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"off", "shadow"})
    @Contract("pop-auto-3")
    void switchedOffThePopIsAsWithoutIt(String mode) {
        try (TestBroker other =
                TestBroker.withEnvironment(database, Map.of("QUEEN_POP_AUTOPILOT", mode))) {
            Json json = other.http().pop(filled(3), LEFT).json();
            assertEquals(List.of("1", "2"), json.each("messages", "data"));
            assertFalse(json.names().contains("autopilot"));
            boolean shadow = mode.equals("shadow");
            assertEquals(shadow ? 1 : 0, other.metric("queen_pop_autopilot_total"));
            assertEquals(shadow ? 3 : 0, other.metric("queen_pop_autopilot_lanes_total"));
        }
    }

    @Test
    @Contract({"pop-auto-2", "pop-fill-1"})
    void whatItChoosesIsSetByTheOperatorAndMakesABatchFull() throws Exception {
        try (TestBroker other =
                TestBroker.withEnvironment(
                        database,
                        Map.of(
                                "QUEEN_POP_AUTOPILOT_BATCH", "3",
                                "QUEEN_POP_AUTOPILOT_MAX_LANES", "1"))) {
            String queue = filled(1);
            other.http()
                    .post(
                            "/api/v1/configure",
                            "{\"queue\":\"%s\",\"options\":{\"minPopWaitTime\":60000}}"
                                    .formatted(queue));
            CompletableFuture<Http.Reply> held =
                    other.http()
                            .getLater(
                                    "/api/v1/pop/queue/%s?wait=true&timeout=100000&%s"
                                            .formatted(queue, LEFT));
            other.awaitParked(1);
            other.http().push(queue, "p0", "3", "4");
            Json json = held.get().json();
            assertEquals(List.of("1", "2", "3"), json.each("messages", "data"));
            assertEquals("3", json.text("autopilot", "batch"));
            assertEquals(0, other.metric("queen_pop_autopilot_forgotten_total"));
            other.http().pop(filled(1), LEFT);
            assertEquals(1, other.metric("queen_pop_autopilot_forgotten_total"));
        }
    }
}
