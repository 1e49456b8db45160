package io.queenmq.machine;

import io.queenmq.model.Ids;
import io.queenmq.testkit.LogFixture;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Reads what a tenant's queues hold, out of views and tables, in the words of the model. */
final class SqlState {
    private final LogFixture log;
    private final UUID tenant;
    private final Map<UUID, String> leases;
    private final Map<String, String> names;

    /**
     * @param leases names of the leases handed out so far
     * @param names what the model calls ids that only the database knew
     */
    SqlState(LogFixture log, UUID tenant, Map<UUID, String> leases, Map<String, String> names) {
        this.names = names;
        this.log = log;
        this.tenant = tenant;
        this.leases = leases;
    }

    private String named(String line) {
        String named = line;
        for (Map.Entry<String, String> name : names.entrySet()) {
            named =
                    (named + " ")
                            .replace(" " + name.getKey() + " ", " " + name.getValue() + " ")
                            .replace("=" + name.getKey() + " ", "=" + name.getValue() + " ")
                            .strip();
        }
        return named;
    }

    List<String> lines() throws SQLException {
        List<String> lines = new ArrayList<>();
        for (@Nullable Object[] row :
                log.rows(
                        "select format('group %s %s registered=%s consumed=%s', q.name, g.name,"
                                + " case when g.start_rule is null then 'false' else 'true' end,"
                                + " case when g.consumed_at is null then 'false' else 'true' end)"
                                + " from queen_store.groups g join queen_store.queues q on q.id ="
                                + " g.queue_id where q.deleted_at is null and q.tenant_id = ?"
                                + " union all select format('lane %s/%s last=%s start=%s', queue,"
                                + " partition, last_offset, log_start) from queen.partitions"
                                + " where tenant_id = ?"
                                + " union all select format('cursor %s/%s %s committed=%s touched=%s"
                                + " retries=%s', queue, partition, consumer_group, committed,"
                                + " case when touched then 'true' else 'false' end, retry_count)"
                                + " from queen.cursors where tenant_id = ?"
                                + " union all select format('dead letter %s/%s %s offset=%s id=%s"
                                + " error=%s retries=%s', queue, partition, consumer_group,"
                                + " \"offset\", transaction_id, error, retry_count)"
                                + " from queen.dead_letters where tenant_id = ?",
                        tenant, tenant, tenant, tenant)) {
            lines.add(named(text(row[0])));
        }
        for (@Nullable Object[] row :
                log.rows(
                        "select format('lease %s/%s %s ', queue, partition, consumer_group),"
                                + " lease_id, format(' (%s, %s] for %s attempt=%s', first_offset - 1,"
                                + " last_offset, floor(extract(epoch from lease_expires_at -"
                                + " clock_timestamp()) / ?), delivery_attempt) from queen.leases"
                                + " where tenant_id = ?",
                        State.UNIT_SECONDS, tenant)) {
            lines.add(text(row[0]) + leases.get((UUID) row[1]) + text(row[2]));
        }
        return lines;
    }

    List<String> log() throws SQLException {
        List<String> lines = new ArrayList<>();
        for (@Nullable Object[] row :
                log.rows(
                        "select format('message %s/%s %s %s', queue, partition, \"offset\","
                                + " transaction_id) from queen.messages where tenant_id = ?"
                                + " union all select format('work %s/%s %s', q.name, w.name, g.name)"
                                + " from queen_store.queues q join queen_store.groups g on g.queue_id"
                                + " = q.id cross join lateral queen_store.lanes_with_work(q.id, g.id,"
                                + " null, null, null, 1000) w where q.deleted_at is null and"
                                + " q.tenant_id = ?"
                                + " union all select format('violation %s/%s %s %s %s', p.queue,"
                                + " p.partition, v.rule, v.\"offset\", v.detail) from"
                                + " queen.partitions p cross join lateral queen.violations(p.queue,"
                                + " p.partition, p_tenant => p.tenant_id) v where p.tenant_id = ?",
                        tenant, tenant, tenant)) {
            lines.add(named(text(row[0])));
        }
        return lines;
    }

    /** Time goes by: everything that is stored becomes older. */
    void pass(int units) throws SQLException {
        String back = " - make_interval(secs => ?)";
        long seconds = (long) units * State.UNIT_SECONDS;
        String lanes =
                "(select p.id from queen_store.partitions p join queen_store.queues q on q.id ="
                        + " p.queue_id where q.tenant_id = ?)";
        String queues = "(select id from queen_store.queues where tenant_id = ?)";
        log.run(
                "update queen_store.segments set created_at = created_at"
                        + back
                        + " where partition_id in "
                        + lanes,
                seconds,
                tenant);
        log.run(
                "update queen_store.cursors set lease_expires_at = lease_expires_at"
                        + back
                        + " where partition_id in "
                        + lanes,
                seconds,
                tenant);
        log.run(
                "update queen_store.partitions set created_at = created_at"
                        + back
                        + ", last_created_at = last_created_at"
                        + back
                        + ", last_write_at = last_write_at"
                        + back
                        + ", oldest_live_at = oldest_live_at"
                        + back
                        + " where queue_id in "
                        + queues,
                seconds,
                seconds,
                seconds,
                seconds,
                tenant);
        log.run(
                "update queen_store.groups set start_at = start_at"
                        + back
                        + ", seek_at = seek_at"
                        + back
                        + " where queue_id in "
                        + queues,
                seconds,
                seconds,
                tenant);
        log.run("update queen_store.leases set expires_at = expires_at" + back, seconds);
    }

    /** Retention moves the start of a lane behind its oldest segments. */
    void expire(String queue, String partition, int segments) throws SQLException {
        for (int i = 0; i < segments; i++) {
            log.run(
                    "update queen_store.partitions p set log_start = coalesce(n.base_offset,"
                            + " p.last_offset + 1), oldest_live_at = n.created_at from"
                            + " queen_store.queues q, queen_store.partitions l left join lateral"
                            + " (select s.base_offset, s.created_at from queen_store.segments s where"
                            + " s.partition_id = l.id and s.base_offset > l.log_start order by"
                            + " s.base_offset limit 1) n on true where l.id = p.id and q.id ="
                            + " p.queue_id and q.deleted_at is null and q.tenant_id = ? and q.name ="
                            + " ? and p.name = ? and p.log_start <= p.last_offset",
                    tenant,
                    queue,
                    partition);
        }
    }

    /** An instant so many seconds ago, by the clock of the server. */
    Instant ago(long seconds) throws SQLException {
        return ((Timestamp)
                        log.value("select clock_timestamp() - make_interval(secs => ?)", seconds))
                .toInstant();
    }

    /** Lanes where a group has a cursor of its own. */
    List<String> touched(String queue, String group) throws SQLException {
        return log
                .rows(
                        "select partition from queen.cursors where tenant_id = ? and queue = ? and"
                                + " consumer_group = ? and touched",
                        tenant,
                        queue,
                        group)
                .stream()
                .map(row -> text(row[0]))
                .toList();
    }

    /** Number of the oldest dead letter that fits; 0 = there is none. */
    long deadLetter(Op.Replay replay) throws SQLException {
        List<@Nullable Object[]> rows =
                log.rows(
                        "select id from queen.dead_letters where tenant_id = ? and queue = ? and"
                                + " partition = ? and consumer_group = ? and \"offset\" = ? order by"
                                + " id limit 1",
                        tenant,
                        replay.queue(),
                        replay.partition(),
                        replay.group(),
                        replay.offset());
        return rows.isEmpty() ? 0 : Long.parseLong(text(rows.getFirst()[0]));
    }

    /** The partitionId of a lane by its name; one that no lane has where there is none. */
    String partitionId(String queue, String partition) throws SQLException {
        List<@Nullable Object[]> rows =
                log.rows(
                        "select partition_id from queen.partitions where tenant_id = ? and queue = ?"
                                + " and partition = ?",
                        tenant,
                        queue,
                        partition);
        return rows.isEmpty() ? Ids.partitionId(1L << 35).toString() : text(rows.getFirst()[0]);
    }

    static String text(@Nullable Object value) {
        return String.valueOf(value);
    }

    static int number(@Nullable Object value) {
        return Integer.parseInt(text(value));
    }
}
