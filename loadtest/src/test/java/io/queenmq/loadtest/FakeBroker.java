package io.queenmq.loadtest;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** One queue in memory behind the broker's routes, with faults that a verifier has to notice. */
final class FakeBroker implements AutoCloseable {
    /** What it does wrong, once, to the first lane that holds enough. */
    enum Fault {
        NONE,
        LOSES_ONE,
        SWAPS_TWO,
        REPEATS_ACKED,
        REDELIVERS_WITH_ATTEMPT
    }

    private record Message(String partition, String transactionId, String payload) {}

    private static final class Lane {
        private final List<Message> messages = new ArrayList<>();
        private int committed;
        private int leasedTo;
        private boolean leased;
        private int attempt = 1;
    }

    private static final Pattern ITEM =
            Pattern.compile(
                    "\"partition\":\"([^\"]+)\",\"transactionId\":\"([^\"]+)\","
                            + "\"payload\":(\\{.*?\\})\\}(?=[,\\]])");
    private static final Pattern ACK =
            Pattern.compile("\"transactionId\":\"([^\"]+)\",\"partitionId\":\"([^\"]+)\"");
    private static final int ENOUGH = 20;

    private final HttpServer server;
    private final ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor();
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Map<String, Lane> lanes = new LinkedHashMap<>();
    private final Fault fault;
    private boolean faultDone;

    FakeBroker(Fault fault) throws IOException {
        this.fault = fault;
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(executor);
        server.createContext("/api/v1/configure", e -> answer(e, 200, "{\"configured\":true}"));
        server.createContext("/api/v1/push", this::push);
        server.createContext("/api/v1/pop", this::pop);
        server.createContext("/api/v1/ack/batch", this::ack);
        server.start();
    }

    URI url() {
        return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
    }

    private void push(HttpExchange exchange) throws IOException {
        Matcher items = ITEM.matcher(body(exchange));
        StringBuilder results = new StringBuilder("[");
        lock.lock();
        try {
            while (items.find()) {
                Lane lane = lanes.computeIfAbsent(items.group(1), name -> new Lane());
                lane.messages.add(new Message(items.group(1), items.group(2), items.group(3)));
                results.append(results.length() == 1 ? "" : ",")
                        .append("{\"transaction_id\":\"" + items.group(2))
                        .append("\",\"status\":\"queued\"}");
                spoil(lane);
            }
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        answer(exchange, 201, results.append(']').toString());
    }

    private void spoil(Lane lane) {
        int size = lane.messages.size();
        if (faultDone || size < lane.leasedTo + ENOUGH) {
            return;
        }
        if (fault == Fault.LOSES_ONE) {
            lane.messages.remove(size - 5);
            faultDone = true;
        } else if (fault == Fault.SWAPS_TWO) {
            lane.messages.add(size - 5, lane.messages.remove(size - 4));
            faultDone = true;
        }
    }

    private void pop(HttpExchange exchange) throws IOException {
        lock.lock();
        try {
            long nanos = TimeUnit.SECONDS.toNanos(1);
            while (true) {
                for (Map.Entry<String, Lane> entry : lanes.entrySet()) {
                    Lane lane = entry.getValue();
                    if (!lane.leased && lane.committed < lane.messages.size()) {
                        boolean autoAck =
                                exchange.getRequestURI().getQuery().contains("autoAck=true");
                        answer(exchange, 200, lease(entry.getKey(), lane, autoAck));
                        return;
                    }
                }
                if (nanos <= 0) {
                    exchange.sendResponseHeaders(204, -1);
                    exchange.close();
                    return;
                }
                nanos = changed.awaitNanos(nanos);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            exchange.close();
        } finally {
            lock.unlock();
        }
    }

    private String lease(String name, Lane lane, boolean autoAck) {
        lane.leasedTo = Math.min(lane.messages.size(), lane.committed + 10);
        StringBuilder text = new StringBuilder("{\"success\":true,\"messages\":[");
        for (int i = lane.committed; i < lane.leasedTo; i++) {
            Message message = lane.messages.get(i);
            text.append(i == lane.committed ? "" : ",")
                    .append("{\"id\":\"x\",\"transactionId\":\"" + message.transactionId())
                    .append("\",\"traceId\":null,\"data\":" + message.payload())
                    .append(",\"partitionId\":\"" + name + "\",\"partition\":\"" + name)
                    .append("\",\"leaseId\":\"l\",\"deliveryAttempt\":" + lane.attempt + "}");
        }
        if (autoAck) {
            lane.committed = lane.leasedTo;
        } else {
            lane.leased = true;
        }
        lane.attempt = 1;
        return text.append("],\"partitionsClaimed\":1}").toString();
    }

    private void ack(HttpExchange exchange) throws IOException {
        Matcher acks = ACK.matcher(body(exchange));
        StringBuilder results = new StringBuilder("[");
        lock.lock();
        try {
            Lane lane = new Lane();
            boolean refused = false;
            while (acks.find()) {
                lane = lanes.getOrDefault(acks.group(2), lane);
                if (fault == Fault.REDELIVERS_WITH_ATTEMPT && !faultDone) {
                    refused = true;
                    faultDone = true;
                }
                results.append(results.length() == 1 ? "" : ",")
                        .append("{\"success\":" + !refused + ",\"error\":null}");
            }
            if (refused) {
                lane.attempt = 2;
            } else if (fault == Fault.REPEATS_ACKED && !faultDone) {
                faultDone = true;
            } else {
                lane.committed = lane.leasedTo;
            }
            lane.leased = false;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        answer(exchange, 200, results.append(']').toString());
    }

    private static String body(HttpExchange exchange) throws IOException {
        return new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
    }

    /** Every second answer in chunks: the generator has to read both. */
    private static void answer(HttpExchange exchange, int status, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        try {
            exchange.sendResponseHeaders(status, bytes.length % 2 == 0 ? 0 : bytes.length);
            exchange.getResponseBody().write(bytes);
            exchange.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        server.stop(0);
        executor.shutdownNow();
        executor.close();
    }
}
