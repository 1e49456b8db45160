package io.queenmq.loadtest;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;

/** Many queues with little traffic each, and a consumer parked on every one of them. */
final class SparseQueues implements AutoCloseable {
    private static final byte[] TRANSACTION =
            "\"transactionId\":".getBytes(StandardCharsets.US_ASCII);

    private final EventLoop loop = new EventLoop();
    private final InetSocketAddress address;
    private final String[] queues;
    private final long intervalMicros;
    private long pops;
    private long delivered;
    private boolean started;

    /**
     * @param perSecond messages per second of each queue
     */
    SparseQueues(URI url, String[] queues, int perSecond) {
        this.address = new InetSocketAddress(url.getHost(), url.getPort());
        this.queues = queues;
        this.intervalMicros = TimeUnit.SECONDS.toMicros(1) / perSecond;
    }

    /** Goes on for so long. */
    void run(double seconds) {
        if (!started) {
            started = true;
            for (int i = 0; i < queues.length; i++) {
                new Poller(queues[i]).pop();
                long phase = intervalMicros * i / queues.length;
                Pusher pusher = new Pusher(queues[i]);
                loop.after(phase, TimeUnit.MICROSECONDS, pusher::push);
            }
        }
        long until = System.nanoTime() + Plan.nanos(seconds);
        loop.runWhile(() -> System.nanoTime() < until);
    }

    /** Answers to pops, empty ones too. */
    long pops() {
        return pops;
    }

    long delivered() {
        return delivered;
    }

    @Override
    public void close() {
        loop.close();
    }

    private final class Pusher implements HttpConnection.Exchange {
        private final HttpConnection connection = new HttpConnection(loop, address);
        private final Bytes body;
        private long due = System.nanoTime();

        Pusher(String queue) {
            String item = "{\"items\":[{\"queue\":\"" + queue + "\",\"payload\":{\"n\":1}}]}";
            this.body = new Bytes(item.length()).add(item);
        }

        void push() {
            due = System.nanoTime() + TimeUnit.MICROSECONDS.toNanos(intervalMicros);
            connection.send("POST", "/api/v1/push", body, this);
        }

        @Override
        public void answered(int status, byte[] bytes, int from, int to) {
            Callers.expect(201, status, bytes, from, to);
            loop.at(due, this::push);
        }

        @Override
        public void broken(IOException cause) {
            throw new IllegalStateException(cause);
        }
    }

    private final class Poller implements HttpConnection.Exchange {
        private final HttpConnection connection = new HttpConnection(loop, address);
        private final String path;

        Poller(String queue) {
            this.path =
                    "/api/v1/pop/queue/"
                            + queue
                            + "?batch=100&wait=true&timeout=30000&autoAck=true";
        }

        void pop() {
            connection.send("GET", path, null, this);
        }

        @Override
        public void answered(int status, byte[] bytes, int from, int to) {
            pops++;
            for (int i = from; status == 200 && i + TRANSACTION.length < to; i++) {
                int k = 0;
                while (k < TRANSACTION.length && bytes[i + k] == TRANSACTION[k]) {
                    k++;
                }
                delivered += k == TRANSACTION.length ? 1 : 0;
            }
            pop();
        }

        @Override
        public void broken(IOException cause) {
            throw new IllegalStateException(cause);
        }
    }
}
