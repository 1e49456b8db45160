package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TestBroker;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a pop with {@code wait=true} waits for, and for how long. */
class PopWaitHttpTest {
    private static TestBroker broker;
    private static Http http;

    @BeforeAll
    static void start() {
        broker = TestBroker.start();
        http = broker.http();
    }

    @AfterAll
    static void stop() {
        broker.close();
    }

    private static String fresh(String name) {
        return name + "-" + UUID.randomUUID();
    }

    @Test
    @Contract({"push-13", "pop-wait-1"})
    void aParkedPollIsWokenByAPushToABrandNewLane() throws Exception {
        String queue = fresh("wake");
        CompletableFuture<Http.Reply> poll =
                http.getLater("/api/v1/pop/queue/" + queue + "?wait=true&timeout=30000");
        http.push(queue, "new", "1");
        assertEquals(List.of("1"), poll.get().payloads());
    }

    @Test
    @Contract("pop-first-8")
    void aParkedPollOfANewGroupGetsTheMessageThatWakesIt() throws Exception {
        String queue = fresh("wakegroup");
        http.push(queue, "old", "0");
        assertEquals(204, http.pop(queue, "consumerGroup=g").status());
        CompletableFuture<Http.Reply> poll =
                http.getLater(
                        "/api/v1/pop/queue/" + queue + "?wait=true&timeout=30000&consumerGroup=g");
        http.push(queue, "new", "1");
        assertEquals(List.of("1"), poll.get().payloads());
    }

    @Test
    @Contract("pop-first-8")
    void aParkedPinnedPollWaitsForItsLane() throws Exception {
        String queue = fresh("wakepinned");
        CompletableFuture<Http.Reply> poll =
                http.getLater(
                        "/api/v1/pop/queue/" + queue + "/partition/b?wait=true&timeout=30000");
        http.push(queue, "a", "1");
        http.push(queue, "b", "2");
        assertEquals(List.of("2"), poll.get().payloads());
    }

    @Test
    @Contract({"pop-first-8", "pop-wait-1"})
    void aParkedDiscoveryPollIsWokenByAQueueThatDidNotExist() throws Exception {
        String namespace = fresh("wakens");
        CompletableFuture<Http.Reply> poll =
                http.getLater("/api/v1/pop?wait=true&timeout=30000&namespace=" + namespace);
        http.push(namespace + ".t", "p", "1");
        assertEquals(List.of("1"), poll.get().payloads());
    }

    @Test
    @Contract("pop-wait-1")
    void aParkedPollIsWokenByTheAckThatFreesTheLane() throws Exception {
        String queue = fresh("wakeack");
        http.push(queue, "p", "1", "2");
        Json first = http.pop(queue, "batch=1").json();
        CompletableFuture<Http.Reply> poll =
                http.getLater("/api/v1/pop/queue/" + queue + "?wait=true&timeout=30000");
        http.ack(first, 0, "completed");
        assertEquals(List.of("2"), poll.get().payloads());
    }

    @Test
    @Contract({"pop-param-5", "pop-param-6", "pop-wait-2"})
    void aLongPollEndsWith204AtItsDeadline() {
        String queue = fresh("deadline");
        assertEquals(204, http.pop(queue, "wait=true&timeout=100").status());
        assertEquals(204, http.pop(queue, "wait=true&timeout=0").status());
    }

    @Test
    @Contract({"option-6", "pop-wait-1"})
    void aDelayedMessageWakesTheParkedPollWhenItIsDue() {
        String queue = fresh("due");
        http.post(
                "/api/v1/configure",
                "{\"queue\":\"" + queue + "\",\"options\":{\"delayedProcessing\":1}}");
        http.push(queue, "p", "1");
        assertEquals(List.of("1"), http.pop(queue, "wait=true&timeout=30000").payloads());
    }

    @ParameterizedTest
    @ValueSource(strings = {"failed", "retry"})
    @Contract({"pop-wait-1", "ack-rule-7", "ack-rule-8", "retry-6"})
    void aParkedPollIsWokenByTheNackThatGivesBack(String status) throws Exception {
        String queue = fresh("wakenack");
        http.push(queue, "p", "1", "2", "3");
        Json first = http.pop(queue, "").json();
        CompletableFuture<Http.Reply> poll =
                http.getLater("/api/v1/pop/queue/" + queue + "?wait=true&timeout=30000");
        broker.awaitParked(1);
        http.ack(first, 1, status);
        assertEquals(List.of("1", "2", "3"), poll.get().payloads());
    }

    @Test
    @Contract({"pop-wait-1", "ack-rule-10"})
    void aParkedPollIsWokenByTheNackThatGivesUp() throws Exception {
        String queue = fresh("wakedlq");
        http.push(queue, "p", "1", "2");
        Json first = http.pop(queue, "").json();
        CompletableFuture<Http.Reply> poll =
                http.getLater(
                        "/api/v1/pop/queue/" + queue + "/partition/p?wait=true&timeout=30000");
        broker.awaitParked(1);
        http.ack(first, 0, "dlq");
        assertEquals(List.of("2"), poll.get().payloads());
    }

    @Test
    @Contract("pop-wait-5")
    void aParkedPollGoesOnInTheQueueThatIsMadeAgain() throws Exception {
        String queue = fresh("remade");
        http.push(queue, "p", "1");
        http.pop(queue, "autoAck=true");
        CompletableFuture<Http.Reply> poll =
                http.getLater("/api/v1/pop/queue/" + queue + "?wait=true&timeout=30000");
        broker.awaitParked(1);
        assertEquals(
                "true", http.delete("/api/v1/resources/queues/" + queue).json().text("deleted"));
        http.push(queue, "p", "2");
        assertEquals(List.of("2"), poll.get().payloads());
    }

    @Test
    @Contract({"pop-window-1", "pop-window-2", "option-9"})
    void aWindowHoldsALaneOnEveryRouteUntilAHundredMessagesWait() throws Exception {
        String queue = fresh("window");
        http.post(
                "/api/v1/configure",
                "{\"queue\":\"%s\",\"namespace\":\"%s\",\"windowBuffer\":3600}"
                        .formatted(queue, queue));
        http.push(queue, "p", Collections.nCopies(99, "1").toArray(String[]::new));
        List<String> routes =
                List.of(
                        "/api/v1/pop/queue/" + queue + "?",
                        "/api/v1/pop/queue/" + queue + "/partition/p?",
                        "/api/v1/pop?namespace=" + queue + "&");
        for (String route : routes) {
            assertEquals(204, http.get(route + "autoAck=true").status(), route);
        }
        List<CompletableFuture<Http.Reply>> polls = new ArrayList<>();
        for (int i = 0; i < routes.size(); i++) {
            String query = "wait=true&subscriptionMode=all&consumerGroup=g" + i;
            polls.add(http.getLater(routes.get(i) + query));
        }
        broker.awaitParked(3);
        http.push(queue, "p", "2");
        for (CompletableFuture<Http.Reply> poll : polls) {
            assertEquals(100, poll.get().json().size("messages"));
        }
    }
}
