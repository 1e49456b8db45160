package io.queenmq.loadtest;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Callers that work off leased messages: each message is noted under a key, passed on to a lane of
 * another queue, and acknowledged. In one transaction, or in three calls in the order in which a
 * crash between them loses nothing.
 */
final class Steps implements Callers.Script {
    private static final int BYTES = 256;

    /** What a caller sends next. */
    private enum Part {
        ALL,
        KEY,
        PUSH,
        ACK
    }

    private final List<Leased.Message> messages;
    private final String group;
    private final String destination;
    private final Payload payload;
    private final Rng rng = Rng.seeded();
    private final boolean together;
    private final Part[] parts;
    private final int[] current;
    private int taken;
    private int done;

    Steps(
            List<Leased.Message> messages,
            int callers,
            String group,
            String destination,
            boolean together) {
        this.messages = messages;
        this.group = group;
        this.destination = destination;
        this.payload = new Payload(Payload.Kind.ORDER, BYTES, Rng.seeded());
        this.together = together;
        this.parts = new Part[callers];
        this.current = new int[callers];
        Arrays.fill(parts, first());
    }

    private Part first() {
        return together ? Part.ALL : Part.KEY;
    }

    int done() {
        return done;
    }

    @Override
    public @Nullable String next(int caller, Bytes body) {
        Part part = parts[caller];
        if (part == first()) {
            if (taken == messages.size()) {
                return null;
            }
            current[caller] = taken++;
        }
        int index = current[caller];
        Leased.Message message = messages.get(index);
        return switch (part) {
            case ALL -> {
                body.add("{\"operations\":[");
                ack(body, message);
                body.add(",{\"type\":\"push\",\"items\":[");
                item(body, index);
                body.add("]}],\"kv\":[");
                put(body, message);
                body.add("]}");
                yield "/api/v1/transaction";
            }
            case KEY -> {
                body.add("[");
                put(body, message);
                body.add("]");
                yield "/api/v1/kv";
            }
            case PUSH -> {
                body.add("{\"items\":[");
                item(body, index);
                body.add("]}");
                yield "/api/v1/push";
            }
            case ACK -> {
                ack(body, message);
                yield "/api/v1/ack";
            }
        };
    }

    private void ack(Bytes body, Leased.Message message) {
        body.add("{\"type\":\"ack\",\"transactionId\":\"").add(message.transactionId());
        body.add("\",\"partitionId\":\"").add(message.partitionId());
        body.add("\",\"leaseId\":\"").add(message.leaseId());
        body.add("\",\"consumerGroup\":\"").add(group).add("\",\"status\":\"completed\"}");
    }

    private void item(Bytes body, int lane) {
        body.add("{\"queue\":\"").add(destination).add("\",\"partition\":\"lane-").number(lane);
        body.add("\",\"transactionId\":\"").uuid(rng.uuidHigh(), rng.uuidLow());
        body.add("\",\"payload\":");
        payload.render(body, lane, 0, 0);
        body.add("}");
    }

    private static void put(Bytes body, Leased.Message message) {
        body.add("{\"op\":\"put\",\"ns\":\"loadtest\",\"key\":\"").add(message.partitionId());
        body.add("\",\"value\":{\"last\":\"").add(message.transactionId());
        body.add("\"},\"forever\":true}");
    }

    @Override
    public void answered(int caller, int status, byte[] body, int from, int to) {
        Part part = parts[caller];
        Callers.expect(part == Part.PUSH ? 201 : 200, status, body, from, to);
        String answer = new String(body, from, to - from, StandardCharsets.UTF_8);
        boolean well =
                switch (part) {
                    case ALL, ACK -> !answer.contains("\"success\":false");
                    case KEY -> answer.contains("\"applied\":true");
                    case PUSH -> answer.contains("\"queued\"");
                };
        if (!well) {
            throw new IllegalStateException(part + " answered " + answer);
        }
        parts[caller] =
                switch (part) {
                    case KEY -> Part.PUSH;
                    case PUSH -> Part.ACK;
                    case ALL, ACK -> first();
                };
        if (part == Part.ALL || part == Part.ACK) {
            done++;
        }
    }
}
