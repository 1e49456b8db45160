package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TestBroker;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Delays and windows together with redelivery, changed options, timers and conflation. */
class VisibilityHttpTest {
    private static TestBroker broker;
    private static Http http;

    private final String queue = "visibility-" + UUID.randomUUID();

    @BeforeAll
    static void start() {
        broker = TestBroker.start();
        http = broker.http();
    }

    @AfterAll
    static void stop() {
        broker.close();
    }

    private void configure(String option, int value) {
        Http.Reply reply =
                http.post(
                        "/api/v1/configure",
                        "{\"queue\":\"%s\",\"options\":{\"%s\":%d}}"
                                .formatted(queue, option, value));
        assertEquals(200, reply.status(), reply.body());
    }

    /** Goal: whatever holds messages back, somebody who never stops writing starves nobody. */
    @ParameterizedTest
    @CsvSource({
        "windowBuffer, 1, ''",
        "delayedProcessing, 1, ''",
        "minPopWaitTime, 300, ''",
        "windowBuffer, 1, &conflation=true",
        "delayedProcessing, 1, &conflation=true",
        "windowBuffer, 1, &autopilot=true",
        "minPopWaitTime, 300, &autopilot=true"
    })
    @Contract({"pop-window-1", "pop-fill-1", "pop-conflate-2"})
    void aPartitionThatIsWrittenWithoutAPauseIsDelivered(String option, int value, String query) {
        configure(option, value);
        AtomicBoolean ended = new AtomicBoolean();
        CompletableFuture<Void> writer =
                CompletableFuture.runAsync(
                        () -> {
                            while (!ended.get()) {
                                http.push(queue, "p", "1");
                            }
                        });
        try {
            for (int turn = 0; turn < 4; turn++) {
                Http.Reply reply =
                        http.pop(
                                queue,
                                "consumerGroup=g&subscriptionMode=all&batch=10000&wait=true"
                                        + "&timeout=20000"
                                        + query);
                assertEquals(200, reply.status());
                Json popped = reply.json();
                int last = popped.size("messages") - 1;
                assertTrue(last >= 0, reply.body());
                assertTrue(http.ack(popped, last, "completed").bool(0, "success"));
            }
        } finally {
            ended.set(true);
            writer.join();
        }
    }

    /** Has a timer of no delay fire into lane p, and waits until its message is there. */
    private void fire(String payload) {
        Json results =
                http.post(
                                "/api/v1/timers",
                                """
                                [{"op":"schedule","queue":"%s","partition":"p","key":"k",
                                  "delaySeconds":0,"payload":%s}]"""
                                        .formatted(queue, payload))
                        .json()
                        .at("results");
        assertTrue(results.bool(0, "ok"), results.toString());
        String path = "/api/v1/timers/" + queue + "/k";
        Await.until("the timer to fire", () -> !http.get(path).json().bool("found"));
    }

    @Test
    @Contract("pop-window-4")
    void whatIsDeliveredAgainIsNotDelayedAgain() {
        configure("delayedProcessing", 1);
        http.push(queue, "p", "1");
        Json first = http.pop(queue, "wait=true&timeout=30000").json();
        http.ack(first, 0, "retry");
        Http.Reply again = http.pop(queue, "");
        assertEquals(200, again.status(), "a second has not passed since it was given back");
        assertEquals(List.of("1"), again.payloads());
    }

    @Test
    @Contract("pop-window-6")
    void aWaitingPopNoticesADelayThatIsLowered() throws Exception {
        configure("delayedProcessing", 3600);
        http.push(queue, "p", "1");
        CompletableFuture<Http.Reply> parked =
                http.getLater("/api/v1/pop/queue/" + queue + "?wait=true&timeout=50000");
        broker.awaitParked(1);
        configure("delayedProcessing", 0);
        assertEquals(List.of("1"), parked.get().payloads());
    }

    @Test
    @Contract("pop-window-6")
    void aWaitingPopNoticesAWindowThatIsTakenAway() throws Exception {
        configure("windowBuffer", 3600);
        http.push(queue, "p", "1");
        CompletableFuture<Http.Reply> parked =
                http.getLater(
                        "/api/v1/pop/queue/" + queue + "/partition/p?wait=true&timeout=50000");
        broker.awaitParked(1);
        configure("windowBuffer", 0);
        assertEquals(List.of("1"), parked.get().payloads());
    }

    @Test
    @Contract("pop-window-5")
    void theMessageOfATimerIsDelayedFromItsDeliveryOn() {
        configure("delayedProcessing", 3600);
        fire("1");
        assertEquals(204, http.pop(queue, "").status());
        configure("delayedProcessing", 0);
        assertEquals(List.of("1"), http.pop(queue, "wait=true&timeout=30000").payloads());
    }

    @Test
    @Contract("pop-window-5")
    void theMessageOfATimerIsAWriteLikeAnyOther() {
        String newest = "consumerGroup=g&subscriptionMode=all&conflation=true";
        configure("windowBuffer", 3600);
        http.push(queue, "p", "1");
        fire("2");
        Http.Reply held = http.pop(queue, newest);
        assertEquals(200, held.status());
        assertEquals(0, held.json().size("messages"));
        configure("windowBuffer", 0);
        Json json = http.pop(queue, newest + "&wait=true&timeout=30000").json();
        assertEquals(List.of("2"), json.each("messages", "data"), "it supersedes the older");
        assertEquals("1", http.ack(json, 0, "completed").text(0, "conflated"));
    }

    /** A delay or a window that nobody waits for changes nothing: nothing is left behind by it. */
    @Test
    @Contract("pop-claim-5")
    void theCursorNeverMovesPastWhatIsHidden() {
        configure("delayedProcessing", 3600);
        http.push(queue, "p", "1");
        assertEquals(204, http.pop(queue, "autoAck=true").status());
        configure("delayedProcessing", 0);
        http.push(queue, "p", "2");
        assertEquals(List.of("1", "2"), http.pop(queue, "autoAck=true").payloads());
    }
}
