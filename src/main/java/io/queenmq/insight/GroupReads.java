package io.queenmq.insight;

import io.helidon.dbclient.DbRow;
import io.queenmq.db.ColdQuery;
import io.queenmq.db.ColdReads;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Where consumer groups stand. Any thread. */
public final class GroupReads {
    /** Groups, or partitions, of one answer. */
    public static final int PAGE_MAX = 10_000;

    /** Partitions that are told of one group. */
    private static final int LANES_MAX = 1_000;

    /**
     * A group in one queue.
     *
     * @param lanes partitions in which it has a cursor
     * @param lanesBehind partitions that have something it has not consumed
     * @param pending messages that it has not; null = it is not registered
     * @param unreadAt when the oldest of them was stored; null = there is none
     * @param startRule where it begins; null = it is not registered
     */
    public record Group(
            String name,
            String queue,
            long lanes,
            long lanesBehind,
            @Nullable Long pending,
            @Nullable Instant unreadAt,
            @Nullable String startRule,
            @Nullable Instant startAt,
            Instant createdAt,
            @Nullable Instant consumedAt,
            boolean conflation,
            int ageSeconds) {}

    /** A partition that waits for a group. */
    public record Lagging(
            String group,
            String queue,
            String partition,
            long partitionNumber,
            long pending,
            Instant unreadAt,
            double lagSeconds) {}

    /**
     * A partition of a queue that the group is in.
     *
     * @param partition null = the queue has none
     * @param consumed offsets that the group has passed
     * @param complete whether all partitions of the queue are told
     */
    public record Lane(
            String queue,
            boolean conflation,
            @Nullable String partition,
            long consumed,
            long pending,
            boolean leased,
            @Nullable Instant unreadAt,
            boolean complete) {}

    private final ColdQuery<Group> list;
    private final ColdQuery<Lagging> lagging;
    private final ColdQuery<Lane> lanes;

    public GroupReads(ColdReads reads) {
        this.list =
                reads.query(
                        "list_groups",
                        "select * from queen_store.list_groups(?::uuid, ?, ?)",
                        GroupReads::group);
        this.lagging =
                reads.query(
                        "list_lagging",
                        "select * from queen_store.list_lagging(?::uuid, ?, ?)",
                        GroupReads::lagging);
        this.lanes =
                reads.query(
                        "group_lanes",
                        "select * from queen_store.group_lanes(?::uuid, ?::text, ?)",
                        GroupReads::lane);
    }

    /** By name, then by queue. */
    public List<Group> list(UUID tenant, int limit, int offset) {
        return list.ask(tenant, limit, offset);
    }

    /** Partitions whose oldest unread message is older than that, the oldest first. */
    public List<Lagging> lagging(UUID tenant, int seconds) {
        return lagging.ask(tenant, seconds, PAGE_MAX);
    }

    /** Partitions of all queues that have a group of that name, by queue. */
    public List<Lane> lanes(UUID tenant, String group) {
        return lanes.ask(tenant, group, LANES_MAX);
    }

    private static Group group(DbRow row) {
        return new Group(
                row.column("consumer_group").getString(),
                row.column("queue").getString(),
                row.column("lanes").getLong(),
                row.column("behind").getLong(),
                row.column("pending").as(Long.class).orElse(null),
                ColdQuery.instant(row, "unread_at"),
                row.column("start_rule").as(String.class).orElse(null),
                ColdQuery.instant(row, "start_at"),
                Objects.requireNonNull(ColdQuery.instant(row, "created_at")),
                ColdQuery.instant(row, "consumed_at"),
                row.column("conflation").getBoolean(),
                // A group that nothing was told of is about to be counted.
                row.column("age_seconds").as(Integer.class).orElse(-1));
    }

    private static Lagging lagging(DbRow row) {
        return new Lagging(
                row.column("consumer_group").getString(),
                row.column("queue").getString(),
                row.column("partition").getString(),
                row.column("partition_id").getLong(),
                row.column("pending").getLong(),
                Objects.requireNonNull(ColdQuery.instant(row, "unread_at")),
                row.column("lag_seconds").getDouble());
    }

    private static Lane lane(DbRow row) {
        String partition = row.column("partition").as(String.class).orElse(null);
        long pending = partition == null ? 0 : row.column("pending").getLong();
        return new Lane(
                row.column("queue").getString(),
                row.column("conflation").getBoolean(),
                partition,
                partition == null ? 0 : row.column("last_offset").getLong() + 1 - pending,
                pending,
                partition != null && row.column("leased").getBoolean(),
                ColdQuery.instant(row, "unread_at"),
                row.column("complete").getBoolean());
    }
}
