package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TestBroker;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Where a group begins, route by route, in lanes that exist and in those that come later. */
class FirstContactHttpTest {
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

    private static List<String> sorted(Http.Reply reply) {
        List<String> payloads = new ArrayList<>(reply.payloads());
        payloads.sort(null);
        return payloads;
    }

    @Test
    @Contract("pop-first-4")
    void aPointInTimeHoldsForLanesMadeLaterToo() {
        String queue = fresh("later");
        http.push(queue, "old", "1");
        String first = http.pop(queue, "autoAck=true").json().text("messages", 0, "createdAt");
        String past = Instant.parse(first).plusNanos(1_000).toString();
        String from = "consumerGroup=past&subscriptionFrom=" + Http.encode(past);
        assertEquals(204, http.pop(queue, from).status());
        String tomorrow = Instant.parse(first).plusSeconds(86_400).toString();
        String ahead = "consumerGroup=ahead&subscriptionFrom=" + Http.encode(tomorrow);
        assertEquals(204, http.pop(queue, ahead).status());

        http.push(queue, "old", "2");
        http.push(queue, "new", "3");
        assertEquals(List.of("2", "3"), sorted(http.pop(queue, "partitions=0&" + from)));
        // None of what is stored is from tomorrow on, so it is what comes: nothing is skipped.
        assertEquals(List.of("2", "3"), sorted(http.pop(queue, "partitions=0&" + ahead)));
    }

    @Test
    @Contract("pop-first-5")
    void aPointThatCannotBeReadIsNowOnEveryRoute() {
        String namespace = fresh("unread");
        String queue = namespace + ".t";
        http.push(queue, "p", "1");
        List<String> routes =
                List.of(
                        "/api/v1/pop/queue/" + queue + "?consumerGroup=a",
                        "/api/v1/pop/queue/" + queue + "/partition/p?consumerGroup=b",
                        "/api/v1/pop?namespace=" + namespace + "&consumerGroup=c");
        for (String route : routes) {
            assertEquals(204, http.get(route + "&subscriptionFrom=yesterday").status(), route);
        }
        http.push(queue, "p", "2");
        for (String route : routes) {
            assertEquals(List.of("2"), http.get(route).payloads(), route);
        }
    }

    @Test
    @Contract("pop-first-6")
    void aPinnedPopDecidesForItsLaneAlone() {
        String queue = fresh("pinned");
        http.push(queue, "a", "1");
        http.push(queue, "b", "2");
        String lane = "/api/v1/pop/queue/" + queue + "/partition/a?consumerGroup=g";
        assertEquals(List.of("1"), http.get(lane + "&subscriptionMode=all").payloads());
        assertEquals(204, http.pop(queue, "consumerGroup=g&partitions=0").status());
        http.push(queue, "b", "3");
        assertEquals(List.of("3"), http.pop(queue, "consumerGroup=g&partitions=0").payloads());
    }

    @Test
    @Contract({"pop-first-6", "pop-first-1"})
    void aPinnedPopFollowsWhatTheGroupHasStored() {
        String queue = fresh("stored");
        http.push(queue, "a", "1");
        assertEquals(
                List.of("1"), http.pop(queue, "consumerGroup=g&subscriptionMode=all").payloads());
        http.push(queue, "b", "2");
        assertEquals(
                List.of("2"),
                http.get(
                                "/api/v1/pop/queue/"
                                        + queue
                                        + "/partition/b?consumerGroup=g&subscriptionMode=new")
                        .payloads());
    }

    @Test
    @Contract("pop-param-7")
    void discoveryLeasesEveryQueueForItsOwnTime() {
        String namespace = fresh("times");
        for (String[] queue : new String[][] {{"short", "100"}, {"long", "9000"}}) {
            http.post(
                    "/api/v1/configure",
                    "{\"queue\":\"%s.%s\",\"namespace\":\"%s\",\"leaseTime\":%s}"
                            .formatted(namespace, queue[0], namespace, queue[1]));
            http.push(namespace + "." + queue[0], "p", "\"" + queue[0] + "\"");
        }
        for (int i = 0; i < 2; i++) {
            Instant before = Instant.now();
            Json popped = http.get("/api/v1/pop?namespace=" + namespace).json();
            long seconds = popped.text("messages", 0, "data").equals("short") ? 100 : 9_000;
            Instant expires =
                    Instant.parse(
                            http.post(
                                            "/api/v1/lease/" + popped.text("leaseId") + "/extend",
                                            "{\"seconds\":1}")
                                    .json()
                                    .text("expiresAt"));
            Instant earliest = before.plusSeconds(seconds - 1);
            Instant latest = Instant.now().plusSeconds(seconds + 1);
            assertEquals(false, expires.isBefore(earliest), expires + " of " + seconds);
            assertEquals(false, expires.isAfter(latest), expires + " of " + seconds);
        }
    }

    @Test
    @Contract({"model-7", "model-9", "pop-answer-5"})
    void whoNamesNoGroupIsToldTheNameOfIts() {
        String queue = fresh("unnamed");
        http.push(queue, "p", "1", "2");
        Json json = http.pop(queue, "autoAck=true&consumerGroup=").json();
        assertEquals("__QUEUE_MODE__", json.text("consumerGroup"));
        assertEquals("__QUEUE_MODE__", json.text("messages", 1, "consumerGroup"));
        assertEquals(json.text("messages", 0, "createdAt"), json.text("messages", 1, "createdAt"));
        assertEquals(
                List.of("1", "2"),
                http.pop(queue, "consumerGroup=late&subscriptionMode=all").payloads(),
                "nothing was removed");
    }
}
