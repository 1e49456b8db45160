package io.queenmq.doctor;

import io.queenmq.db.Inspection;
import io.queenmq.model.ByteSize;
import java.time.Duration;
import java.util.List;

/** Who is in the way at this moment. */
final class ActivityChecks {
    private static final Duration MUCH_TOO_LONG = Duration.ofHours(1);

    /** What has no beginning in time is old when so many transactions came after it. */
    private static final long AGE_WARN = 1_000_000;

    static final List<Check> ALL =
            List.of(
                    new Check("xmin_horizon", ActivityChecks::horizon),
                    new Check("prepared_transactions", ActivityChecks::prepared),
                    new Check("replication_slots", ActivityChecks::slots),
                    new Check("held_lanes", ActivityChecks::heldLanes));

    private ActivityChecks() {}

    /** The oldest snapshot or writer: vacuum removes nothing that is newer. */
    private static Verdict horizon(Server server) {
        List<Inspection.Row> oldest =
                server.rows(
                        """
                        select h.who, h.cure, h.age, h.seconds
                        from (
                            select format('pid %s (%s), %s', a.pid,
                                       coalesce(nullif(a.application_name, ''),
                                           'no application_name'), a.state) as who,
                                   format('select pg_terminate_backend(%s)', a.pid) as cure,
                                   greatest(age(a.backend_xid), age(a.backend_xmin))::bigint as age,
                                   extract(epoch from clock_timestamp() - a.xact_start)::bigint
                                       as seconds
                            from pg_stat_activity a
                            where coalesce(a.backend_xid, a.backend_xmin) is not null
                              and a.pid <> pg_backend_pid() and a.datname = current_database()
                              and a.backend_type <> 'autovacuum worker'
                            union all
                            select format('prepared transaction %L', x.gid),
                                   format('rollback prepared %L', x.gid),
                                   age(x.transaction)::bigint,
                                   extract(epoch from clock_timestamp() - x.prepared)::bigint
                            from pg_prepared_xacts x
                            where x.database = current_database()
                            union all
                            select format('replication slot %I', s.slot_name),
                                   format('select pg_drop_replication_slot(%L)', s.slot_name),
                                   age(s.xmin)::bigint, null
                            from pg_replication_slots s
                            where s.xmin is not null
                            union all
                            select format('standby %s (pid %s)', r.application_name, r.pid),
                                   'end the query there, or hot_standby_feedback = off',
                                   age(r.backend_xmin)::bigint, null
                            from pg_stat_replication r
                            where r.backend_xmin is not null) h
                        order by h.age desc
                        limit 1
                        """);
        if (oldest.isEmpty()) {
            return Verdict.ok("nobody holds it");
        }
        Inspection.Row row = oldest.getFirst();
        boolean timed = row.find("seconds").isPresent();
        String found =
                "%s, %d transactions behind%s"
                        .formatted(
                                row.text("who"),
                                row.number("age"),
                                timed ? ", open for " + Server.time(row.number("seconds")) : "");
        if (timed && row.number("seconds") >= MUCH_TOO_LONG.toSeconds()) {
            return Verdict.fail(found, row.text("cure"));
        }
        boolean tooLong =
                timed
                        ? row.number("seconds") >= server.bounds().longTransaction().toSeconds()
                        : row.number("age") >= AGE_WARN;
        return tooLong ? Verdict.warn(found, row.text("cure")) : Verdict.ok(found);
    }

    private static Verdict prepared(Server server) {
        List<Inspection.Row> oldest =
                server.rows(
                        """
                        select x.gid, format('rollback prepared %L', x.gid) as cure,
                               extract(epoch from clock_timestamp() - x.prepared)::bigint as seconds,
                               count(*) over () as all
                        from pg_prepared_xacts x
                        where x.database = current_database()
                        order by x.prepared
                        limit 1
                        """);
        if (oldest.isEmpty()) {
            return Verdict.ok("none");
        }
        Inspection.Row row = oldest.getFirst();
        String found =
                "%d, the oldest, %s, for %s"
                        .formatted(
                                row.number("all"),
                                row.text("gid"),
                                Server.time(row.number("seconds")));
        return row.number("seconds") >= server.bounds().longTransaction().toSeconds()
                ? Verdict.warn(
                        found + ": it holds its lanes and survives restarts", row.text("cure"))
                : Verdict.ok(found);
    }

    private static Verdict slots(Server server) {
        List<Inspection.Row> worst =
                server.rows(
                        """
                        select s.slot_name as name, s.active, s.wal_status as status,
                               format('select pg_drop_replication_slot(%L)', s.slot_name) as cure,
                               greatest(
                                   case when pg_is_in_recovery() then 0
                                   else pg_current_wal_lsn() - s.restart_lsn end, 0)::bigint as kept,
                               count(*) over () as all
                        from pg_replication_slots s
                        order by s.active, kept desc nulls last
                        limit 1
                        """);
        if (worst.isEmpty()) {
            return Verdict.ok("none");
        }
        Inspection.Row row = worst.getFirst();
        String found =
                "%d, of which %s (%s, %s) keeps %s of the log"
                        .formatted(
                                row.number("all"),
                                row.text("name"),
                                row.is("active") ? "active" : "nobody reads it",
                                row.find("status").orElse("nothing kept yet"),
                                new ByteSize(row.number("kept")));
        if (row.text("status").equals("lost")) {
            return Verdict.warn(found + ", and what its reader needs is gone", row.text("cure"));
        }
        if (!row.is("active")) {
            return Verdict.warn(
                    found + ": the log grows until the disk is full",
                    "start its reader, or "
                            + row.text("cure")
                            + "; max_slot_wal_keep_size bounds the damage");
        }
        return row.number("kept") > server.setting("max_wal_size").bytes()
                ? Verdict.warn(found + ": its reader does not keep up", "look at its reader")
                : Verdict.ok(found);
    }

    private static Verdict heldLanes(Server server) {
        if (!server.isFilled()) {
            return Verdict.ok("no lanes yet");
        }
        List<Inspection.Row> held =
                server.rows(
                        """
                        select format('%s/%s by %s, %s', b.queue, b.partition,
                                   case when b.pid is null
                                       then format('prepared transaction %L',
                                           b.prepared_transaction)
                                       else format('pid %s (%s)', b.pid,
                                           coalesce(nullif(b.application_name, ''),
                                               'no application_name')) end,
                                   coalesce(b.state, 'prepared')) as who,
                               case when b.pid is null
                                   then format('rollback prepared %L', b.prepared_transaction)
                                   else format('select pg_terminate_backend(%s)', b.pid)
                                   end as cure,
                               extract(epoch from b.transaction_age)::bigint as seconds,
                               count(*) over () as all
                        from queen.blocked_partitions b
                        where extract(epoch from b.transaction_age) >= ?
                        order by b.transaction_age desc
                        limit 1
                        """,
                        server.bounds().heldLane().toSeconds());
        return held.isEmpty()
                ? Verdict.ok("no lane is held for long")
                : Verdict.warn(
                        "%d, the longest %s, for %s: pushes to them wait"
                                .formatted(
                                        held.getFirst().number("all"),
                                        held.getFirst().text("who"),
                                        Server.time(held.getFirst().number("seconds"))),
                        held.getFirst().text("cure"));
    }
}
