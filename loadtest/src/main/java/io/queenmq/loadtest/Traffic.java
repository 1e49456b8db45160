package io.queenmq.loadtest;

import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * Producers and consumers of one queue with their shared books, all on one event loop. Producers
 * are open loop at a rate, or as fast as answers come while the backlog is below its bound;
 * consumers are closed loop: pop, verify, acknowledge every message, pop.
 */
final class Traffic implements AutoCloseable {
    private static final long HIGHEST_MICROS = TimeUnit.MINUTES.toMicros(10);

    /**
     * The shape of the load.
     *
     * @param rate messages per second of all producers together; 0 = as fast as answers come
     * @param backlogMax producers without a rate pause while more than this is not acknowledged
     * @param hotRate of these, messages per second that a producer of its own pushes to lane 0;
     *     latency is recorded for the other lanes alone then
     * @param partitions lanes that one pop may claim
     * @param autoAck consumers take without a lease
     */
    record Shape(
            String queue,
            String group,
            int lanes,
            int producers,
            int pushBatch,
            int rate,
            int hotRate,
            long backlogMax,
            int consumers,
            int popBatch,
            int partitions,
            boolean autoAck,
            Payload.Kind payload,
            int payloadBytes) {
        /** What a run was asked for, over the defaults of its kind. */
        static Shape of(String queue, Options options) {
            return new Shape(
                    queue,
                    "loadtest",
                    options.number("lanes", 200),
                    options.number("producers", 16),
                    options.number("push-batch", 100),
                    options.number("rate", 0),
                    options.number("hot-rate", 0),
                    options.number("backlog", 20_000),
                    options.number("consumers", 16),
                    options.number("pop-batch", 100),
                    options.number("partitions", 1),
                    options.number("auto-ack", 0) == 1,
                    Payload.Kind.of(options.text("payload", "order")),
                    options.number("bytes", 256));
        }
    }

    private final Shape shape;
    private final InetSocketAddress address;
    private final EventLoop loop = new EventLoop();
    private final long startNanos = System.nanoTime();
    private final Ledger ledger;
    private final Map<String, Integer> laneNumbers = new HashMap<>();
    private final ArrayDeque<Producer> paused = new ArrayDeque<>();
    private final Histogram pushMicros = new Histogram(HIGHEST_MICROS, 3);
    private final Histogram endToEndMicros = new Histogram(HIGHEST_MICROS, 3);
    private final Histogram ackMicros = new Histogram(HIGHEST_MICROS, 3);
    private boolean measuring;
    private boolean producing;
    private int producersBusy;
    private long pushRetries;
    private long consumeErrors;
    private long popsServed;
    private long popsEmpty;
    private @Nullable String fatal;

    Traffic(URI url, Shape shape) {
        this.shape = shape;
        this.address = new InetSocketAddress(url.getHost(), url.getPort());
        this.ledger = new Ledger(shape.lanes());
        for (int lane = 0; lane < shape.lanes(); lane++) {
            laneNumbers.put(laneName(lane), lane);
        }
    }

    static String laneName(int lane) {
        return "lane-" + lane;
    }

    Shape shape() {
        return shape;
    }

    Ledger ledger() {
        return ledger;
    }

    EventLoop loop() {
        return loop;
    }

    HttpConnection connection() {
        return new HttpConnection(loop, address);
    }

    /** Microseconds since this traffic was set up: the clock of due times and payloads. */
    long nowMicros() {
        return (System.nanoTime() - startNanos) / 1_000;
    }

    long nanosOf(long micros) {
        return startNanos + micros * 1_000;
    }

    /** Number of the lane with that name, or -1. */
    int laneNumber(byte[] bytes, int from, int to) {
        return laneNumbers.getOrDefault(
                new String(bytes, from, to - from, StandardCharsets.UTF_8), -1);
    }

    /** Each producer owns its lanes, so that one request per lane is under way. */
    void startProducers() {
        producing = true;
        int first = shape.hotRate() > 0 ? 1 : 0;
        if (first == 1) {
            producersBusy++;
            new Producer(this, List.of(0), shape.hotRate(), 0, 1).start();
        }
        int count = Math.min(shape.producers(), shape.lanes() - first);
        for (int number = 0; number < count; number++) {
            List<Integer> own = new ArrayList<>();
            for (int lane = first + number; lane < shape.lanes(); lane += count) {
                own.add(lane);
            }
            producersBusy++;
            new Producer(this, own, shape.rate() - shape.hotRate(), number, count).start();
        }
    }

    void startConsumers() {
        for (int i = 0; i < shape.consumers(); i++) {
            new Consumer(this).start();
        }
    }

    /** Producers end with the request that is under way. */
    void stopProducers() {
        producing = false;
        resumePaused();
    }

    boolean producing() {
        return producing;
    }

    boolean producersDone() {
        return producersBusy == 0;
    }

    void producerDone() {
        producersBusy--;
    }

    /** Latencies count from now on; what the warm-up has shown is forgotten. */
    void startMeasuring() {
        measuring = true;
    }

    void stopMeasuring() {
        measuring = false;
    }

    /** True if the producer has to wait until acks have made room; it is resumed then. */
    boolean pause(Producer producer) {
        if (shape.rate() > 0 || ledger.backlog() < shape.backlogMax() || !producing) {
            return false;
        }
        paused.add(producer);
        return true;
    }

    void acked(int lane, long lastSequence, int count) {
        ledger.acked(lane, lastSequence);
        int room = count;
        while (room > 0 && !paused.isEmpty() && ledger.backlog() < shape.backlogMax()) {
            paused.remove().start();
            room -= shape.pushBatch();
        }
    }

    private void resumePaused() {
        while (!paused.isEmpty()) {
            paused.remove().start();
        }
    }

    void pushTook(long micros) {
        record(pushMicros, micros);
    }

    void ackTook(long micros) {
        record(ackMicros, micros);
    }

    void arrivedAfter(int lane, long micros) {
        if (lane > 0 || shape.hotRate() == 0) {
            record(endToEndMicros, micros);
        }
    }

    /** A pop was answered, with messages or without. */
    void popped(boolean served) {
        if (served) {
            popsServed++;
        } else {
            popsEmpty++;
        }
    }

    private void record(Histogram histogram, long micros) {
        if (measuring) {
            histogram.recordValue(Math.clamp(micros, 0, HIGHEST_MICROS));
        }
    }

    void pushRetried() {
        pushRetries++;
    }

    void consumeFailed() {
        consumeErrors++;
    }

    /** An answer that no retry can heal: the run ends. */
    void fail(String reason) {
        if (fatal == null) {
            fatal = reason;
        }
    }

    /** Runs the loop for a time. */
    void run(long nanos) {
        long until = System.nanoTime() + nanos;
        loop.runWhile(() -> fatal == null && System.nanoTime() < until);
        check();
    }

    /** Runs the loop until something holds, at most for a time; false = it never did. */
    boolean runUntil(BooleanSupplier condition, long nanos) {
        long until = System.nanoTime() + nanos;
        loop.runWhile(
                () -> fatal == null && System.nanoTime() < until && !condition.getAsBoolean());
        check();
        return condition.getAsBoolean();
    }

    /** Lets producers finish and consumers work off the backlog; false = it took too long. */
    boolean drain(long nanos) {
        stopProducers();
        runUntil(this::workedOff, nanos);
        return ledger.drained();
    }

    /** An ack whose answer was lost leaves a backlog in the books that will never come again. */
    private boolean workedOff() {
        return producersDone() && (ledger.backlog() <= 0 || consumeErrors > 0) && ledger.drained();
    }

    private void check() {
        if (fatal != null) {
            throw new IllegalStateException(fatal);
        }
    }

    Histogram pushMicros() {
        return pushMicros;
    }

    Histogram ackMicros() {
        return ackMicros;
    }

    Histogram endToEndMicros() {
        return endToEndMicros;
    }

    long pushRetries() {
        return pushRetries;
    }

    long consumeErrors() {
        return consumeErrors;
    }

    long popsServed() {
        return popsServed;
    }

    long popsEmpty() {
        return popsEmpty;
    }

    @Override
    public void close() {
        loop.close();
    }
}
