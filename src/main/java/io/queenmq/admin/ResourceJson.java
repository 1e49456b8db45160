package io.queenmq.admin;

import io.queenmq.insight.FootprintReads.Footprint;
import io.queenmq.insight.LaneReads;
import io.queenmq.insight.QueueListReads;
import io.queenmq.model.Ids;
import io.queenmq.queue.QueueReads;
import io.queenmq.web.JsonBuffer;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Queues and what they hold on the wire. What nobody counts is null, never 0. Pure. */
final class ResourceJson {
    /** What {@code config} of a queue's status shows, and the option it is. */
    private static final Map<String, String> CONFIG =
            Map.of("maxQueueSize", "maxSize", "deadLetterQueue", "deadLetterQueue");

    private static final List<String> CONFIG_NAMES =
            List.of(
                    "leaseTime",
                    "retryLimit",
                    "retryDelay",
                    "ttl",
                    "maxQueueSize",
                    "deadLetterQueue");

    private ResourceJson() {}

    /**
     * @param everything whether gone messages count, too
     */
    static JsonBuffer overview(QueueListReads.Sums sums, boolean everything, Instant now) {
        JsonBuffer json = new JsonBuffer(512).raw("{\"queues\":").number(sums.queues());
        json.raw(",\"partitions\":").number(sums.lanes());
        json.raw(",\"namespaces\":").number(sums.namespaces());
        json.raw(",\"tasks\":").number(sums.tasks());
        json.raw(",\"messages\":{\"total\":");
        json.number(everything ? sums.stored() : sums.messages());
        json.raw(",\"pending\":").number(sums.pending() - sums.processing());
        json.raw(",\"processing\":").number(sums.processing());
        json.raw(",\"completed\":");
        json.number(everything ? sums.ackedEver() : sums.completed());
        Long failed = sums.failedEver();
        json.raw(",\"failed\":");
        (failed == null ? json.raw("null") : json.number(failed)).raw(",\"deadLetter\":");
        json.number(sums.deadLetters());
        json.raw("},\"lag\":{\"time\":{\"avg\":");
        decimal(json, sums.ageAverage()).raw(",\"median\":");
        decimal(json, sums.ageMedian()).raw(",\"min\":0,\"max\":");
        decimal(json, sums.ageMost()).raw("},\"offset\":{\"avg\":");
        json.decimal(sums.pendingAverage()).raw(",\"median\":0,\"min\":0,\"max\":");
        json.number(sums.pendingMost()).raw("}},\"throughput\":{\"ingestedPerSecond\":");
        json.decimal(sums.pushedPerSecond()).raw(",\"processedPerSecond\":");
        json.decimal(sums.ackedPerSecond()).raw("},\"timestamp\":").millis(now);
        return json.raw(",\"statsAge\":").number(sums.ageSeconds()).raw('}');
    }

    /** Nothing is late where nothing is unread. */
    private static JsonBuffer decimal(JsonBuffer json, @Nullable Double value) {
        return json.decimal(value == null ? 0 : value);
    }

    /**
     * The list of queues.
     *
     * @param footprint what the tenant keeps beside them; null = nobody knows now
     */
    static JsonBuffer queues(QueueListReads.Page page, @Nullable Footprint footprint) {
        JsonBuffer json = new JsonBuffer(1_024).raw("{\"queues\":[");
        for (QueueListReads.QueueRow queue : page.queues()) {
            comma(json);
            head(json, queue);
            json.raw(",\"partitions\":").number(queue.lanes());
            json.raw(",\"retainedBytes\":").number(queue.retainedBytes());
            json.raw(",\"diskBytes\":").number(queue.diskBytes());
            segments(json, queue.messages());
            json.raw(",\"messages\":{\"total\":").number(queue.messages());
            json.raw(",\"pending\":").number(queue.pending());
            json.raw(",\"processing\":").number(queue.processing());
            json.raw("},\"statsAge\":").number(queue.ageSeconds()).raw('}');
        }
        json.raw("],\"total\":").number(page.total());
        if (footprint != null) {
            json.raw(",\"kvRows\":").number(footprint.kvRows());
            json.raw(",\"kvBytes\":").number(footprint.kvBytes());
            json.raw(",\"timerRows\":").number(footprint.timerRows());
            json.raw(",\"timerBytes\":").number(footprint.timerBytes());
        }
        return json.raw('}');
    }

    static JsonBuffer status(QueueListReads.Page page, int limit, int offset) {
        JsonBuffer json = new JsonBuffer(1_024).raw("{\"queues\":[");
        for (QueueListReads.QueueRow queue : page.queues()) {
            comma(json);
            head(json, queue);
            json.raw(",\"partitions\":").number(queue.lanes());
            json.raw(",\"messages\":{\"total\":").number(queue.messages());
            json.raw(",\"pending\":").number(queue.pending());
            json.raw(",\"processing\":").number(queue.processing());
            json.raw(",\"completed\":").number(queue.completed());
            json.raw(",\"deadLetter\":").number(queue.deadLetters());
            json.raw("},\"statsAge\":").number(queue.ageSeconds()).raw('}');
        }
        json.raw("],\"pagination\":{\"limit\":").number(limit);
        json.raw(",\"offset\":").number(offset);
        return json.raw("},\"total\":").number(page.total()).raw('}');
    }

    private static void head(JsonBuffer json, QueueListReads.QueueRow queue) {
        json.raw("{\"id\":").uuid(Ids.queueId(queue.id()));
        json.raw(",\"name\":").string(queue.name());
        json.raw(",\"namespace\":").string(queue.namespace());
        json.raw(",\"task\":").string(queue.task());
        json.raw(",\"createdAt\":").millis(queue.createdAt());
    }

    private static void segments(JsonBuffer json, long messages) {
        json.raw(",\"segments\":{\"segments\":null,\"messages\":").number(messages).raw('}');
    }

    /**
     * @param kind namespace or task
     */
    static JsonBuffer labels(String kind, List<QueueListReads.Label> labels) {
        JsonBuffer json = new JsonBuffer(512).raw("{\"").raw(kind).raw("s\":[");
        for (QueueListReads.Label label : labels) {
            comma(json);
            json.raw("{\"").raw(kind).raw("\":").string(label.name());
            json.raw(",\"queues\":").number(label.queues());
            json.raw(",\"partitions\":").number(label.lanes());
            json.raw(",\"messages\":{\"total\":").number(label.messages());
            json.raw(",\"pending\":").number(label.pending());
            json.raw("},\"statsAge\":").number(label.ageSeconds()).raw('}');
        }
        return json.raw("]}");
    }

    static JsonBuffer queue(
            String name,
            QueueReads.Described queue,
            LaneReads.Counts counts,
            LaneReads.Lanes lanes) {
        JsonBuffer json = new JsonBuffer(2_048).raw('{');
        identity(json, name, queue);
        json.raw(",\"options\":");
        options(json, queue);
        json.raw(",\"partitions\":[");
        for (LaneReads.Lane lane : lanes.lanes()) {
            comma(json).raw('{');
            identity(json, lane);
            json.raw(",\"stats\":").raw('{');
            six(json, lane);
            json.raw('}');
            times(json, lane);
            json.raw('}');
        }
        json.raw("],\"partitionsTruncated\":").bool(!lanes.complete());
        json.raw(",\"partitionsTotal\":").number(counts.lanes());
        json.raw(",\"totals\":{");
        six(json, counts);
        json.raw("},\"retainedBytes\":").number(counts.retainedBytes());
        json.raw(",\"diskBytes\":").number(counts.diskBytes());
        segments(json, counts.messages());
        return json.raw(",\"statsAge\":").number(counts.ageSeconds()).raw('}');
    }

    /** All of them, spelled as they are configured. */
    static void options(JsonBuffer json, QueueReads.Described queue) {
        json.raw('{');
        queue.options().forEach((option, value) -> value(comma(json), option, value));
        json.raw('}');
    }

    static JsonBuffer status(
            String name,
            QueueReads.Described queue,
            LaneReads.Counts counts,
            LaneReads.Lanes lanes) {
        JsonBuffer json = new JsonBuffer(2_048).raw("{\"queue\":{");
        identity(json, name, queue);
        value(json.raw(','), "priority", option(queue, "priority"));
        json.raw(",\"config\":{");
        for (String config : CONFIG_NAMES) {
            value(comma(json), config, option(queue, CONFIG.getOrDefault(config, config)));
        }
        json.raw("}},\"partitions\":[");
        for (LaneReads.Lane lane : lanes.lanes()) {
            comma(json).raw('{');
            identity(json, lane);
            for (String block : List.of("messages", "stats")) {
                json.raw(",\"").raw(block).raw("\":{");
                six(json, lane);
                json.raw('}');
            }
            json.raw(",\"cursor\":{\"totalConsumed\":");
            json.number(lane.lastOffset() + 1 - lane.pending());
            json.raw(",\"batchesConsumed\":0},\"lastActivity\":").millis(lane.lastWriteAt());
            times(json, lane);
            json.raw('}');
        }
        json.raw("],\"partitionsTruncated\":").bool(!lanes.complete());
        json.raw(",\"totals\":{\"messages\":{");
        six(json, counts);
        json.raw("},");
        six(json, counts);
        return json.raw("},\"statsAge\":").number(counts.ageSeconds()).raw('}');
    }

    private static void identity(JsonBuffer json, String name, QueueReads.Described queue) {
        json.raw("\"id\":").uuid(Ids.queueId(queue.queueId()));
        json.raw(",\"name\":").string(name).raw(',');
        value(json, "namespace", option(queue, "namespace"));
        value(json.raw(','), "task", option(queue, "task"));
        json.raw(",\"createdAt\":").millis(queue.createdAt());
    }

    private static @Nullable Object option(QueueReads.Described queue, String name) {
        return queue.options().get(name);
    }

    private static void value(JsonBuffer json, String name, @Nullable Object value) {
        json.raw('"').raw(name).raw("\":");
        switch (value) {
            case String text -> json.string(text);
            case Boolean bool -> json.bool(bool);
            case Integer number -> json.number(number);
            case null, default -> throw new IllegalArgumentException("no option " + name);
        }
    }

    private static void identity(JsonBuffer json, LaneReads.Lane lane) {
        json.raw("\"id\":").uuid(Ids.partitionId(lane.number()));
        json.raw(",\"name\":").string(lane.name());
        json.raw(",\"createdAt\":").millis(lane.createdAt());
    }

    private static void times(JsonBuffer json, LaneReads.Lane lane) {
        json.raw(",\"oldestMessage\":").millis(lane.oldestAt());
        json.raw(",\"newestMessage\":").millis(lane.newestAt());
    }

    private static void six(JsonBuffer json, LaneReads.Lane lane) {
        six(
                json,
                lane.messages(),
                lane.pending(),
                lane.processing(),
                Math.max(0, lane.messages() - lane.pending() - lane.deadLetters()),
                lane.deadLetters());
    }

    private static void six(JsonBuffer json, LaneReads.Counts counts) {
        six(
                json,
                counts.messages(),
                counts.pending(),
                counts.processing(),
                counts.completed(),
                counts.deadLetters());
    }

    /** A message is never failed: it is delivered again, or a dead letter. */
    private static void six(
            JsonBuffer json,
            long total,
            long pending,
            long processing,
            long completed,
            long deadLetters) {
        json.raw("\"total\":").number(total);
        json.raw(",\"pending\":").number(pending);
        json.raw(",\"processing\":").number(processing);
        json.raw(",\"completed\":").number(completed);
        json.raw(",\"failed\":null,\"deadLetter\":").number(deadLetters);
    }

    static JsonBuffer depth(String queue, @Nullable String group, LaneReads.QueueDepth depth) {
        long ready = depth.pending() - depth.processing();
        JsonBuffer json = new JsonBuffer(1_024).raw("{\"queue\":").string(queue);
        json.raw(",\"group\":").string(group);
        json.raw(",\"pending\":").number(depth.pending());
        json.raw(",\"processing\":").number(depth.processing());
        json.raw(",\"ready\":").number(ready);
        json.raw(",\"partitionsPending\":").number(depth.lanesPending());
        json.raw(",\"partitionsReady\":").number(depth.lanesReady());
        json.raw(",\"conflation\":").bool(depth.conflation());
        json.raw(",\"effectivePending\":");
        json.number(depth.conflation() ? depth.lanesPending() : depth.pending());
        json.raw(",\"effectiveReady\":");
        json.number(depth.conflation() ? depth.lanesReady() : ready);
        json.raw(",\"partitions\":[");
        for (LaneReads.Depth lane : depth.depths()) {
            comma(json).raw("{\"partition\":").string(lane.partition());
            json.raw(",\"pending\":").number(lane.pending());
            json.raw(",\"processing\":").number(lane.processing());
            json.raw(",\"ready\":").number(lane.pending() - lane.processing()).raw('}');
        }
        json.raw("],\"partitionsTruncated\":").bool(depth.depths().size() < depth.lanes());
        return json.raw(",\"statsAge\":").number(depth.ageSeconds()).raw('}');
    }

    /** Between two elements, or two fields. */
    private static JsonBuffer comma(JsonBuffer json) {
        return json.endsWith('[') || json.endsWith('{') ? json : json.raw(',');
    }
}
