package io.queenmq.fault;

import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
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
    private static final long RETRY_MILLIS = 50;

    private final List<URI> brokers;
    private final String queue;
    private final int lanes;
    private final Books books;
    private int leaseSeconds = 2;
    private boolean spread;
    private int clients;
    private final CountDownLatch producingStopped = new CountDownLatch(1);
    private final CountDownLatch stopped = new CountDownLatch(1);
    private final Set<String> groups = new TreeSet<>();
    private final List<Thread> producers = new ArrayList<>();
    private final List<Thread> consumers = new ArrayList<>();

    /**
     * @param brokers each client begins with the first one, and goes to the next when one fails it
     */
    Workload(String queue, int lanes, URI... brokers) {
        this.brokers = List.of(brokers);
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

    String queue() {
        return queue;
    }

    /** What its consumers pop as. */
    Set<String> groups() {
        return groups;
    }

    /** Half of the clients begin with the second broker. */
    Workload spread() {
        spread = true;
        return this;
    }

    Workload leaseSeconds(int seconds) {
        leaseSeconds = seconds;
        return this;
    }

    private Http client() {
        List<URI> mine = new ArrayList<>(brokers);
        if (spread) {
            Collections.rotate(mine, clients++);
        }
        return new Http(mine);
    }

    /** Each producer has lanes of its own. */
    void start(int producerCount, int consumerCount) {
        for (int i = 0; i < producerCount; i++) {
            List<Integer> own = new ArrayList<>();
            for (int lane = i; lane < lanes; lane += producerCount) {
                own.add(lane);
            }
            Http http = client();
            producers.add(start(() -> produce(http, own)));
        }
        for (int i = 0; i < consumerCount; i++) {
            consume(Consumer.Manner.WHOLE_BATCHES);
        }
    }

    /** One more consumer. */
    void consume(Consumer.Manner manner) {
        groups.add(manner.group);
        Consumer consumer = new Consumer(client(), queue, leaseSeconds, books, manner, this::pause);
        consumers.add(
                start(
                        () -> {
                            while (stopped.getCount() > 0) {
                                consumer.round();
                            }
                        }));
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

    private void produce(Http http, List<Integer> own) throws InterruptedException {
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
