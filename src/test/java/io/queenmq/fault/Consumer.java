package io.queenmq.fault;

import io.queenmq.model.Names;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * One consumer of a workload, with the persistence of a client library: a pop that failed is made
 * again, an ack without a verdict is sent again. What it is told goes into the books.
 */
final class Consumer {
    /** How it takes messages and ends their leases. */
    enum Manner {
        /** Acknowledges each batch as a whole. */
        WHOLE_BATCHES(Names.QUEUE_MODE),
        /** Renews the lease, acknowledges a part, then by turns gives back the rest or ends it. */
        STEP_BY_STEP(Names.QUEUE_MODE),
        /** Another group, whose messages count as acknowledged before they leave the broker. */
        AT_MOST_ONCE("listeners"),
        /**
         * Another group, which copies to a second queue: the copy and the ack in one transaction.
         */
        COPYING("copiers");

        /** The group, as it is stored. */
        final String group;

        Manner(String group) {
            this.group = group;
        }
    }

    /** The queue that {@link Manner#COPYING} copies to. */
    static String copyOf(String queue) {
        return queue + "-copy";
    }

    private static final String UNANSWERED = "unanswered";

    /** Messages of one pop that is acknowledged before it leaves. */
    static final int HEARD_AT_ONCE = 10;

    private static final int ACK_TRIES = 4;

    private final Http http;
    private final String queue;
    private final int leaseSeconds;
    private final Books books;
    private final Manner manner;
    private final Pause pause;
    private int rounds;

    /** Ends with an exception when the workload is over. */
    interface Pause {
        void pause() throws InterruptedException;
    }

    /** What one lane gave to one pop. */
    private record Batch(int lane, List<Map<String, Object>> messages) {
        private int sequence(int index) {
            Map<?, ?> data = (Map<?, ?>) messages.get(index).get("data");
            return ((Long) data.get("seq")).intValue();
        }

        private int[] sequences() {
            int[] sequences = new int[messages.size()];
            for (int i = 0; i < sequences.length; i++) {
                sequences[i] = sequence(i);
            }
            return sequences;
        }
    }

    Consumer(Http http, String queue, int leaseSeconds, Books books, Manner manner, Pause pause) {
        this.http = http;
        this.queue = queue;
        this.leaseSeconds = leaseSeconds;
        this.books = books;
        this.manner = manner;
        this.pause = pause;
    }

    /** Takes a batch, or finds nothing, or fails to. */
    void round() throws InterruptedException {
        int[] acked = books.acked();
        Http.Answer answer;
        try {
            answer = http.call("GET", pop(), "");
        } catch (IOException e) {
            // The batch, if there was one, comes again when its lease has ended.
            books.broken();
            pause.pause();
            return;
        }
        if (answer.status() == 503) {
            books.broken();
            pause.pause();
        } else if (answer.status() != 200 && answer.status() != 204) {
            books.violation("pop answered " + answer);
        }
        rounds++;
        for (Batch batch : batches(answer.messages())) {
            take(batch, acked);
        }
    }

    private String pop() {
        String common = "/api/v1/pop/queue/" + queue + "?wait=true&timeout=500";
        return common
                + switch (manner) {
                    case WHOLE_BATCHES -> "&batch=20&partitions=2&leaseSeconds=" + leaseSeconds;
                    case STEP_BY_STEP -> "&batch=10&leaseSeconds=" + leaseSeconds;
                    case AT_MOST_ONCE ->
                            "&autoAck=true&subscriptionMode=all&consumerGroup="
                                    + manner.group
                                    + "&batch="
                                    + HEARD_AT_ONCE;
                    case COPYING ->
                            "&batch=10&subscriptionMode=all&consumerGroup="
                                    + manner.group
                                    + "&leaseSeconds="
                                    + leaseSeconds;
                };
    }

    private List<Batch> batches(List<Map<String, Object>> messages) {
        Map<Integer, List<Map<String, Object>>> byLane = new LinkedHashMap<>();
        for (Map<String, Object> message : messages) {
            int lane = ((Long) ((Map<?, ?>) message.get("data")).get("lane")).intValue();
            if (!Workload.laneName(lane).equals(message.get("partition"))) {
                books.violation("a message of " + Workload.laneName(lane) + " in " + message);
            }
            byLane.computeIfAbsent(lane, l -> new ArrayList<>()).add(message);
        }
        return byLane.entrySet().stream().map(e -> new Batch(e.getKey(), e.getValue())).toList();
    }

    private void take(Batch batch, int[] ackedBefore) throws InterruptedException {
        if (manner == Manner.AT_MOST_ONCE) {
            books.heard(batch.lane(), batch.sequences());
            return;
        }
        if (manner == Manner.COPYING) {
            copy(batch);
            return;
        }
        books.delivered(batch.lane(), batch.sequences(), ackedBefore);
        int size = batch.messages().size();
        if (manner == Manner.WHOLE_BATCHES) {
            complete(batch, 0, size);
            return;
        }
        call(
                "/api/v1/lease/" + batch.messages().getFirst().get("leaseId") + "/extend",
                "{\"seconds\":" + leaseSeconds + "}");
        int half = size / 2;
        complete(batch, 0, half);
        if (rounds % 2 == 0) {
            acknowledge(batch, half, half + 1, "retry");
        } else {
            // The ack of the last one stands for all before it.
            complete(batch, size - 1, size);
        }
    }

    /** Sends the same transaction until it is done or refused; what was refused comes again. */
    private void copy(Batch batch) throws InterruptedException {
        String operations =
                batch.messages().stream()
                        .map(message -> copyAndAck(batch.lane(), message))
                        .collect(Collectors.joining(",", "{\"operations\":[", "]}"));
        for (int tries = 1; tries <= ACK_TRIES; tries++) {
            Object reason = transact(operations);
            if (reason.equals("duplicate") && tries == 1) {
                books.violation("copied without an ack: " + operations);
            }
            if (!reason.equals(UNANSWERED)) {
                return;
            }
            pause.pause();
        }
    }

    private String copyAndAck(int lane, Map<String, Object> message) {
        int sequence = ((Long) ((Map<?, ?>) message.get("data")).get("seq")).intValue();
        return """
               {"type":"push","items":[%s]},{"type":"ack","transactionId":"%s","partitionId":"%s",\
               "leaseId":"%s","consumerGroup":"%s"}\
               """
                .formatted(
                        Workload.item(
                                copyOf(queue), lane, "copy-" + lane + "-" + sequence, sequence),
                        message.get("transactionId"),
                        message.get("partitionId"),
                        message.get("leaseId"),
                        manner.group);
    }

    /** Why it was rolled back; empty if it was not. */
    private Object transact(String operations) throws InterruptedException {
        try {
            Http.Answer answer = http.call("POST", "/api/v1/transaction", operations);
            if (answer.status() == 200 && answer.body() instanceof Map<?, ?> result) {
                Object reason = result.get("reason");
                if (Boolean.TRUE.equals(result.get("success"))) {
                    return "";
                }
                if (reason.equals("duplicate") || reason.equals("ack_rejected")) {
                    return reason;
                }
            }
            if (answer.status() != 503) {
                books.violation("transaction answered " + answer);
            }
            return UNANSWERED;
        } catch (IOException e) {
            return UNANSWERED;
        }
    }

    private void complete(Batch batch, int from, int to) throws InterruptedException {
        if (from < to) {
            int last = batch.sequence(to - 1);
            books.acking(batch.lane(), last);
            if (acknowledge(batch, from, to, "completed")) {
                books.acked(batch.lane(), last);
            }
        }
    }

    /** Whether every ack was confirmed; without a verdict it is asked for again. */
    private boolean acknowledge(Batch batch, int from, int to, String status)
            throws InterruptedException {
        String acks = acks(batch.messages().subList(from, to), status);
        for (int i = 0; i < ACK_TRIES; i++) {
            List<Map<String, Object>> results = call("/api/v1/ack/batch", acks);
            if (results.size() == to - from
                    && results.stream().noneMatch(Consumer::isWithoutVerdict)) {
                return results.stream().allMatch(r -> Boolean.TRUE.equals(r.get("success")));
            }
            pause.pause();
        }
        return false;
    }

    /** The body of a request that acknowledges messages of a pop. */
    static String acks(List<Map<String, Object>> messages, String status) {
        return messages.stream()
                .map(
                        message ->
                                """
                                {"transactionId":"%s","partitionId":"%s","leaseId":"%s",\
                                "status":"%s"}\
                                """
                                        .formatted(
                                                message.get("transactionId"),
                                                message.get("partitionId"),
                                                message.get("leaseId"),
                                                status))
                .collect(Collectors.joining(",", "{\"acknowledgments\":[", "]}"));
    }

    private static boolean isWithoutVerdict(Map<String, Object> result) {
        String error = String.valueOf(result.get("error"));
        return error.equals("pool") || error.startsWith("ack flush failed");
    }

    /** The results; none when there is no answer. */
    private List<Map<String, Object>> call(String path, String body) throws InterruptedException {
        try {
            Http.Answer answer = http.call("POST", path, body);
            if (answer.status() != 200 && answer.status() != 503) {
                books.violation(path + " answered " + answer);
            }
            return answer.status() == 200 ? answer.results() : List.of();
        } catch (IOException e) {
            // Whether it was done is unknown: doing it again does no harm.
            return List.of();
        }
    }
}
