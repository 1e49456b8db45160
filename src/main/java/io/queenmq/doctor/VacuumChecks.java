package io.queenmq.doctor;

import io.queenmq.db.Inspection;
import java.util.ArrayList;
import java.util.List;

/** Whether dead rows are removed as fast as they come. */
final class VacuumChecks {
    private static final long WORKERS_MIN = 3;
    private static final long NAPTIME_MAX_MS = 60_000;
    private static final long AGE_WARN = 1_000_000_000;
    private static final long AGE_FAIL = 1_600_000_000;
    private static final long DEAD_MIN = 10_000;

    static final List<Check> ALL =
            List.of(
                    new Check("autovacuum", VacuumChecks::autovacuum),
                    new Check("hot_tables", VacuumChecks::hotTables),
                    new Check("dead_rows", VacuumChecks::deadRows),
                    new Check("wraparound", VacuumChecks::wraparound));

    private VacuumChecks() {}

    private static Verdict autovacuum(Server server) {
        for (String name : List.of("autovacuum", "track_counts")) {
            Setting setting = server.setting(name);
            if (!setting.isOn()) {
                return Verdict.fail(
                        name + " is off: dead rows stay, every call becomes slower",
                        server.becomes(setting, "on"));
            }
        }
        Setting workers = server.setting("autovacuum_max_workers");
        Setting naptime = server.setting("autovacuum_naptime");
        String found =
                "on, %s workers, every %s"
                        .formatted(workers.value(), Server.time(naptime.millis() / 1_000));
        if (workers.number() < WORKERS_MIN) {
            return Verdict.warn(
                    found + ": partitions, cursors and the log are hot at the same time",
                    server.becomes(workers, "3"));
        }
        return naptime.millis() > NAPTIME_MAX_MS
                ? Verdict.warn(
                        found + ": hot tables gather dead rows by the second",
                        server.becomes(naptime, "10s"))
                : Verdict.ok(found);
    }

    /** The migration gave them settings of their own; somebody may have taken them away. */
    private static Verdict hotTables(Server server) {
        if (!server.isFilled()) {
            return Verdict.ok("not there yet");
        }
        List<String> spoiled = new ArrayList<>();
        for (Inspection.Row row :
                server.rows(
                        """
                        select c.oid::regclass::text as name
                        from pg_class c
                        where c.oid in ('queen_store.partitions'::regclass,
                                        'queen_store.cursors'::regclass)
                          and not coalesce(
                              c.reloptions @> array[
                                  'autovacuum_vacuum_scale_factor=0',
                                  'autovacuum_vacuum_cost_delay=0', 'vacuum_truncate=off']
                              and not c.reloptions && array[
                                  'autovacuum_enabled=off', 'autovacuum_enabled=false'], false)
                        order by 1
                        """)) {
            spoiled.add(row.text("name"));
        }
        return spoiled.isEmpty()
                ? Verdict.ok("vacuumed by number of dead rows, unthrottled")
                : Verdict.warn(
                        "settings of their own were taken from " + String.join(", ", spoiled),
                        "alter table %s set (autovacuum_enabled = on, autovacuum_vacuum_scale_factor"
                                        .formatted(spoiled.getFirst())
                                + " = 0, autovacuum_vacuum_threshold = 500,"
                                + " autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off)");
    }

    private static Verdict deadRows(Server server) {
        if (!server.isFilled()) {
            return Verdict.ok("no tables yet");
        }
        List<Inspection.Row> worst =
                server.rows(
                        """
                        select format('%I.%I', t.schemaname, t.relname) as name,
                               t.n_dead_tup as dead, t.n_live_tup as live
                        from pg_stat_user_tables t
                        where t.schemaname = 'queen_store' and t.relname not like 'segments%'
                          and t.n_dead_tup > ? and t.n_dead_tup > 2 * t.n_live_tup
                        order by t.n_dead_tup desc
                        limit 1
                        """,
                        DEAD_MIN);
        return worst.isEmpty()
                ? Verdict.ok("vacuum keeps up")
                : Verdict.warn(
                        "%s has %d of them beside %d live ones"
                                .formatted(
                                        worst.getFirst().text("name"),
                                        worst.getFirst().number("dead"),
                                        worst.getFirst().number("live")),
                        "see xmin_horizon for who is in the way, then vacuum "
                                + worst.getFirst().text("name"));
    }

    private static Verdict wraparound(Server server) {
        return wraparound(
                server.row(
                                "select age(d.datfrozenxid) as age from pg_database d where"
                                        + " d.datname = current_database()")
                        .number("age"));
    }

    static Verdict wraparound(long age) {
        String found = "oldest row is %d million transactions old".formatted(age / 1_000_000);
        String advice = "end what holds xmin_horizon, then vacuumdb --freeze --all";
        return age > AGE_FAIL
                ? Verdict.fail(found + ": at 2,100 the server takes no writes", advice)
                : age > AGE_WARN ? Verdict.warn(found, advice) : Verdict.ok(found);
    }
}
