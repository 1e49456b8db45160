package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TestBroker;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/**
 * Goal: with many producers and consumers at once every message is delivered exactly once per group
 * and in the order of its lane. Method: each producer owns some lanes and numbers what it pushes
 * there; consumers of two groups pop several lanes at a time and acknowledge part by part; a lane
 * is held by one consumer at a time, so what they note down together must count up by one.
 */
class ManyClientsHttpTest {
    private static final int PRODUCERS = 8;
    private static final int LANES_EACH = 4;
    private static final int PER_LANE = 300;
    private static final int CONSUMERS_EACH = 6;
    private static final int TOTAL = PRODUCERS * LANES_EACH * PER_LANE;

    @Test
    @Contract({"model-4", "pop-claim-8"})
    void everyGroupSeesEveryLaneInOrderAndOnce() throws Exception {
        try (TestBroker broker = TestBroker.start();
                ExecutorService clients = Executors.newVirtualThreadPerTaskExecutor()) {
            Http http = broker.http();
            List<Future<?>> work = new ArrayList<>();
            Map<String, Group> groups = Map.of("a", new Group(), "b", new Group());
            groups.forEach(
                    (name, group) -> {
                        for (int i = 0; i < CONSUMERS_EACH; i++) {
                            work.add(clients.submit(() -> consume(http, name, group)));
                        }
                    });
            for (int p = 0; p < PRODUCERS; p++) {
                int producer = p;
                work.add(clients.submit(() -> produce(http, producer)));
            }
            for (Future<?> each : work) {
                each.get();
            }
            for (Group group : groups.values()) {
                assertEquals(List.of(), group.faults);
                assertEquals(PRODUCERS * LANES_EACH, group.next.size());
                group.next.values().forEach(next -> assertEquals(PER_LANE, next));
            }
        }
    }

    /** What the consumers of a group have seen: the next number of each lane. */
    private static final class Group {
        final Map<String, Integer> next = new ConcurrentHashMap<>();
        final AtomicInteger seen = new AtomicInteger();
        final List<String> faults = new ArrayList<>();
    }

    private static void produce(Http http, int producer) {
        Map<Integer, Integer> next = new HashMap<>();
        int sent = 0;
        while (sent < LANES_EACH * PER_LANE) {
            List<String> items = new ArrayList<>();
            for (int lane = 0; lane < LANES_EACH; lane++) {
                int burst = Math.min(1 + (sent + lane) % 7, PER_LANE - next.getOrDefault(lane, 0));
                for (int i = 0; i < burst; i++) {
                    int number = next.merge(lane, 1, Integer::sum) - 1;
                    items.add(
                            Http.item(
                                    "many",
                                    "lane-" + producer + "-" + lane,
                                    null,
                                    Integer.toString(number)));
                }
            }
            Json results = http.pushItems(items).json();
            for (int i = 0; i < items.size(); i++) {
                assertEquals("queued", results.text(i, "status"));
            }
            sent += items.size();
        }
    }

    private static void consume(Http http, String name, Group group) {
        String query =
                "wait=true&timeout=1000&batch=50&partitions=4&subscriptionMode=all&consumerGroup="
                        + name;
        while (group.seen.get() < TOTAL) {
            Http.Reply reply = http.pop("many", query);
            if (reply.status() == 204) {
                continue;
            }
            Json popped = reply.json();
            int messages = popped.size("messages");
            int[] all = new int[messages];
            for (int i = 0; i < messages; i++) {
                all[i] = i;
                String lane = popped.text("messages", i, "partition");
                int number = Integer.parseInt(popped.text("messages", i, "data"));
                int wanted = group.next.getOrDefault(lane, 0);
                if (number != wanted) {
                    synchronized (group.faults) {
                        group.faults.add(lane + ": " + number + " instead of " + wanted);
                    }
                }
                group.next.put(lane, number + 1);
            }
            if (messages > 10) {
                assertTrue(http.ackBatch(popped, "completed", 0).bool(0, "success"));
            }
            Json acked = http.ackBatch(popped, "completed", all);
            assertTrue(acked.bool(messages - 1, "success"), acked.toString());
            group.seen.addAndGet(messages);
        }
    }
}
