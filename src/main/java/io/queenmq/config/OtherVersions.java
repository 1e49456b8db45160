package io.queenmq.config;

import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Names that deployments of other versions of Queen set and that have no effect here: a start
 * accepts them, so that nobody has to edit a deployment first, and says so.
 */
final class OtherVersions {
    /**
     * Names with one reason.
     *
     * @param names one that ends in a star stands for all that begin so
     * @param reason completes "has no effect, for"
     */
    record Group(List<String> names, String reason) {
        boolean has(String name) {
            return names.stream()
                    .anyMatch(
                            one ->
                                    one.endsWith("*")
                                            ? name.startsWith(one.substring(0, one.length() - 1))
                                            : name.equals(one));
        }
    }

    static final List<Group> GROUPS =
            List.of(
                    new Group(
                            prefixed(
                                    "QUEEN_",
                                    "SYNC_ENABLED",
                                    "SYNC_SECRET",
                                    "SYNC_HEARTBEAT_MS",
                                    "SYNC_DEAD_THRESHOLD_MS",
                                    "MESH_PEERS",
                                    "MESH_PORT",
                                    "MESH_BIND_ADDR",
                                    "UDP_PEERS",
                                    "UDP_NOTIFY_PORT"),
                            "brokers of one database tell each other by its notifications, always; an"
                                    + " idle one says nothing"),
                    new Group(
                            List.of(
                                    "POP_WAIT_INITIAL_INTERVAL_MS",
                                    "POP_WAIT_BACKOFF_THRESHOLD",
                                    "POP_WAIT_BACKOFF_MULTIPLIER",
                                    "POP_WAIT_MAX_INTERVAL_MS",
                                    "QUEEN_POP_PENDING_GATE"),
                            "a waiting pop asks the database nothing: it is woken"),
                    new Group(
                            prefixed(
                                    "QUEEN_",
                                    "POP_FUSION*",
                                    "V2_FUSION_*",
                                    "V2_BUNDLE_*",
                                    "ACK_FUSION*"),
                            "calls that wait while others are under way go together, as many as there"
                                    + " are"),
                    new Group(
                            prefixed("QUEEN_", "HOTLIST*", "ACK_REGISTRY*"),
                            "which partitions have work and what was delivered is known in memory,"
                                    + " within bounds of its own"),
                    new Group(
                            List.of("QUEEN_DEDUP_CACHE"),
                            "`QUEEN_DEDUP_CACHE_MB` is the size of that memory, and 0 is none"),
                    new Group(List.of("QUEEN_V2_ZSTD_LEVEL"), "PostgreSQL compresses payloads"),
                    new Group(
                            prefixed("QUEEN_", "ADMISSION_*", "VEGAS_*", "SEG_*"),
                            "how much is under way at once follows from `DB_POOL_SIZE`"),
                    new Group(
                            List.of(
                                    "RETENTION_PARALLELISM",
                                    "QUEEN_RETENTION_DUE_CAP",
                                    "QUEEN_RETENTION_SAFETY_WALK_MS"),
                            "retention moves a number per partition and deletes nothing one by one"),
                    new Group(
                            List.of("QUEEN_FETCH_SAFE_FLOOR_MS"),
                            "where the server hides transactions the safe time is 65 s back, for brokers"
                                    + " and in SQL alike: with less, readers would miss what an open"
                                    + " transaction of an application stores; `grant"
                                    + " pg_read_all_stats` makes it exact"),
                    new Group(
                            List.of("QUEEN_SWEEPER_MIN_SLEEP_MS"),
                            "a broker sleeps until the next timer is due"),
                    new Group(
                            List.of("QUEEN_KV_ENABLED", "QUEEN_TIMERS_ENABLED"),
                            "`/api/v1/system/kv-timers` switches keys and timers, on all brokers"),
                    new Group(
                            List.of("FILE_BUFFER_*"),
                            "there is no spool on disk: while the database is away, pushes are refused"),
                    new Group(
                            prefixed("QUEEN_", "EPHEMERAL_*", "KAFKA_*", "SQS_*", "S3_*"),
                            "there are no ephemeral queues, and no protocols but HTTP and SQL"),
                    new Group(
                            prefixed(
                                    "QUEEN_",
                                    "STATIC_DIR",
                                    "RAFT_*",
                                    "QLOG_SHARDS",
                                    "TENANT_GROUPS",
                                    "DASH_*"),
                            "there is nothing here that they could set"));

    private OtherVersions() {}

    private static List<String> prefixed(String prefix, String... names) {
        return Stream.of(names).map(prefix::concat).toList();
    }

    static boolean have(String name) {
        return reason(name).isPresent();
    }

    /** Why that name has no effect here; empty = it is none of these. */
    static Optional<String> reason(String name) {
        return GROUPS.stream().filter(group -> group.has(name)).map(Group::reason).findFirst();
    }
}
