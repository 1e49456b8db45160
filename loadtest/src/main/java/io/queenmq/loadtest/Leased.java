package io.queenmq.loadtest;

import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Batches that were popped under a lease and are acknowledged when the caller says so, so that acks
 * can be measured without anything else.
 */
final class Leased {
    private static final int CONNECTIONS = 8;
    private static final double SECONDS_MAX = 60;

    /** One message of a batch, as an ack names it. */
    record Message(String transactionId, String partitionId, String leaseId) {}

    private final URI url;
    private final String group;
    private final List<List<Message>> batches = new ArrayList<>();

    private Leased(URI url, String group) {
        this.url = url;
        this.group = group;
    }

    /** Takes batches, one lane each, until there are so many or nothing is left. */
    static Leased pop(URI url, String queue, String group, int batches, int messages) {
        return pop(url, group, batches, path(queue, group, messages, 1));
    }

    /** Takes one message each from so many lanes with one pop. */
    static Leased popWide(URI url, String queue, String group, int lanes) {
        return pop(url, group, 1, path(queue, group, lanes, lanes));
    }

    private static String path(String queue, String group, int messages, int lanes) {
        return ("/api/v1/pop/queue/%s?batch=%d&partitions=%d&wait=true&timeout=1000"
                        + "&subscriptionMode=all&consumerGroup=%s")
                .formatted(queue, messages, lanes, group);
    }

    private static Leased pop(URI url, String group, int batches, String path) {
        Leased leased = new Leased(url, group);
        leased.call(
                new Callers.Script() {
                    private int asked;

                    @Override
                    public @Nullable String next(int caller, Bytes body) {
                        return asked++ < batches ? path : null;
                    }

                    @Override
                    public void answered(int caller, int status, byte[] body, int from, int to) {
                        if (status != 204) {
                            Callers.expect(200, status, body, from, to);
                            leased.batches.add(read(body, from, to));
                        }
                    }
                });
        return leased;
    }

    private void call(Callers.Script script) {
        try (Callers callers = new Callers(url, CONNECTIONS, script)) {
            callers.run(SECONDS_MAX);
        }
    }

    private static List<Message> read(byte[] body, int from, int to) {
        List<Message> messages = new ArrayList<>();
        JsonScanner scanner = new JsonScanner();
        scanner.reset(body, from, to);
        scanner.enterObject();
        while (scanner.nextField()) {
            if (!scanner.keyIs(ascii("messages"))) {
                scanner.skipValue();
                continue;
            }
            scanner.enterArray();
            while (scanner.nextElement()) {
                messages.add(message(scanner, body));
            }
        }
        return messages;
    }

    private static Message message(JsonScanner scanner, byte[] body) {
        String transactionId = "";
        String partitionId = "";
        String leaseId = "";
        scanner.enterObject();
        while (scanner.nextField()) {
            if (scanner.keyIs(ascii("transactionId"))) {
                transactionId = text(scanner, body);
            } else if (scanner.keyIs(ascii("partitionId"))) {
                partitionId = text(scanner, body);
            } else if (scanner.keyIs(ascii("leaseId"))) {
                leaseId = text(scanner, body);
            } else {
                scanner.skipValue();
            }
        }
        return new Message(transactionId, partitionId, leaseId);
    }

    private static String text(JsonScanner scanner, byte[] body) {
        scanner.string();
        return new String(
                body,
                scanner.valueFrom(),
                scanner.valueTo() - scanner.valueFrom(),
                StandardCharsets.US_ASCII);
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    int size() {
        return batches.size();
    }

    List<List<Message>> batches() {
        return batches;
    }

    /** Acknowledges a part of every batch, one request each. */
    void ack(Function<List<Message>, List<Message>> part) {
        List<List<Message>> parts = new ArrayList<>();
        for (List<Message> batch : batches) {
            List<Message> chosen = part.apply(batch);
            if (!chosen.isEmpty()) {
                parts.add(chosen);
            }
        }
        call(
                new Callers.Script() {
                    private int sent;

                    @Override
                    public @Nullable String next(int caller, Bytes body) {
                        if (sent == parts.size()) {
                            return null;
                        }
                        render(body, parts.get(sent++));
                        return "/api/v1/ack/batch";
                    }

                    @Override
                    public void answered(int caller, int status, byte[] body, int from, int to) {
                        Callers.expect(200, status, body, from, to);
                        if (new String(body, from, to - from, StandardCharsets.UTF_8)
                                .contains("\"success\":false")) {
                            throw new IllegalStateException(
                                    "ack refused: "
                                            + new String(
                                                    body,
                                                    from,
                                                    Math.min(500, to - from),
                                                    StandardCharsets.UTF_8));
                        }
                    }
                });
    }

    private void render(Bytes body, List<Message> messages) {
        body.add("{\"consumerGroup\":\"").add(group).add("\",\"acknowledgments\":[");
        boolean first = true;
        for (Message message : messages) {
            body.add(first ? "{\"transactionId\":\"" : ",{\"transactionId\":\"");
            body.add(message.transactionId()).add("\",\"partitionId\":\"");
            body.add(message.partitionId()).add("\",\"leaseId\":\"").add(message.leaseId());
            body.add("\",\"status\":\"completed\"}");
            first = false;
        }
        body.add("]}");
    }
}
