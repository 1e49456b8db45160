package io.queenmq.loadtest;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Pushes to its own lanes in turn, one request at a time. A request without a whole success is sent
 * again as it was, under the same transaction ids, before anything later of that lane.
 */
final class Producer implements HttpConnection.Exchange {
    private static final byte[] STATUS = ascii("status");
    private static final byte[] QUEUED = ascii("queued");
    private static final byte[] BUFFERED = ascii("buffered");
    private static final byte[] DUPLICATE = ascii("duplicate");
    private static final long RETRY_MILLIS = 200;

    private final Traffic traffic;
    private final List<Integer> lanes;
    private final long intervalMicros;
    private final HttpConnection connection;
    private final Rng rng = Rng.seeded();
    private final Payload payload;
    private final JsonScanner scanner = new JsonScanner();
    private final Bytes body;
    private final long[] sequences;
    private int turn;
    private long dueMicros;
    private long sentMicros;
    private boolean retried;

    /**
     * @param rate messages per second of all producers of its kind; 0 = as fast as answers come
     */
    Producer(Traffic traffic, List<Integer> lanes, int rate, int number, int producers) {
        Traffic.Shape shape = traffic.shape();
        this.traffic = traffic;
        this.lanes = lanes;
        this.connection = traffic.connection();
        this.payload = new Payload(shape.payload(), shape.payloadBytes(), rng);
        this.body = new Bytes(shape.pushBatch() * (shape.payloadBytes() + 128));
        this.sequences = new long[lanes.size()];
        this.intervalMicros =
                rate == 0 ? 0 : Math.max(1, 1_000_000L * shape.pushBatch() * producers / rate);
        // Spread over one interval, so that a rate does not arrive in bursts.
        this.dueMicros = traffic.nowMicros() + intervalMicros * number / producers;
    }

    /** Begins, or goes on after a pause. */
    void start() {
        next();
    }

    private void next() {
        if (!traffic.producing()) {
            traffic.producerDone();
            return;
        }
        if (traffic.pause(this)) {
            return;
        }
        long now = traffic.nowMicros();
        if (intervalMicros == 0) {
            dueMicros = now;
        } else if (dueMicros > now) {
            traffic.loop().at(traffic.nanosOf(dueMicros), this::next);
            return;
        }
        render();
        retried = false;
        send();
    }

    private void render() {
        Traffic.Shape shape = traffic.shape();
        int lane = lanes.get(turn);
        long sequence = sequences[turn];
        body.clear();
        body.add("{\"items\":[");
        for (int i = 0; i < shape.pushBatch(); i++) {
            body.add(i == 0 ? "{\"queue\":\"" : ",{\"queue\":\"").add(shape.queue());
            body.add("\",\"partition\":\"").add(Traffic.laneName(lane));
            body.add("\",\"transactionId\":\"").uuid(rng.uuidHigh(), rng.uuidLow());
            body.add("\",\"payload\":");
            payload.render(body, lane, sequence + i, dueMicros);
            body.add((byte) '}');
        }
        body.add("]}");
    }

    private void send() {
        sentMicros = traffic.nowMicros();
        connection.send("POST", "/api/v1/push", body, this);
    }

    @Override
    public void answered(int status, byte[] bytes, int from, int to) {
        if (status == 201) {
            scanner.reset(bytes, from, to);
            if (allStored()) {
                accepted();
                return;
            }
        } else if (status < 500 && status != 429) {
            traffic.fail(
                    "push answered "
                            + status
                            + ": "
                            + new String(bytes, from, to - from, StandardCharsets.UTF_8));
            return;
        }
        again();
    }

    private boolean allStored() {
        int stored = 0;
        scanner.enterArray();
        while (scanner.nextElement()) {
            scanner.enterObject();
            while (scanner.nextField()) {
                if (!scanner.keyIs(STATUS)) {
                    scanner.skipValue();
                    continue;
                }
                scanner.string();
                if (scanner.valueIs(QUEUED) || scanner.valueIs(BUFFERED)) {
                    stored++;
                } else if (scanner.valueIs(DUPLICATE)) {
                    stored++;
                    if (!retried) {
                        traffic.ledger().falseDuplicate();
                    }
                }
            }
        }
        return stored == traffic.shape().pushBatch();
    }

    private void accepted() {
        int batch = traffic.shape().pushBatch();
        traffic.pushTook(traffic.nowMicros() - sentMicros);
        traffic.ledger().accepted(lanes.get(turn), batch);
        sequences[turn] += batch;
        turn = (turn + 1) % lanes.size();
        dueMicros += intervalMicros;
        next();
    }

    @Override
    public void broken(IOException cause) {
        again();
    }

    private void again() {
        traffic.pushRetried();
        retried = true;
        traffic.loop().after(RETRY_MILLIS, TimeUnit.MILLISECONDS, this::send);
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}
