package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.TestBroker;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The option {@code minPopWaitTime}, from its configuration to the answers it puts off. */
class PopHoldHttpTest {
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

    private static void configure(String queue, int millis) {
        Http.Reply reply =
                http.post(
                        "/api/v1/configure",
                        "{\"queue\":\""
                                + queue
                                + "\",\"options\":{\"minPopWaitTime\":"
                                + millis
                                + "}}");
        assertEquals(200, reply.status());
        assertFalse(reply.body().contains("minPopWaitTime is stored"), reply.body());
    }

    @Test
    @Contract({"option-9", "pop-fill-1"})
    void aLongPollWaitsForAFullBatch() throws Exception {
        configure("fill", 60_000);
        http.push("fill", "p", "1");
        CompletableFuture<Http.Reply> held =
                http.getLater("/api/v1/pop/queue/fill?wait=true&timeout=100000&batch=3");
        broker.awaitParked(1);
        http.push("fill", "p", "2", "3");
        assertEquals(List.of("1", "2", "3"), held.get(40, TimeUnit.SECONDS).payloads());
    }

    @Test
    @Contract("pop-fill-1")
    void theOptionTurnedOffEndsTheHold() throws Exception {
        configure("off", 60_000);
        http.push("off", "p", "1");
        CompletableFuture<Http.Reply> held =
                http.getLater("/api/v1/pop/queue/off?wait=true&timeout=100000&batch=3");
        broker.awaitParked(1);
        configure("off", 0);
        assertEquals(List.of("1"), held.get(40, TimeUnit.SECONDS).payloads());
    }

    @Test
    @Contract("pop-fill-3")
    void aPopThatDoesNotWaitIsAnsweredAtOnce() throws Exception {
        configure("now", 60_000);
        http.push("now", "p", "1");
        CompletableFuture<Http.Reply> held =
                http.getLater("/api/v1/pop/queue/now?wait=true&timeout=2000&batch=3");
        broker.awaitParked(1);
        assertEquals(List.of("1"), http.pop("now", "batch=3&autoAck=true").payloads());
        assertEquals(204, held.get(40, TimeUnit.SECONDS).status());
    }
}
