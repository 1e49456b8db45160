package io.queenmq.admin;

import com.fasterxml.jackson.core.JsonToken;
import io.queenmq.ack.DeadLetter;
import io.queenmq.ack.DeadLetterFilter;
import io.queenmq.ack.DeadLetterPage;
import io.queenmq.ack.DeadLetters;
import io.queenmq.ack.Replay;
import io.queenmq.cipher.PayloadCipher;
import io.queenmq.model.Excerpt;
import io.queenmq.model.Failure;
import io.queenmq.model.Ids;
import io.queenmq.model.Names;
import io.queenmq.model.QueenException;
import io.queenmq.web.JsonBody;
import io.queenmq.web.JsonBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Dead letters on the wire. Pure. */
final class DeadLetterJson {
    private static final Pattern PLACE = Pattern.compile("(\\d{1,17})-(\\d{1,18})(?:-(\\d{1,7}))?");

    private DeadLetterJson() {}

    /** Where a replay is to go; null = to where it came from. */
    record Destination(@Nullable String queue, @Nullable String partition) {}

    /** What a bulk replay is to move. */
    record Bulk(
            String queue,
            @Nullable String group,
            DeadLetterFilter.@Nullable Place after,
            int limit) {}

    /**
     * Where a page is to go on.
     *
     * @param place behind which; null = at the beginning
     * @param offset how many rows of that it passes over
     */
    record After(DeadLetterFilter.@Nullable Place place, int offset) {}

    /** As an earlier answer said; null = at the beginning. */
    static After after(@Nullable String text) {
        if (text == null) {
            return new After(null, 0);
        }
        Matcher matcher = PLACE.matcher(text);
        if (!matcher.matches()) {
            throw bad("after must be the next of an earlier answer, got " + Excerpt.of(text));
        }
        String offset = matcher.group(3);
        return new After(
                new DeadLetterFilter.Place(
                        Instant.EPOCH.plus(Long.parseLong(matcher.group(1)), ChronoUnit.MICROS),
                        Long.parseLong(matcher.group(2))),
                offset == null ? 0 : Integer.parseInt(offset));
    }

    static JsonBuffer page(int limit, int offset, DeadLetterPage page, PayloadCipher cipher) {
        JsonBuffer json = new JsonBuffer(1_024).raw("{\"messages\":[");
        for (DeadLetter letter : page.letters()) {
            if (json.endsWith('}')) {
                json.raw(',');
            }
            letter(json, letter, cipher);
        }
        json.raw("],\"pagination\":{\"limit\":").number(limit);
        json.raw(",\"offset\":").number(offset);
        json.raw("},\"total\":").number(page.total());
        if (page.capped()) {
            json.raw(",\"totalCapped\":true");
        }
        json.raw(",\"next\":");
        next(json, page.next(), page.nextOffset());
        return json.raw(",\"complete\":").bool(page.complete()).raw('}');
    }

    private static void next(JsonBuffer json, DeadLetterFilter.@Nullable Place place, int offset) {
        if (place == null) {
            json.raw("null");
            return;
        }
        json.raw('"').number(ChronoUnit.MICROS.between(Instant.EPOCH, place.failedAt()));
        json.raw('-').number(place.id());
        if (offset > 0) {
            json.raw('-').number(offset);
        }
        json.raw('"');
    }

    private static void letter(JsonBuffer json, DeadLetter letter, PayloadCipher cipher) {
        json.raw("{\"id\":\"").number(letter.id()).raw("\",\"transactionId\":");
        json.string(letter.transactionId()).raw(",\"messageId\":").uuid(letter.messageId());
        json.raw(",\"partitionId\":").uuid(Ids.partitionId(letter.partitionNumber()));
        json.raw(",\"queue\":").string(letter.queue());
        json.raw(",\"partition\":").string(letter.partition());
        json.raw(",\"consumerGroup\":").string(letter.group());
        json.raw(",\"offset\":").number(letter.offset());
        json.raw(",\"errorMessage\":").string(letter.error());
        json.raw(",\"retryCount\":").number(letter.retryCount());
        PayloadText data = PayloadText.of(letter.payload(), letter.flags(), cipher);
        json.raw(",\"data\":").raw(data.json());
        json.raw(",\"traceId\":").uuid(letter.traceId());
        json.raw(",\"producerSub\":").string(letter.producer());
        json.raw(",\"createdAt\":").millis(letter.createdAt());
        json.raw(",\"failedAt\":").millis(letter.failedAt());
        if (data.opened()) {
            json.raw(",\"isEncrypted\":true");
        }
        if (letter.omitted()) {
            json.raw(",\"dataOmitted\":true");
        }
        json.raw('}');
    }

    static JsonBuffer deleted(String queue, @Nullable String group, long deleted) {
        JsonBuffer json = new JsonBuffer(128).raw("{\"success\":true,\"deleted\":");
        json.number(deleted).raw(",\"queue\":").string(queue);
        return json.raw(",\"consumerGroup\":").string(group).raw('}');
    }

    static JsonBuffer deleted(String partitionId, String transactionId) {
        return address(true, partitionId, transactionId)
                .raw(",\"message\":\"Message deleted successfully\"}");
    }

    static JsonBuffer notFound(String partitionId, String transactionId) {
        return address(false, partitionId, transactionId)
                .raw(",\"error\":\"Message not found\"")
                .raw(",\"message\":\"There is no dead letter of this message\"}");
    }

    private static JsonBuffer address(boolean success, String partitionId, String transactionId) {
        JsonBuffer json = new JsonBuffer(256).raw("{\"success\":").bool(success);
        json.raw(",\"partitionId\":").string(partitionId);
        return json.raw(",\"transactionId\":").string(transactionId);
    }

    /** An absent or blank body means the same place, so does an absent half. */
    static Destination destination(byte[] bytes) {
        String queue = null;
        String partition = null;
        if (!new String(bytes, StandardCharsets.UTF_8).isBlank()) {
            try (JsonBody body = new JsonBody(bytes)) {
                for (String name = body.nextName(); name != null; name = body.nextName()) {
                    switch (name) {
                        case "queue" -> queue = trimmed(name, body.textOrNull(name));
                        case "partition" -> partition = trimmed(name, body.textOrNull(name));
                        default -> body.skip();
                    }
                }
                body.end();
            }
        }
        return new Destination(queue, partition);
    }

    private static @Nullable String trimmed(String field, @Nullable String name) {
        return name == null ? null : Names.name(field, name.strip());
    }

    static Bulk bulk(byte[] bytes) {
        String queue = null;
        String group = null;
        String after = null;
        int limit = DeadLetters.REPLAYS_MAX;
        try (JsonBody body = new JsonBody(bytes)) {
            for (String name = body.nextName(); name != null; name = body.nextName()) {
                switch (name) {
                    case "queue" -> queue = body.textOrNull(name);
                    case "consumerGroup" -> group = body.textOrNull(name);
                    case "after" -> after = body.textOrNull(name);
                    case "limit" -> limit = limit(body);
                    default -> body.skip();
                }
            }
            body.end();
        }
        if (queue == null || queue.isEmpty()) {
            throw bad("queue is required");
        }
        return new Bulk(
                Names.name("queue", queue),
                group == null || group.isEmpty() ? null : Names.name("consumerGroup", group),
                after(after == null || after.isEmpty() ? null : after).place(),
                limit);
    }

    private static int limit(JsonBody body) {
        if (body.token() == JsonToken.VALUE_NULL) {
            return DeadLetters.REPLAYS_MAX;
        }
        Long limit = body.whole();
        if (limit == null) {
            throw bad("limit must be a whole number, got " + Excerpt.of(body.raw()));
        }
        if (limit < 1 || limit > DeadLetters.REPLAYS_MAX) {
            throw bad("limit must be 1 to " + DeadLetters.REPLAYS_MAX + ", got " + limit);
        }
        return limit.intValue();
    }

    static JsonBuffer replayed(Bulk bulk, DeadLetters.Replayed replayed) {
        JsonBuffer json = new JsonBuffer(256).raw("{\"success\":true,\"queue\":");
        json.string(bulk.queue()).raw(",\"consumerGroup\":").string(bulk.group());
        json.raw(",\"moved\":").number(replayed.moved());
        json.raw(",\"duplicate\":").number(replayed.duplicate());
        json.raw(",\"gone\":").number(replayed.gone());
        json.raw(",\"kept\":").number(replayed.kept()).raw(",\"next\":");
        next(json, replayed.next(), 0);
        String stopped = replayed.stopped();
        if (stopped != null) {
            json.raw(",\"stopped\":").string(stopped);
        }
        return json.raw('}');
    }

    static JsonBuffer moved(Replay.Moved moved) {
        JsonBuffer json = head("moved", moved.letter());
        json.raw(",\"replayedAs\":{\"index\":0,\"message_id\":").uuid(moved.messageId());
        copy(json, moved.letter());
        json.raw(",\"status\":\"queued\",\"offset\":").number(moved.offset());
        return json.raw("},\"dlqRowRemoved\":true}");
    }

    static JsonBuffer duplicate(Replay.Duplicate duplicate) {
        JsonBuffer json = head("duplicate", duplicate.letter());
        json.raw(",\"replayedAs\":{\"index\":0,\"message_id\":").uuid(Ids.NIL);
        copy(json, duplicate.letter());
        return json.raw(",\"status\":\"duplicate\"},\"dlqRowRemoved\":false}");
    }

    private static JsonBuffer head(String result, Replay.Letter letter) {
        JsonBuffer json = new JsonBuffer(512).raw("{\"success\":true,\"result\":");
        json.string(result).raw(",\"queue\":").string(letter.queue());
        json.raw(",\"partition\":").string(letter.partition());
        json.raw(",\"consumerGroup\":").string(letter.group());
        json.raw(",\"dlqId\":\"").number(letter.id());
        return json.raw("\",\"originalTransactionId\":").string(letter.transactionId());
    }

    private static void copy(JsonBuffer json, Replay.Letter letter) {
        json.raw(",\"transaction_id\":").string(letter.replayId());
        json.raw(",\"queueName\":").string(letter.queue());
    }

    static JsonBuffer gone(String id) {
        JsonBuffer json =
                new JsonBuffer(256).raw("{\"success\":false,\"result\":\"gone\",\"dlqId\":");
        return json.string(id)
                .raw(",\"error\":\"Message not found\"")
                .raw(",\"message\":\"There is no such dead letter: it was moved or deleted\"}");
    }

    /** A retry that did not come as far as the move. */
    static JsonBuffer notLookedUp(QueenException failure) {
        return new JsonBuffer(256)
                .raw("{\"error\":")
                .string("dlq lookup failed: " + failure.failure().code())
                .raw('}');
    }

    static JsonBuffer failed(String error, String message) {
        JsonBuffer json = new JsonBuffer(256).raw("{\"success\":false,\"error\":").string(error);
        return json.raw(",\"message\":").string(message).raw('}');
    }

    /** The move did not happen; or, with the connection lost, nobody knows. */
    static JsonBuffer unmoved(QueenException failure) {
        boolean unknown = failure.failure() == Failure.OUTCOME_UNKNOWN;
        JsonBuffer json = new JsonBuffer(256).raw("{\"success\":false,\"error\":");
        json.string(unknown ? "outcome unknown" : "replay failed");
        json.raw(",\"dlqRowRemoved\":").raw(unknown ? "null" : "false");
        json.raw(",\"message\":");
        json.string(
                unknown
                        ? "the database connection broke: read the list again to see"
                        : "nothing was moved; it is safe to try again");
        return json.raw('}');
    }

    private static QueenException bad(String sentence) {
        return new QueenException(Failure.BAD_REQUEST, sentence);
    }
}
