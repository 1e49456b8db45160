package io.queenmq.count;

import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** A database with counts, a broker's sums beside it, and what the counts should be. */
final class CountScene implements AutoCloseable {
    final TestDatabase database = TestDatabase.migrated();
    final Connection connection;
    final LogFixture log;

    /** What a broker has not told yet: stored and bytes by queue, the others by group. */
    private final Map<Integer, long[]> queues = new LinkedHashMap<>();

    private final Map<Integer, long[]> groups = new LinkedHashMap<>();

    CountScene() throws SQLException {
        connection = database.connect();
        log = new LogFixture(connection);
    }

    @Override
    public void close() throws SQLException {
        connection.close();
        database.close();
    }

    int queueNumber(String queue) throws SQLException {
        return (int) log.value("select queue_id from queen.queues where queue = ?", queue);
    }

    int groupNumber(String queue, String group) throws SQLException {
        return (int)
                log.value(
                        "select id from queen_store.groups where queue_id = ? and name = ?",
                        queueNumber(queue),
                        group);
    }

    long laneNumber(String queue, String partition) throws SQLException {
        return (long)
                log.value(
                        "select number from queen.partitions where queue = ? and partition = ?",
                        queue,
                        partition);
    }

    /** As a broker does: stores through append, and sums. */
    void append(int queue, long lane, String... transactionIds) throws SQLException {
        log.append(lane, transactionIds);
        queues.computeIfAbsent(queue, q -> new long[2])[0] += transactionIds.length;
    }

    /** Runs a claim or an ack with these columns first: group, passed, granted, ended, filed. */
    List<@Nullable Object[]> summed(String sql, @Nullable Object... arguments) throws SQLException {
        List<@Nullable Object[]> rows = log.rows(sql, arguments);
        for (@Nullable Object[] row : rows) {
            if (row[0] instanceof Integer group) {
                long[] sums = groups.computeIfAbsent(group, g -> new long[4]);
                for (int i = 0; i < 4; i++) {
                    sums[i] += row[i + 1] instanceof Number number ? number.longValue() : 0;
                }
            }
        }
        return rows;
    }

    void flush() throws SQLException {
        log.rows(
                "select queen_store.flush_counts(?, ?, ?, ?, ?, ?, ?, ?, ?)",
                queues.keySet().toArray(Integer[]::new),
                sums(queues, 0),
                sums(queues, 1),
                groups.keySet().toArray(Integer[]::new),
                sums(groups, 0),
                sums(groups, 1),
                sums(groups, 2),
                sums(groups, 3),
                completed());
        lose();
    }

    private static Long[] sums(Map<Integer, long[]> of, int sum) {
        return of.values().stream().map(sums -> sums[sum]).toArray(Long[]::new);
    }

    private Long[] completed() {
        return groups.values().stream()
                .map(sums -> Math.max(sums[0] - sums[3], 0))
                .toArray(Long[]::new);
    }

    /** What a broker that is killed takes with it. */
    void lose() {
        queues.clear();
        groups.clear();
    }

    int fold() throws SQLException {
        return (int) log.value("select queen_store.fold_counts(10000)");
    }

    /** Walks over a queue and settles at once what was found; returns how many sums were off. */
    int walk(int queue) throws SQLException {
        return (int)
                log.value(
                        """
                        with page as materialized (
                            select p.*
                            from queen_store.count_lanes(?, ?, '', 100000, true) p)
                        select queen_store.settle_counts(
                            array_agg(started_at), array_agg(queue_id), array_agg(group_id),
                            array_agg(lanes), array_agg(amount), array_agg(behind),
                            array_agg(leased), array_agg(dead_letters), array_agg(before_lanes),
                            array_agg(before_stored), array_agg(before_passed),
                            array_agg(before_granted), array_agg(before_ended),
                            array_agg(before_dead_letters), '{}', '{}', '{}')
                        from page
                        """,
                        queue,
                        queue);
    }

    /** Lanes, messages, pending per registered group, leased and dead letters, as told. */
    Map<String, Long> told(int queue) throws SQLException {
        return numbers(
                """
                select coalesce(g.name, '') || ' ' || v.what, v.amount
                from queen_store.running_counts(array[?]) r
                join queen_store.running_counts(array[?]) o on o.group_id = 0
                left join queen_store.groups g on g.id = r.group_id
                cross join lateral (
                    values ('lanes', case when g.id is null then r.lanes end),
                           ('messages', case when g.id is null then r.stored - r.passed end),
                           ('pending', case when g.start_rule is not null
                                             or g.seek_rule is not null
                                            then o.stored + r.stored - r.passed end),
                           ('leased', case when g.id is not null then r.granted - r.ended end),
                           ('dead', r.dead_letters)) v (what, amount)
                where v.amount <> 0
                """,
                queue,
                queue);
    }

    /** The same, from every lane and every row. */
    Map<String, Long> exact(int queue) throws SQLException {
        return numbers(
                """
                select v.what, v.amount
                from queen_store.queues q
                cross join lateral (
                    select ' lanes', count(*)
                    from queen.partitions p where p.queue = q.name
                    union all
                    select ' messages', coalesce(sum(p.messages), 0)::bigint
                    from queen.partitions p where p.queue = q.name
                    union all
                    select c.consumer_group || ' pending', sum(c.lag)::bigint
                    from queen.cursors c
                    join queen_store.groups g on g.queue_id = q.id and g.name = c.consumer_group
                    where c.queue = q.name
                      and (g.start_rule is not null or g.seek_rule is not null)
                    group by c.consumer_group
                    union all
                    select g.name || ' leased', sum(c.batch_end - c.committed)::bigint
                    from queen_store.groups g
                    join queen_store.cursors c
                        on c.group_id = g.id and c.generation = g.generation
                    where g.queue_id = q.id and c.batch_end is not null
                    group by g.name
                    union all
                    select coalesce(g.name, '') || ' dead', count(*)
                    from queen_store.dead_letters d
                    left join queen_store.groups g
                        on g.queue_id = d.queue_id and g.name = d.group_name
                    where d.queue_id = q.id
                    group by g.name) v (what, amount)
                where q.id = ? and v.amount <> 0
                """,
                queue);
    }

    private Map<String, Long> numbers(String sql, @Nullable Object... arguments)
            throws SQLException {
        Map<String, Long> numbers = new TreeMap<>();
        for (@Nullable Object[] row : log.rows(sql, arguments)) {
            if (row[0] instanceof String name && row[1] instanceof Long number) {
                numbers.put(name, number);
            }
        }
        return numbers;
    }

    /** A claim as a broker makes it, summed; lanes that it was given, each with its batch end. */
    List<Taken> claim(String function, int group, int budget, List<Long> lanes)
            throws SQLException {
        UUID lease = UUID.randomUUID();
        Integer[] jobs = lanes.stream().map(l -> 1).toArray(Integer[]::new);
        Integer[] groupIds = lanes.stream().map(l -> group).toArray(Integer[]::new);
        String columns =
                "select p.g[c.candidate], c.passed, c.granted, c.ended, null::bigint, c.verdict,"
                        + " p.l[c.candidate], c.lease_id, c.batch_end"
                        + " from (select ?::int4[] as g, ?::int8[] as l) p cross join lateral"
                        + " queen_store.";
        Long[] laneIds = lanes.toArray(Long[]::new);
        List<@Nullable Object[]> rows =
                switch (function) {
                    case "claim_auto" ->
                            summed(
                                    columns + "claim_auto(?, ?, 1048576, ?, ?, ?) c",
                                    groupIds,
                                    laneIds,
                                    new Integer[] {budget},
                                    new Integer[] {0},
                                    jobs,
                                    laneIds,
                                    groupIds);
                    default ->
                            summed(
                                    columns
                                            + "claim_first(?, ?, ?, ?, ?, 1048576, ?, ?, ?, ?, ?::text[]::timestamptz[]) c",
                                    groupIds,
                                    laneIds,
                                    new UUID[] {lease},
                                    new Integer[] {budget},
                                    new Integer[] {0},
                                    new Integer[] {60},
                                    new Boolean[] {true},
                                    jobs,
                                    laneIds,
                                    groupIds,
                                    new String[lanes.size()],
                                    new String[lanes.size()]);
                };
        List<Taken> taken = new ArrayList<>();
        for (@Nullable Object[] row : rows) {
            if ("leased".equals(row[5])
                    && row[6] instanceof Long lane
                    && row[7] instanceof UUID leaseId
                    && row[8] instanceof Long end) {
                Taken one = new Taken(lane, leaseId, end);
                if (!taken.contains(one)) {
                    taken.add(one);
                }
            }
        }
        return taken;
    }

    /** A leased batch. */
    record Taken(long lane, UUID lease, long end) {}
}
