package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Http.Reply;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/**
 * 16 clients carry messages from a few lanes to a few others, each bundle over several of both in
 * random order, while plain pushes and SQL transactions write to the same lanes. No client may hear
 * of a deadlock, and every message must have been carried exactly once.
 */
class TransactStressHttpTest {
    private static final int CLIENTS = 16;
    private static final int SOURCES = 6;
    private static final int TARGETS = 5;
    private static final int MESSAGES_OF_LANE = 60;
    private static final int NOISE = 40;

    @Contract("tx-11")
    @Test
    void bundlesOverSharedLanesNeverDeadlockAndCarryEveryMessageOnce() throws Exception {
        long seed = new Random().nextLong();
        try (TestBroker one = TestBroker.start();
                TestBroker two = TestBroker.on(one.database());
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<String> sent = fill(one.http());
            AtomicInteger left = new AtomicInteger(sent.size());
            List<Future<?>> clients = new ArrayList<>();
            for (int c = 0; c < CLIENTS; c++) {
                Http http = (c % 2 == 0 ? one : two).http();
                Random random = new Random(seed + c);
                clients.add(threads.submit(() -> carry(http, random, left)));
            }
            Future<?> noise = threads.submit(() -> pushNoise(one.http(), new Random(seed)));
            Future<?> sql = threads.submit(() -> transactInSql(one.database(), new Random(seed)));
            for (Future<?> client : clients) {
                client.get();
            }
            noise.get();
            sql.get();
            try (Connection connection = one.database().connect()) {
                assertEquals(
                        sent.stream().sorted().toList(),
                        TestDatabase.rows(
                                        connection,
                                        "select payload from queen.messages where queue = 'out'"
                                                + " and payload not like '\"noise%'")
                                .stream()
                                .map(row -> Objects.toString(row[0]))
                                .sorted()
                                .toList(),
                        "seed " + seed);
                assertEquals(
                        List.of(),
                        TestDatabase.rows(
                                connection,
                                "select p.queue, p.partition, v.* from queen.partitions p cross"
                                        + " join lateral queen.violations(p.queue, p.partition) v"));
                assertEquals(
                        0L,
                        TestDatabase.rows(
                                        connection,
                                        "select sum(lag)::bigint from queen.cursors where queue ="
                                                + " 'in'")
                                .getFirst()[0]);
            }
        }
    }

    private static List<String> fill(Http http) {
        List<String> sent = new ArrayList<>();
        for (int lane = 0; lane < SOURCES; lane++) {
            List<String> payloads = new ArrayList<>();
            for (int i = 0; i < MESSAGES_OF_LANE; i++) {
                payloads.add("\"" + lane + "/" + i + "\"");
            }
            http.push("in", "s" + lane, payloads.toArray(String[]::new));
            sent.addAll(payloads);
        }
        return sent;
    }

    private static void carry(Http http, Random random, AtomicInteger left) {
        while (left.get() > 0) {
            Reply reply = http.pop("in", "batch=6&partitions=3");
            if (reply.status() == 204) {
                continue;
            }
            Json popped = reply.json();
            List<String> operations = new ArrayList<>();
            for (int i = 0; i < popped.size("messages"); i++) {
                Json message = popped.at("messages", i);
                operations.add(
                        "{\"type\":\"ack\",\"transactionId\":\""
                                + message.text("transactionId")
                                + "\",\"partitionId\":\""
                                + message.text("partitionId")
                                + "\"}");
                operations.add(
                        push(
                                random.nextInt(TARGETS),
                                "of-" + message.text("transactionId"),
                                "\"" + message.text("data") + "\""));
            }
            Collections.shuffle(operations, random);
            Reply answer =
                    http.post(
                            "/api/v1/transaction",
                            "{\"requiredLeases\":[\""
                                    + popped.text("leaseId")
                                    + "\"],\"operations\":["
                                    + String.join(",", operations)
                                    + "]}");
            assertEquals(200, answer.status(), answer.body());
            assertTrue(answer.json().bool("success"), answer.body());
            left.addAndGet(-popped.size("messages"));
        }
    }

    private static String push(int lane, String id, String payload) {
        return "{\"type\":\"push\",\"items\":[" + Http.item("out", "t" + lane, id, payload) + "]}";
    }

    private static void pushNoise(Http http, Random random) {
        for (int i = 0; i < NOISE; i++) {
            http.push("out", "t" + random.nextInt(TARGETS), "\"noise " + i + "\"");
        }
    }

    private static Void transactInSql(TestDatabase database, Random random) throws Exception {
        try (Connection connection = database.connect()) {
            for (int i = 0; i < NOISE; i++) {
                Set<String> lanes = new LinkedHashSet<>();
                lanes.add("t" + random.nextInt(TARGETS));
                lanes.add("t" + random.nextInt(TARGETS));
                String[] queues = lanes.stream().map(lane -> "out").toArray(String[]::new);
                String[] payloads =
                        lanes.stream().map(lane -> "\"noise in SQL\"").toArray(String[]::new);
                TestDatabase.rows(
                        connection,
                        "select from queen.transact(?, ?, ?)",
                        queues,
                        lanes.toArray(String[]::new),
                        payloads);
            }
        }
        return null;
    }
}
