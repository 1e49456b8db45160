package io.queenmq.admin;

import io.queenmq.insight.GroupReads;
import io.queenmq.model.Ids;
import io.queenmq.web.JsonBuffer;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Consumer groups and where they stand, on the wire. Pure. */
final class GroupListJson {
    /** A group that is later than this is said to lag. */
    private static final long LAGGING_SECONDS = 300;

    private static final double SECONDS_PER_HOUR = 3_600;

    private GroupListJson() {}

    static JsonBuffer list(List<GroupReads.Group> groups, Instant now) {
        JsonBuffer json = new JsonBuffer(1_024).raw('[');
        for (GroupReads.Group group : groups) {
            long late = seconds(group.unreadAt(), now);
            json.raw(json.endsWith('[') ? "{\"name\":" : ",{\"name\":").string(group.name());
            json.raw(",\"topics\":[").string(group.queue());
            json.raw("],\"queueName\":").string(group.queue());
            json.raw(",\"members\":").number(group.lanes());
            json.raw(",\"partitionCursors\":").number(group.lanes());
            json.raw(",\"partitionsWithLag\":").number(group.lanesBehind());
            json.raw(",\"totalLag\":");
            Long pending = group.pending();
            if (pending == null) {
                json.raw("null");
            } else {
                json.number(pending);
            }
            json.raw(",\"maxTimeLag\":").number(late).raw(",\"state\":");
            json.string(
                    late > LAGGING_SECONDS
                            ? "Lagging"
                            : group.consumedAt() != null ? "Stable" : "Dead");
            json.raw(",\"storage\":\"segments\",\"subscriptionMode\":");
            String rule = group.startRule();
            json.string("instant".equals(rule) ? "new" : rule);
            json.raw(",\"subscriptionTimestamp\":").millis(group.startAt());
            json.raw(",\"subscriptionCreatedAt\":");
            json.millis(rule == null ? null : group.createdAt());
            json.raw(",\"conflation\":").bool(group.conflation());
            json.raw(",\"statsAge\":").number(group.ageSeconds()).raw('}');
        }
        return json.raw(']');
    }

    static JsonBuffer lagging(List<GroupReads.Lagging> lanes) {
        JsonBuffer json = new JsonBuffer(1_024).raw('[');
        for (GroupReads.Lagging lane : lanes) {
            json.raw(json.endsWith('[') ? "{" : ",{");
            json.raw("\"consumer_group\":").string(lane.group());
            json.raw(",\"queue_name\":").string(lane.queue());
            json.raw(",\"partition_name\":").string(lane.partition());
            json.raw(",\"partition_id\":").uuid(Ids.partitionId(lane.partitionNumber()));
            json.raw(",\"worker_id\":null,\"offset_lag\":").number(lane.pending());
            json.raw(",\"time_lag_seconds\":").number((long) lane.lagSeconds());
            json.raw(",\"lag_hours\":").decimal(lane.lagSeconds() / SECONDS_PER_HOUR);
            json.raw(",\"oldest_unconsumed_at\":").millis(lane.unreadAt());
            json.raw(",\"last_consumed_at\":null}");
        }
        return json.raw(']');
    }

    /**
     * @param lanes of one queue after the other
     */
    static JsonBuffer detail(List<GroupReads.Lane> lanes, Instant now) {
        JsonBuffer json = new JsonBuffer(1_024).raw('{');
        GroupReads.Lane last = null;
        for (GroupReads.Lane lane : lanes) {
            if (last == null || !last.queue().equals(lane.queue())) {
                if (last != null) {
                    end(json, last).raw(',');
                }
                json.string(lane.queue()).raw(":{\"conflation\":").bool(lane.conflation());
                json.raw(",\"partitions\":[");
            }
            last = lane;
            if (lane.partition() != null) {
                json.raw(json.endsWith('[') ? "{" : ",{");
                json.raw("\"partition\":").string(lane.partition());
                json.raw(",\"workerId\":null,\"lastConsumedAt\":null,\"totalConsumed\":");
                json.number(lane.consumed()).raw(",\"offsetLag\":").number(lane.pending());
                json.raw(",\"timeLagSeconds\":").number(seconds(lane.unreadAt(), now));
                json.raw(",\"leaseActive\":").bool(lane.leased()).raw('}');
            }
        }
        if (last != null) {
            end(json, last);
        }
        return json.raw('}');
    }

    private static JsonBuffer end(JsonBuffer json, GroupReads.Lane lane) {
        return json.raw("],\"partitionsTruncated\":").bool(!lane.complete()).raw('}');
    }

    /** Nothing is late where nothing is unread. */
    private static long seconds(@Nullable Instant since, Instant now) {
        return since == null ? 0 : Math.max(0, Duration.between(since, now).toSeconds());
    }
}
