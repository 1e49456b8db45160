package io.queenmq.admin;

import com.fasterxml.jackson.core.JsonToken;
import io.queenmq.group.GroupPositions;
import io.queenmq.group.SeekTarget;
import io.queenmq.group.Sought;
import io.queenmq.model.Excerpt;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.web.JsonBody;
import io.queenmq.web.JsonBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Seeks, subscriptions and deletions of groups on the wire. Pure. */
final class GroupJson {
    private GroupJson() {}

    /**
     * Where a seek is to go.
     *
     * @param ofLane whether it is of one lane: there nothing at all means the end, and an offset
     *     means something
     */
    static SeekTarget target(byte[] bytes, boolean ofLane) {
        if (ofLane && new String(bytes, StandardCharsets.UTF_8).isBlank()) {
            return new SeekTarget.End();
        }
        List<SeekTarget> targets = new ArrayList<>(1);
        if (bytes.length > 0) {
            try (JsonBody body = new JsonBody(bytes)) {
                for (String name = body.nextName(); name != null; name = body.nextName()) {
                    switch (name) {
                        case "toEnd" -> flag(body, name, new SeekTarget.End(), targets);
                        case "toBeginning" -> flag(body, name, new SeekTarget.Beginning(), targets);
                        case "timestamp" -> time(body, targets);
                        case "offset" -> offset(body, targets);
                        default -> body.skip();
                    }
                }
                body.end();
            } catch (QueenException e) {
                throw e.detail().startsWith("bad body: ") ? bad("bad body") : e;
            }
        }
        if (targets.size() > 1) {
            throw bad("Must specify only one of toEnd, toBeginning, timestamp and offset");
        }
        if (targets.isEmpty()) {
            throw bad("Must specify toEnd=true or a timestamp");
        }
        return targets.getFirst();
    }

    private static void flag(
            JsonBody body, String name, SeekTarget target, List<SeekTarget> targets) {
        switch (body.token()) {
            case VALUE_TRUE -> targets.add(target);
            case VALUE_FALSE, VALUE_NULL -> {}
            default -> throw bad(name + " must be true or false, got " + body.kind());
        }
    }

    private static void time(JsonBody body, List<SeekTarget> targets) {
        if (body.token() == JsonToken.VALUE_NULL) {
            return;
        }
        if (body.token() != JsonToken.VALUE_STRING) {
            throw bad("bad timestamp: timestamp");
        }
        String text = body.text();
        if (!text.isEmpty()) {
            targets.add(new SeekTarget.At(AdminQuery.time("timestamp", text)));
        }
    }

    private static void offset(JsonBody body, List<SeekTarget> targets) {
        if (body.token() == JsonToken.VALUE_NULL) {
            return;
        }
        Long offset = body.whole();
        if (offset == null) {
            throw bad("offset must be a whole number, got " + Excerpt.of(body.raw()));
        }
        if (offset < 0) {
            throw bad("offset must be at least 0, got " + offset);
        }
        targets.add(new SeekTarget.Offset(offset));
    }

    /** From when on a group is to begin. */
    static Instant subscription(byte[] bytes) {
        String from = null;
        if (bytes.length > 0) {
            try (JsonBody body = new JsonBody(bytes)) {
                for (String name = body.nextName(); name != null; name = body.nextName()) {
                    if (name.equals("subscriptionTimestamp")) {
                        from = body.textOrNull(name);
                    } else {
                        body.skip();
                    }
                }
                body.end();
            }
        }
        if (from == null || from.isEmpty()) {
            throw bad("subscriptionTimestamp is required");
        }
        return AdminQuery.time("subscriptionTimestamp", from);
    }

    private static QueenException bad(String sentence) {
        return new QueenException(Failure.BAD_REQUEST, sentence);
    }

    static JsonBuffer moved(String group, String queue, SeekTarget target, Sought.Queue moved) {
        JsonBuffer json = head(true, group, queue, target);
        json.raw(",\"partitionsUpdated\":").number(moved.lanes());
        json.raw(",\"effectiveTimestamp\":").millis(moved.from());
        Sought.Holder holder = moved.holder();
        if (holder != null) {
            json.raw(",\"warning\":").string(warning(holder));
        }
        return json.raw('}');
    }

    private static String warning(Sought.Holder holder) {
        String who =
                holder.pid() == 0
                        ? "a prepared transaction, " + holder.application()
                        : "the open transaction of pid "
                                + holder.pid()
                                + ", application_name "
                                + holder.application();
        return who
                + ", may hold messages nobody sees yet: the group begins before its start, so"
                + " messages pushed since may come again";
    }

    static JsonBuffer moved(
            String group, String queue, String partition, SeekTarget target, Sought.Lane moved) {
        JsonBuffer json = head(true, group, queue, target);
        json.raw(",\"partitionName\":").string(partition);
        json.raw(",\"updated\":true,\"nextOffset\":").number(moved.committed() + 1);
        return json.raw('}');
    }

    static JsonBuffer unknownQueue(String group, String queue, SeekTarget target) {
        return head(false, group, queue, target)
                .raw(
                        ",\"error\":\"Queue not found or has no"
                                + " partitions\",\"partitionsUpdated\":0}");
    }

    static JsonBuffer unknownPartition() {
        return new JsonBuffer(64).raw("{\"success\":false,\"error\":\"Partition not found\"}");
    }

    private static JsonBuffer head(boolean success, String group, String queue, SeekTarget target) {
        JsonBuffer json = new JsonBuffer(256).raw("{\"success\":").bool(success);
        json.raw(",\"consumerGroup\":").string(group);
        json.raw(",\"queueName\":").string(queue);
        json.raw(",\"seekToEnd\":").bool(target instanceof SeekTarget.End);
        json.raw(",\"targetTimestamp\":");
        return json.millis(target instanceof SeekTarget.At(Instant at) ? at : null);
    }

    static JsonBuffer subscribed(String group, Instant from, int queues) {
        JsonBuffer json = new JsonBuffer(128).raw("{\"success\":true,\"consumerGroup\":");
        json.string(group).raw(",\"newTimestamp\":").millis(from);
        return json.raw(",\"rowsUpdated\":").number(queues).raw('}');
    }

    static JsonBuffer deleted(
            String group,
            @Nullable String queue,
            GroupPositions.Deleted deleted,
            boolean registration) {
        JsonBuffer json = new JsonBuffer(128).raw("{\"success\":true,\"consumerGroup\":");
        json.string(group);
        if (queue != null) {
            json.raw(",\"queueName\":").string(queue);
        }
        json.raw(",\"deletedPartitions\":").number(deleted.lanes());
        return json.raw(",\"metadataDeleted\":").bool(registration).raw('}');
    }
}
