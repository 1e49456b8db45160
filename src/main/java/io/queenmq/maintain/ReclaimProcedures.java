package io.queenmq.maintain;

import io.queenmq.db.Database;
import io.queenmq.db.Inspection;
import io.queenmq.db.Rows;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** What the epochs hold, how far they are, and who is in their way. */
final class ReclaimProcedures {
    /**
     * Where an epoch is in its life.
     *
     * @param bytes on disk
     * @param progress changes with every step that is done to it
     * @param waitsFor the transaction that keeps it there; empty = none that is seen
     */
    record Standing(
            int epoch, String state, long bytes, String progress, Optional<String> waitsFor) {}

    /**
     * An order that has not come to its end.
     *
     * @param lastEpoch later ones are none of its business
     * @param freedBytes as far as it was noted
     */
    record Open(int id, long askedBytes, int patienceSeconds, int lastEpoch, long freedBytes) {}

    private final Database database;

    ReclaimProcedures(Database database) {
        this.database = database;
    }

    /** All of them, oldest first. */
    List<Standing> epochs() {
        return database.repeatable(
                "epoch_standings",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement(
                                            """
                                            select e.epoch, e.state, coalesce(s.bytes, 0),
                                                   concat_ws(' ', e.state, e.walked_partition_id,
                                                       e.walked_offset, e.next_after, s.bytes,
                                                       i.inhdetachpending),
                                                   queen_store.epoch_waits_for(e.epoch)
                                            from queen_store.epochs e
                                            left join lateral queen_store.epoch_size(e.epoch) s
                                                on true
                                            left join pg_catalog.pg_inherits i
                                                on i.inhrelid = pg_catalog.to_regclass(
                                                    pg_catalog.format(
                                                        'queen_store.segments_%s', e.epoch))
                                            order by e.epoch
                                            """)) {
                        return Rows.list(
                                statement,
                                row ->
                                        new Standing(
                                                row.getInt(1),
                                                row.getString(2),
                                                row.getLong(3),
                                                row.getString(4),
                                                Optional.ofNullable(row.getString(5))));
                    }
                });
    }

    /**
     * The share of an epoch's bytes that is alive, from 0 to 1, by a sample.
     *
     * @param withoutRows the answer where there are none
     */
    double liveShare(int epoch, double withoutRows) {
        return database.repeatable(
                "sample_epoch",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement(
                                            "select coalesce(live_bytes::double precision /"
                                                    + " nullif(bytes, 0), ?) from"
                                                    + " queen_store.sample_epoch"
                                                    + "(?, clock_timestamp())")) {
                        statement.setDouble(1, withoutRows);
                        statement.setInt(2, epoch);
                        return Rows.only(statement, row -> row.getDouble(1));
                    }
                });
    }

    /** Whoever holds a lane for a second or more, the longest first; empty = nobody is seen. */
    Optional<String> laneHolder() {
        return first(
                "lane_holder",
                """
                select case when b.pid is null
                           then format('prepared transaction %s', b.prepared_transaction)
                           else format('pid %s (%s), %s', b.pid,
                               coalesce(nullif(b.application_name, ''), 'no application_name'),
                               b.state) end
                       || format(', which holds the lane %s/%s', b.queue, b.partition)
                from queen.blocked_partitions b
                where b.transaction_age >= interval '1 second'
                order by b.transaction_age desc
                limit 1
                """);
    }

    /** The transaction that has been open longest, ten seconds at least; empty = none is seen. */
    Optional<String> oldestTransaction() {
        return first(
                "oldest_transaction",
                """
                select h.who
                from (
                    select format('pid %s (%s), %s, transaction open for %s s', a.pid,
                               coalesce(nullif(a.application_name, ''), 'no application_name'),
                               a.state,
                               extract(epoch from clock_timestamp() - a.xact_start)::bigint) as who,
                           a.xact_start as since
                    from pg_catalog.pg_stat_activity a
                    where a.datname = current_database() and a.pid <> pg_backend_pid()
                      and a.backend_type <> 'autovacuum worker'
                    union all
                    select format('prepared transaction %s, for %s s', x.gid,
                               extract(epoch from clock_timestamp() - x.prepared)::bigint),
                           x.prepared
                    from pg_catalog.pg_prepared_xacts x
                    where x.database = current_database()) h
                where h.since <= clock_timestamp() - interval '10 seconds'
                order by h.since
                limit 1
                """);
    }

    /** A replication slot that keeps the log: what is moved is written there too. */
    Optional<String> slot() {
        return first(
                "keeping_slot",
                """
                select format('replication slot %s%s keeps %s of the log', s.slot_name,
                           case when s.active then '' else ', which nobody reads,' end,
                           pg_size_pretty(pg_current_wal_lsn() - s.restart_lsn))
                from pg_catalog.pg_replication_slots s
                cross join pg_catalog.pg_settings m
                where m.name = 'max_wal_size' and s.restart_lsn is not null
                  and (not s.active
                       or pg_current_wal_lsn() - s.restart_lsn > m.setting::numeric * 1048576)
                order by s.restart_lsn
                limit 1
                """);
    }

    /** The number of the new order; empty = another one is open. */
    OptionalInt order(long bytes, int patienceSeconds) {
        return database.call(
                "order_reclaim",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement("select queen_store.order_reclaim(?, ?)")) {
                        statement.setLong(1, bytes);
                        statement.setInt(2, patienceSeconds);
                        return number(statement);
                    }
                });
    }

    /** Ends the open order; empty = there was none. */
    OptionalInt cancel() {
        return database.call(
                "cancel_reclaim",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement("select queen_store.cancel_reclaim()")) {
                        return number(statement);
                    }
                });
    }

    private static OptionalInt number(PreparedStatement statement) throws SQLException {
        return Rows.only(
                statement,
                row -> {
                    int number = row.getInt(1);
                    return row.wasNull() ? OptionalInt.empty() : OptionalInt.of(number);
                });
    }

    Optional<Open> open() {
        return database.repeatable(
                "open_reclaim",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement(
                                            "select id, asked_bytes, patience_seconds, last_epoch,"
                                                    + " freed_bytes from"
                                                    + " queen_store.open_reclaim()")) {
                        return Rows.list(
                                        statement,
                                        row ->
                                                new Open(
                                                        row.getInt(1),
                                                        row.getLong(2),
                                                        row.getInt(3),
                                                        row.getInt(4),
                                                        row.getLong(5)))
                                .stream()
                                .findFirst();
                    }
                });
    }

    /**
     * Says how far an order has come.
     *
     * @param event null = nothing new
     * @param stoppedBy of one that has ended; null = it is what was asked for
     */
    void note(
            int id,
            long freedBytes,
            @Nullable String event,
            boolean ended,
            @Nullable String stoppedBy) {
        database.call(
                "note_reclaim",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement(
                                            "select queen_store.note_reclaim(?, ?, ?, ?, ?)")) {
                        statement.setInt(1, id);
                        statement.setLong(2, freedBytes);
                        statement.setString(3, event);
                        statement.setBoolean(4, ended);
                        statement.setString(5, stoppedBy);
                        return statement.execute();
                    }
                });
    }

    private Optional<String> first(String name, String sql) {
        return database.repeatable(
                name,
                session -> {
                    try (PreparedStatement statement = session.connection().prepareStatement(sql)) {
                        return Rows.list(statement, row -> row.getString(1)).stream().findFirst();
                    }
                });
    }

    /** Room on the disk of the server; empty = it is not seen from here. */
    OptionalLong usableDiskBytes() {
        return database.repeatable(
                "usable_disk", session -> Inspection.usableDiskBytes(session.connection()));
    }
}
