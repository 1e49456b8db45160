package io.queenmq.loadtest;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/** Pops with a long poll, hands each message to the verifier, acknowledges each by its id. */
final class Consumer implements HttpConnection.Exchange {
    private static final byte[] MESSAGES = ascii("messages");
    private static final byte[] TRANSACTION_ID = ascii("transactionId");
    private static final byte[] PARTITION_ID = ascii("partitionId");
    private static final byte[] PARTITION = ascii("partition");
    private static final byte[] LEASE_ID = ascii("leaseId");
    private static final byte[] DATA = ascii("data");
    private static final byte[] ATTEMPT = ascii("deliveryAttempt");
    private static final byte[] LANE = ascii("lane");
    private static final byte[] SEQUENCE = ascii("seq");
    private static final byte[] DUE = ascii("due");
    private static final byte[] SUCCESS = ascii("success");
    private static final long RETRY_MILLIS = 200;

    private final Traffic traffic;
    private final HttpConnection connection;
    private final String popPath;
    private final byte[] ackStart;
    private final JsonScanner scanner = new JsonScanner();
    private final JsonScanner inner = new JsonScanner();
    private final Bytes ack = new Bytes(1 << 16);
    private final HttpConnection.Exchange ackExchange = new AckExchange();

    // The batch in hand, as runs of one lane each.
    private int[] runLanes = new int[16];
    private long[] runLast = new long[16];
    private int[] runCounts = new int[16];
    private int runs;
    private int messages;
    private long ackSentMicros;

    // The message that is being read: spans of the answer.
    private int transactionFrom;
    private int transactionTo;
    private int partitionFrom;
    private int partitionTo;
    private int leaseFrom;
    private int leaseTo;
    private int nameLane;
    private int lane;
    private long sequence;
    private long due;
    private long attempt;

    Consumer(Traffic traffic) {
        Traffic.Shape shape = traffic.shape();
        this.traffic = traffic;
        this.connection = traffic.connection();
        this.popPath =
                "/api/v1/pop/queue/"
                        + shape.queue()
                        + "?batch="
                        + shape.popBatch()
                        + "&partitions="
                        + shape.partitions()
                        + (shape.autoAck() ? "&autoAck=true" : "")
                        + "&wait=true&timeout=5000&subscriptionMode=all&consumerGroup="
                        + shape.group();
        this.ackStart = ascii("{\"consumerGroup\":\"" + shape.group() + "\",\"acknowledgments\":[");
    }

    void start() {
        connection.send("GET", popPath, null, this);
    }

    @Override
    public void answered(int status, byte[] bytes, int from, int to) {
        if (status == 204) {
            traffic.popped(false);
            start();
        } else if (status == 200) {
            traffic.popped(true);
            takeBatch(bytes, from, to);
            if (traffic.shape().autoAck()) {
                settle();
                start();
            } else {
                acknowledge();
            }
        } else if (status < 500 && status != 429) {
            traffic.fail("pop answered " + text(status, bytes, from, to));
        } else {
            later();
        }
    }

    @Override
    public void broken(IOException cause) {
        later();
    }

    private void later() {
        traffic.consumeFailed();
        traffic.loop().after(RETRY_MILLIS, TimeUnit.MILLISECONDS, this::start);
    }

    private void takeBatch(byte[] bytes, int from, int to) {
        long now = traffic.nowMicros();
        runs = 0;
        messages = 0;
        ack.clear();
        ack.add(ackStart);
        scanner.reset(bytes, from, to);
        scanner.enterObject();
        while (scanner.nextField()) {
            if (!scanner.keyIs(MESSAGES)) {
                scanner.skipValue();
                continue;
            }
            scanner.enterArray();
            while (scanner.nextElement()) {
                readMessage(bytes);
                traffic.ledger().delivered(lane, sequence, attempt);
                if (nameLane != lane) {
                    traffic.ledger().misplaced();
                }
                traffic.arrivedAfter(lane, now - due);
                addToBatch(bytes);
            }
        }
        ack.add("]}");
    }

    private void readMessage(byte[] bytes) {
        attempt = 1;
        scanner.enterObject();
        while (scanner.nextField()) {
            if (scanner.keyIs(TRANSACTION_ID)) {
                scanner.string();
                transactionFrom = scanner.valueFrom();
                transactionTo = scanner.valueTo();
            } else if (scanner.keyIs(DATA)) {
                scanner.skipValue();
                readPayload(bytes, scanner.valueFrom(), scanner.valueTo());
            } else if (scanner.keyIs(PARTITION_ID)) {
                scanner.string();
                partitionFrom = scanner.valueFrom();
                partitionTo = scanner.valueTo();
            } else if (scanner.keyIs(PARTITION)) {
                scanner.string();
                nameLane = traffic.laneNumber(bytes, scanner.valueFrom(), scanner.valueTo());
            } else if (scanner.keyIs(LEASE_ID)) {
                scanner.string();
                leaseFrom = scanner.valueFrom();
                leaseTo = scanner.valueTo();
            } else if (scanner.keyIs(ATTEMPT)) {
                attempt = scanner.number();
            } else {
                scanner.skipValue();
            }
        }
    }

    private void readPayload(byte[] bytes, int from, int to) {
        inner.reset(bytes, from, to);
        inner.enterObject();
        int found = 0;
        while (found < 3 && inner.nextField()) {
            if (inner.keyIs(LANE)) {
                lane = (int) inner.number();
                found++;
            } else if (inner.keyIs(SEQUENCE)) {
                sequence = inner.number();
                found++;
            } else if (inner.keyIs(DUE)) {
                due = inner.number();
                found++;
            } else {
                inner.skipValue();
            }
        }
    }

    private void addToBatch(byte[] bytes) {
        ack.add(messages == 0 ? "{\"transactionId\":\"" : ",{\"transactionId\":\"");
        ack.add(bytes, transactionFrom, transactionTo).add("\",\"partitionId\":\"");
        ack.add(bytes, partitionFrom, partitionTo).add("\",\"leaseId\":\"");
        ack.add(bytes, leaseFrom, leaseTo).add("\",\"status\":\"completed\"}");
        messages++;
        if (runs == 0 || runLanes[runs - 1] != lane) {
            if (runs == runLanes.length) {
                runLanes = Arrays.copyOf(runLanes, runs * 2);
                runLast = Arrays.copyOf(runLast, runs * 2);
                runCounts = Arrays.copyOf(runCounts, runs * 2);
            }
            runLanes[runs] = lane;
            runCounts[runs] = 0;
            runs++;
        }
        runLast[runs - 1] = sequence;
        runCounts[runs - 1]++;
    }

    /** The whole batch counts as acknowledged. */
    private void settle() {
        for (int i = 0; i < runs; i++) {
            traffic.acked(runLanes[i], runLast[i], runCounts[i]);
        }
    }

    private void acknowledge() {
        ackSentMicros = traffic.nowMicros();
        connection.send("POST", "/api/v1/ack/batch", ack, ackExchange);
    }

    private final class AckExchange implements HttpConnection.Exchange {
        @Override
        public void answered(int status, byte[] bytes, int from, int to) {
            if (status != 200) {
                if (status < 500 && status != 429) {
                    traffic.fail("ack answered " + text(status, bytes, from, to));
                } else {
                    inDoubt();
                    later();
                }
                return;
            }
            traffic.ackTook(traffic.nowMicros() - ackSentMicros);
            scanner.reset(bytes, from, to);
            int refused = readResults();
            if (refused > 0) {
                traffic.consumeFailed();
                inDoubt();
            } else {
                settle();
            }
            start();
        }

        @Override
        public void broken(IOException cause) {
            inDoubt();
            later();
        }

        /** How many of the batch's messages were not acknowledged. */
        private int readResults() {
            int done = 0;
            scanner.enterArray();
            while (scanner.nextElement()) {
                scanner.enterObject();
                while (scanner.nextField()) {
                    if (scanner.keyIs(SUCCESS)) {
                        done += scanner.bool() ? 1 : 0;
                    } else {
                        scanner.skipValue();
                    }
                }
            }
            return messages - done;
        }

        private void inDoubt() {
            for (int i = 0; i < runs; i++) {
                traffic.ledger().ackInDoubt(runLanes[i]);
            }
        }
    }

    private static String text(int status, byte[] bytes, int from, int to) {
        return status + ": " + new String(bytes, from, to - from, StandardCharsets.UTF_8);
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}
