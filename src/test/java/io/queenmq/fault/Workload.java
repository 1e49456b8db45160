package io.queenmq.fault;

import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Producers and consumers that go on through any fault, as clients do: a push without a success is
 * sent again under the same transaction ids before anything later of its lane, a consumer that was
 * refused pops again. What they are told goes into the books.
 */
final class Workload implements AutoCloseable {
    private static final int BATCH = 5;
    private static final int LEASE_SECONDS = 3;
    private static final long RETRY_MILLIS = 50;

    private final URI broker;
    private final String queue;
    private final int lanes;
    private final Books books;
    private final CountDownLatch producingStopped = new CountDownLatch(1);
    private final CountDownLatch stopped = new CountDownLatch(1);
    private final List<Thread> producers = new ArrayList<>();
    private final List<Thread> consumers = new ArrayList<>();

    Workload(URI broker, String queue, int lanes) {
        this.broker = broker;
        this.queue = queue;
        this.lanes = lanes;
        this.books = new Books(lanes);
    }

    static String laneName(int lane) {
        return "lane-" + lane;
    }

    Books books() {
        return books;
    }

    /** Each producer has lanes of its own. */
    void start(int producerCount, int consumerCount) {
        for (int i = 0; i < producerCount; i++) {
            List<Integer> own = new ArrayList<>();
            for (int lane = i; lane < lanes; lane += producerCount) {
                own.add(lane);
            }
            producers.add(start(() -> produce(own)));
        }
        for (int i = 0; i < consumerCount; i++) {
            consumers.add(start(this::consume));
        }
    }

    private Thread start(Task task) {
        return Thread.ofVirtual()
                .start(
                        () -> {
                            try {
                                task.run();
                            } catch (InterruptedException e) {
                                Thread.currentThread().interrupt();
                            } catch (RuntimeException e) {
                                books.violation(e.toString());
                            }
                        });
    }

    private interface Task {
        void run() throws InterruptedException;
    }

    /** Ends the producers after their batch under way and waits until all has been delivered. */
    void finish() throws InterruptedException {
        producingStopped.countDown();
        for (Thread producer : producers) {
            producer.join();
        }
        books.awaitDelivered();
    }

    private void produce(List<Integer> own) throws InterruptedException {
        Http http = new Http(broker);
        int[] next = new int[lanes];
        while (producingStopped.getCount() > 0) {
            for (int lane : own) {
                pushBatch(http, lane, next[lane]);
                next[lane] += BATCH;
            }
        }
    }

    private void pushBatch(Http http, int lane, int first) throws InterruptedException {
        List<String> ids = new ArrayList<>();
        StringBuilder items = new StringBuilder();
        for (int i = 0; i < BATCH; i++) {
            ids.add(UUID.randomUUID().toString());
            items.append(i == 0 ? "" : ",").append(item(queue, lane, ids.get(i), first + i));
        }
        // An item that only ever failed is promised to be stored nowhere.
        boolean onlyFailed = true;
        boolean firstAttempt = true;
        while (stopped.getCount() > 0) {
            boolean doubtful = false;
            try {
                Http.Answer answer =
                        http.call("POST", "/api/v1/push", "{\"items\":[" + items + "]}");
                if (answer.status() == 201) {
                    int stored = 0;
                    boolean failed = false;
                    for (Map<String, Object> result : answer.results()) {
                        String status = String.valueOf(result.get("status"));
                        stored += status.equals("queued") || status.equals("duplicate") ? 1 : 0;
                        failed |= status.equals("failed");
                        if (status.equals("duplicate") && (firstAttempt || onlyFailed)) {
                            books.violation(
                                    "lane %d from %d: a duplicate of what was stored nowhere"
                                            .formatted(lane, first));
                        }
                    }
                    if (stored == BATCH) {
                        books.accepted(lane, BATCH);
                        return;
                    }
                    onlyFailed &= failed && stored == 0;
                } else if (answer.status() == 503) {
                    doubtful = true;
                } else {
                    books.violation("push answered " + answer);
                }
            } catch (IOException e) {
                // The broker is gone: it may have stored the batch or not.
                doubtful = true;
            }
            onlyFailed &= !doubtful;
            firstAttempt = false;
            books.refused(doubtful);
            pause();
        }
    }

    static String item(String queue, int lane, String transactionId, int sequence) {
        return """
               {"queue":"%s","partition":"%s","transactionId":"%s","payload":{"lane":%d,"seq":%d}}\
               """
                .formatted(queue, laneName(lane), transactionId, lane, sequence);
    }

    private void consume() throws InterruptedException {
        Http http = new Http(broker);
        String pop =
                "/api/v1/pop/queue/%s?batch=20&partitions=2&wait=true&timeout=1000&leaseSeconds=%d"
                        .formatted(queue, LEASE_SECONDS);
        while (stopped.getCount() > 0) {
            try {
                Http.Answer answer = http.call("GET", pop, "");
                if (answer.status() == 200) {
                    handle(http, answer.messages());
                } else if (answer.status() != 204) {
                    pause();
                }
            } catch (IOException e) {
                // The batch, if there was one, comes again when its lease has ended.
                pause();
            }
        }
    }

    private void handle(Http http, List<Map<String, Object>> messages)
            throws IOException, InterruptedException {
        Map<Integer, List<Integer>> byLane = new TreeMap<>();
        StringBuilder acks = new StringBuilder();
        for (Map<String, Object> message : messages) {
            Map<?, ?> data = (Map<?, ?>) message.get("data");
            int lane = ((Long) data.get("lane")).intValue();
            if (!laneName(lane).equals(message.get("partition"))) {
                books.violation("a message of " + laneName(lane) + " in " + message);
            }
            byLane.computeIfAbsent(lane, l -> new ArrayList<>())
                    .add(((Long) data.get("seq")).intValue());
            acks.append(acks.isEmpty() ? "" : ",")
                    .append(
                            """
                            {"transactionId":"%s","partitionId":"%s","leaseId":"%s"}\
                            """
                                    .formatted(
                                            message.get("transactionId"),
                                            message.get("partitionId"),
                                            message.get("leaseId")));
        }
        byLane.forEach(
                (lane, list) -> books.delivered(lane, list.stream().mapToInt(i -> i).toArray()));
        Http.Answer answer =
                http.call("POST", "/api/v1/ack/batch", "{\"acknowledgments\":[" + acks + "]}");
        if (answer.status() == 200) {
            List<Map<String, Object>> results = answer.results();
            for (Map.Entry<Integer, List<Integer>> entry : byLane.entrySet()) {
                // Messages of a lane lie together, though not in the order of the map.
                int at = firstOf(messages, entry.getKey());
                List<Integer> list = entry.getValue();
                boolean all = true;
                for (int i = 0; i < list.size(); i++) {
                    all &= Boolean.TRUE.equals(results.get(at + i).get("success"));
                }
                if (all) {
                    books.acked(entry.getKey(), list.getLast());
                }
            }
        }
    }

    private static int firstOf(List<Map<String, Object>> messages, int lane) {
        int at = 0;
        while (!laneName(lane).equals(messages.get(at).get("partition"))) {
            at++;
        }
        return at;
    }

    private void pause() throws InterruptedException {
        boolean over = stopped.await(RETRY_MILLIS, TimeUnit.MILLISECONDS);
        if (over) {
            throw new InterruptedException("stopped");
        }
    }

    @Override
    public void close() {
        producingStopped.countDown();
        stopped.countDown();
        try {
            for (Thread thread : producers) {
                thread.join();
            }
            for (Thread thread : consumers) {
                thread.join();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
