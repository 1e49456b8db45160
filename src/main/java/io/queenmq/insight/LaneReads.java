package io.queenmq.insight;

import io.helidon.dbclient.DbRow;
import io.queenmq.db.ColdQuery;
import io.queenmq.db.ColdReads;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** What one queue holds, and which of its partitions hold it. Any thread. */
public final class LaneReads {
    /** Partitions of one answer. */
    public static final int PAGE_MAX = 10_000;

    /**
     * What a queue holds.
     *
     * @param ageSeconds 0 = counted now, -1 = it is being counted
     */
    public record Counts(
            long lanes,
            long messages,
            long pending,
            long processing,
            long completed,
            long deadLetters,
            long retainedBytes,
            long diskBytes,
            int ageSeconds) {
        static final Counts NOTHING = new Counts(0, 0, 0, 0, 0, 0, 0, 0, 0);
    }

    /**
     * What a group has yet to consume in one partition.
     *
     * @param pending messages, those under a lease included
     * @param processing those under a lease
     */
    public record Depth(String partition, long pending, long processing) {}

    /**
     * What a group has yet to consume in all of a queue.
     *
     * @param conflation whether the group takes the newest message of a partition alone
     * @param lanes partitions of the queue
     * @param lanesReady partitions that have something not under a lease
     * @param depths of some partitions, those with most first
     */
    public record QueueDepth(
            boolean conflation,
            long lanes,
            long pending,
            long processing,
            long lanesPending,
            long lanesReady,
            int ageSeconds,
            List<Depth> depths) {}

    /**
     * A partition.
     *
     * @param oldestAt when the oldest message it keeps was stored; null = it keeps none
     * @param deadLetters of all groups, counted to 1,000
     */
    public record Lane(
            long number,
            String name,
            Instant createdAt,
            long lastOffset,
            long logStart,
            @Nullable Instant oldestAt,
            @Nullable Instant newestAt,
            Instant lastWriteAt,
            long pending,
            long processing,
            long deadLetters) {
        /** Messages it keeps. */
        public long messages() {
            return lastOffset - logStart + 1;
        }
    }

    /**
     * Part of the partitions of a queue.
     *
     * @param complete whether these are the last
     */
    public record Lanes(List<Lane> lanes, boolean complete) {}

    private record DepthRow(QueueDepth sums, @Nullable Depth depth) {}

    private record LaneRow(Lane lane, boolean complete) {}

    private final ColdQuery<Counts> counts;
    private final ColdQuery<DepthRow> depth;
    private final ColdQuery<LaneRow> lanes;

    public LaneReads(ColdReads reads) {
        this.counts =
                reads.query(
                        "read_counts",
                        "select * from queen_store.read_counts(?::uuid, ?::text) c"
                                + " where c.consumer_group is null",
                        LaneReads::counts);
        this.depth =
                reads.query(
                        "read_depth",
                        "select * from queen_store.read_depth(?::uuid, ?::text, ?::text, ?)",
                        LaneReads::depth);
        this.lanes =
                reads.query(
                        "list_lanes",
                        "select * from queen_store.list_lanes(?, ?::text, ?::text, ?, ?)",
                        LaneReads::lane);
    }

    /** What a queue holds, by what its slowest group has left. */
    public Counts counts(UUID tenant, String queue) {
        return counts.ask(tenant, queue).stream().findFirst().orElse(Counts.NOTHING);
    }

    /**
     * What a group has left.
     *
     * @param group null = the slowest one
     * @param limit of partitions
     * @return empty = there is no such queue
     */
    public Optional<QueueDepth> depth(
            UUID tenant, String queue, @Nullable String group, int limit) {
        List<DepthRow> rows = depth.ask(tenant, queue, group, limit);
        if (rows.isEmpty()) {
            return Optional.empty();
        }
        QueueDepth sums = rows.getFirst().sums();
        return Optional.of(
                new QueueDepth(
                        sums.conflation(),
                        sums.lanes(),
                        sums.pending(),
                        sums.processing(),
                        sums.lanesPending(),
                        sums.lanesReady(),
                        sums.ageSeconds(),
                        rows.stream().map(DepthRow::depth).filter(Objects::nonNull).toList()));
    }

    /**
     * Partitions by name.
     *
     * @param search part of the name; null = all
     * @param after name behind which to begin; null = at the first
     * @param offset how many more to pass over
     */
    public Lanes lanes(
            int queueId, @Nullable String search, @Nullable String after, int limit, int offset) {
        List<LaneRow> rows = lanes.ask(queueId, search, after, limit, offset);
        return new Lanes(
                rows.stream().map(LaneRow::lane).toList(),
                rows.isEmpty() || rows.getFirst().complete());
    }

    private static Counts counts(DbRow row) {
        return new Counts(
                row.column("lanes").getLong(),
                row.column("messages").getLong(),
                row.column("pending").getLong(),
                row.column("processing").getLong(),
                row.column("completed").getLong(),
                row.column("dead_letters").getLong(),
                row.column("retained_bytes").getLong(),
                row.column("disk_bytes").getLong(),
                QueueListReads.age(row));
    }

    private static DepthRow depth(DbRow row) {
        String partition = row.column("partition").as(String.class).orElse(null);
        return new DepthRow(
                new QueueDepth(
                        row.column("conflation").getBoolean(),
                        row.column("lanes").getLong(),
                        row.column("pending").getLong(),
                        row.column("processing").getLong(),
                        row.column("lanes_pending").getLong(),
                        row.column("lanes_ready").getLong(),
                        QueueListReads.age(row),
                        List.of()),
                partition == null
                        ? null
                        : new Depth(
                                partition,
                                row.column("lane_pending").getLong(),
                                row.column("lane_processing").getLong()));
    }

    private static LaneRow lane(DbRow row) {
        return new LaneRow(
                new Lane(
                        row.column("partition_id").getLong(),
                        row.column("partition").getString(),
                        Objects.requireNonNull(ColdQuery.instant(row, "created_at")),
                        row.column("last_offset").getLong(),
                        row.column("log_start").getLong(),
                        ColdQuery.instant(row, "oldest_at"),
                        ColdQuery.instant(row, "newest_at"),
                        Objects.requireNonNull(ColdQuery.instant(row, "last_write_at")),
                        row.column("pending").getLong(),
                        row.column("processing").getLong(),
                        row.column("dead_letters").getLong()),
                row.column("complete").getBoolean());
    }
}
