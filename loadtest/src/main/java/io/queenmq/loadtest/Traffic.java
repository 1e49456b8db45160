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
     * @param partitions lanes that one pop may claim
     */
    record Shape(
            String queue,
            String group,
            int lanes,
            int producers,
            int pushBatch,
            int rate,
            long backlogMax,
            int consumers,
            int popBatch,
            int partitions,
            Payload.Kind payload,
            int payloadBytes) {}

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
        int count = Math.min(shape.producers(), shape.lanes());
        for (int number = 0; number < count; number++) {
            List<Integer> own = new ArrayList<>();
            for (int lane = number; lane < shape.lanes(); lane += count) {
                own.add(lane);
            }
            producersBusy++;
            new Producer(this, own, number, count).start();
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

    private boolean producersDone() {
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

    void arrivedAfter(long micros) {
        record(endToEndMicros, micros);
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

    /** Lets producers finish and consumers work off the backlog; false = it took too long. */
    boolean drain(long nanos) {
        stopProducers();
        long until = System.nanoTime() + nanos;
        loop.runWhile(() -> fatal == null && System.nanoTime() < until && !workedOff());
        check();
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

    @Override
    public void close() {
        loop.close();
    }
}
