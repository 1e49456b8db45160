package io.queenmq.insight;

import io.helidon.dbclient.DbRow;
import io.queenmq.db.ColdQuery;
import io.queenmq.db.ColdReads;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Which queues there are and what they hold: lists, labels, the whole. Any thread. */
public final class QueueListReads {
    /** Queues or labels of one answer. */
    public static final int PAGE_MAX = 10_000;

    /** How long a time the traffic of an overview is of. */
    private static final double TRAFFIC_SECONDS = 300;

    /**
     * Which queues.
     *
     * @param name null = any; so for the other filters
     * @param search part of the name
     * @param newest the newest first, else by name
     * @param live whether to look at the lanes of small queues, else only what was told
     */
    public record Filter(
            UUID tenant,
            @Nullable String name,
            @Nullable String namespace,
            @Nullable String task,
            @Nullable String search,
            boolean newest,
            boolean live,
            int limit,
            int offset) {}

    /**
     * A queue and what it holds.
     *
     * @param ageSeconds of the numbers; -1 = they are being counted
     */
    public record QueueRow(
            int id,
            String name,
            String namespace,
            String task,
            Instant createdAt,
            long lanes,
            long messages,
            long pending,
            long processing,
            long completed,
            long deadLetters,
            long retainedBytes,
            long diskBytes,
            int ageSeconds,
            long total) {}

    /**
     * Part of the list.
     *
     * @param total queues that the filter lets through
     */
    public record Page(List<QueueRow> queues, long total) {}

    /** What the queues of one namespace or task hold. */
    public record Label(
            String name, long queues, long lanes, long messages, long pending, int ageSeconds) {}

    /**
     * What a tenant has.
     *
     * @param stored messages stored so far, gone ones included
     * @param pushed messages stored in the newest five minutes that are reported
     * @param acked those acknowledged then
     * @param ackedEver messages that acknowledgements completed so far
     * @param failedEver acknowledgements that failed so far; null = nobody knows of one tenant
     * @param ageAverage seconds since when groups have something unread; null = none has
     */
    public record Sums(
            long queues,
            long namespaces,
            long tasks,
            long lanes,
            long stored,
            long pushed,
            long acked,
            long messages,
            long pending,
            long processing,
            long completed,
            long deadLetters,
            long ackedEver,
            @Nullable Long failedEver,
            double pendingAverage,
            long pendingMost,
            @Nullable Double ageAverage,
            @Nullable Double ageMedian,
            @Nullable Double ageMost,
            int ageSeconds) {

        public double pushedPerSecond() {
            return pushed / TRAFFIC_SECONDS;
        }

        public double ackedPerSecond() {
            return acked / TRAFFIC_SECONDS;
        }
    }

    private final ColdQuery<QueueRow> list;
    private final ColdQuery<Label> labels;
    private final ColdQuery<Sums> sums;

    public QueueListReads(ColdReads reads) {
        this.list =
                reads.query(
                        "list_queues",
                        "select * from queen_store.list_queues(?::uuid, ?::text, ?::text,"
                                + " ?::text, ?::text, ?::boolean, ?::boolean, ?, ?)",
                        QueueListReads::queue);
        this.labels =
                reads.query(
                        "list_labels",
                        "select * from queen_store.list_labels(?::uuid, ?::boolean, ?)",
                        QueueListReads::label);
        this.sums =
                reads.query(
                        "read_overview",
                        "select * from queen_store.read_overview(?::uuid, ?::boolean)",
                        QueueListReads::sums);
    }

    public Page list(Filter filter) {
        List<QueueRow> queues = ask(filter, filter.limit(), filter.offset());
        if (queues.isEmpty() && filter.offset() > 0) {
            // Behind the end nothing says where that is.
            List<QueueRow> first = ask(filter, 1, 0);
            return new Page(List.of(), first.isEmpty() ? 0 : first.getFirst().total());
        }
        return new Page(queues, queues.isEmpty() ? 0 : queues.getFirst().total());
    }

    private List<QueueRow> ask(Filter filter, int limit, int offset) {
        return list.ask(
                filter.tenant(),
                filter.name(),
                filter.namespace(),
                filter.task(),
                filter.search(),
                filter.newest(),
                filter.live(),
                limit,
                offset);
    }

    /** By namespace or by task, in their order. */
    public List<Label> labels(UUID tenant, boolean byTask) {
        return labels.ask(tenant, byTask, PAGE_MAX);
    }

    /**
     * What a tenant has.
     *
     * @param whole whether what was ever done is that of the whole cluster
     */
    public Sums overview(UUID tenant, boolean whole) {
        return sums.ask(tenant, whole).getFirst();
    }

    private static QueueRow queue(DbRow row) {
        return new QueueRow(
                row.column("queue_id").getInt(),
                row.column("queue").getString(),
                row.column("namespace").getString(),
                row.column("task").getString(),
                Objects.requireNonNull(ColdQuery.instant(row, "created_at")),
                row.column("lanes").getLong(),
                row.column("messages").getLong(),
                row.column("pending").getLong(),
                row.column("processing").getLong(),
                row.column("completed").getLong(),
                row.column("dead_letters").getLong(),
                row.column("retained_bytes").getLong(),
                row.column("disk_bytes").getLong(),
                age(row),
                row.column("total").getLong());
    }

    private static Label label(DbRow row) {
        return new Label(
                row.column("label").getString(),
                row.column("queues").getLong(),
                row.column("lanes").getLong(),
                row.column("messages").getLong(),
                row.column("pending").getLong(),
                age(row));
    }

    private static Sums sums(DbRow row) {
        return new Sums(
                row.column("queues").getLong(),
                row.column("namespaces").getLong(),
                row.column("tasks").getLong(),
                row.column("lanes").getLong(),
                row.column("stored").getLong(),
                row.column("pushed").getLong(),
                row.column("acked").getLong(),
                row.column("messages").getLong(),
                row.column("pending").getLong(),
                row.column("processing").getLong(),
                row.column("completed").getLong(),
                row.column("dead_letters").getLong(),
                row.column("acked_ever").getLong(),
                row.column("failed_ever").as(Long.class).orElse(null),
                row.column("pending_average").as(Double.class).orElse(0.0),
                row.column("pending_most").as(Long.class).orElse(0L),
                row.column("age_average").as(Double.class).orElse(null),
                row.column("age_median").as(Double.class).orElse(null),
                row.column("age_most").as(Double.class).orElse(null),
                age(row));
    }

    /** Where there is nothing to count, that is up to date. */
    static int age(DbRow row) {
        return row.column("age_seconds").as(Integer.class).orElse(0);
    }
}
