package io.queenmq.doctor;

import io.queenmq.db.DatabaseConfig;
import io.queenmq.db.Inspection;
import java.util.List;
import java.util.Optional;

/** Room for the sessions of brokers, and what cuts them off. */
final class SessionChecks {
    private static final long BESIDE_THE_POOL = DatabaseConfig.BESIDE_THE_POOL;

    private static final long STATEMENT_MIN_MS = 5_000;
    private static final long LOCK_MIN_MS = 1_000;
    private static final long TRANSACTION_MIN_MS = 30_000;
    private static final long KEEPALIVE_MAX_SECONDS = 300;

    static final List<Check> ALL =
            List.of(
                    new Check("max_connections", SessionChecks::connections),
                    new Check(
                            "idle_in_transaction_session_timeout",
                            SessionChecks::idleInTransaction),
                    new Check("idle_session_timeout", SessionChecks::idleSession),
                    new Check(
                            "statement_timeout",
                            server ->
                                    atLeast(
                                            server,
                                            "statement_timeout",
                                            STATEMENT_MIN_MS,
                                            "calls of queen.* by this role are cut off (a broker"
                                                    + " sets its own)")),
                    new Check(
                            "lock_timeout",
                            server ->
                                    atLeast(
                                            server,
                                            "lock_timeout",
                                            LOCK_MIN_MS,
                                            "calls that wait for a lane are refused")),
                    new Check(
                            "transaction_timeout",
                            server ->
                                    atLeast(
                                            server,
                                            "transaction_timeout",
                                            TRANSACTION_MIN_MS,
                                            "migrations and long reads are cut off")),
                    new Check("tcp_keepalives", SessionChecks::keepalives));

    private SessionChecks() {}

    private static Verdict connections(Server server) {
        Inspection.Row row =
                server.row(
                        """
                        select count(*) filter (
                                   where a.application_name ~ '^queen-[0-9a-f]{8}-[0-9]+$') as ours,
                               count(*) filter (where a.backend_type = 'client backend') as used,
                               (select r.rolconnlimit from pg_roles r
                                where r.rolname = current_user) as role_limit,
                               (select d.datconnlimit from pg_database d
                                where d.datname = current_database()) as database_limit
                        from pg_stat_activity a
                        """);
        long needed = server.config().poolSize() + BESIDE_THE_POOL;
        long reserved =
                server.setting("superuser_reserved_connections").number()
                        + server.find("reserved_connections").map(Setting::number).orElse(0L);
        Setting setting = server.setting("max_connections");
        long room = setting.number() - reserved;
        String found =
                "%d, %d in use, %d of them by brokers; a broker takes up to %d"
                        .formatted(
                                setting.number(), row.number("used"), row.number("ours"), needed);
        if (needed > room) {
            return Verdict.fail(
                    found,
                    "DB_POOL_SIZE=%d, or %s"
                            .formatted(
                                    Math.max(4, room - BESIDE_THE_POOL),
                                    server.becomes(
                                            setting, Long.toString(needed + reserved + 20))));
        }
        if (row.number("role_limit") >= 0 && row.number("role_limit") < needed) {
            return Verdict.fail(
                    found + "; the role may have " + row.number("role_limit"),
                    "alter role %s connection limit -1".formatted(server.role()));
        }
        if (row.number("database_limit") >= 0 && row.number("database_limit") < needed) {
            return Verdict.fail(
                    found + "; the database may have " + row.number("database_limit"),
                    "alter database %s connection limit -1".formatted(server.database()));
        }
        return isScarce(room - row.number("used"), row.number("ours") > 0, needed)
                ? Verdict.warn(
                        found + ": that does not fit beside what is there",
                        "a smaller DB_POOL_SIZE, or "
                                + server.becomes(
                                        setting,
                                        Long.toString(row.number("used") + needed + reserved + 20)))
                : Verdict.ok(found);
    }

    /**
     * Pools fill themselves when a broker starts: of one that runs, only a few are still to come.
     *
     * @param free what the server has left
     * @param running whether a broker runs
     * @param needed by one
     */
    static boolean isScarce(long free, boolean running, long needed) {
        return free < (running ? BESIDE_THE_POOL : needed);
    }

    private static Verdict idleInTransaction(Server server) {
        Setting setting = server.setting("idle_in_transaction_session_timeout");
        return setting.number() == 0
                ? Verdict.warn(
                        "off: a transaction that was forgotten holds its lanes, vacuum, and the"
                                + " space of all later epochs until somebody ends it",
                        server.becomes(setting, "10min"))
                : Verdict.ok(Server.time(setting.millis() / 1_000));
    }

    private static Verdict idleSession(Server server) {
        Setting setting = server.setting("idle_session_timeout");
        return setting.number() == 0
                ? Verdict.ok("off")
                : Verdict.warn(
                        Server.time(setting.millis() / 1_000)
                                + ": pooled connections, and the one that listens for hints, are cut"
                                + " off while nothing happens",
                        "alter role %s set idle_session_timeout = 0".formatted(server.role()));
    }

    private static Verdict atLeast(Server server, String name, long minMillis, String otherwise) {
        Optional<Setting> setting = server.find(name);
        if (setting.isEmpty() || setting.get().number() == 0) {
            return Verdict.ok(setting.isEmpty() ? "not in this version" : "off");
        }
        String found = setting.get().millis() + " ms";
        return setting.get().millis() < minMillis
                ? Verdict.warn(
                        found + ": " + otherwise,
                        "alter role %s set %s = 0".formatted(server.role(), name))
                : Verdict.ok(found);
    }

    private static Verdict keepalives(Server server) {
        return keepalives(
                server.isLoopback(),
                server.setting("tcp_keepalives_idle").number()
                        + server.setting("tcp_keepalives_interval").number()
                                * server.setting("tcp_keepalives_count").number());
    }

    /**
     * A machine that is gone says nothing; until it is missed its sessions keep their locks.
     *
     * @param loopback the connection does not leave the machine
     * @param seconds until it is missed
     */
    static Verdict keepalives(boolean loopback, long seconds) {
        if (loopback) {
            return Verdict.ok("not needed: the connection does not leave the machine");
        }
        return seconds > KEEPALIVE_MAX_SECONDS
                ? Verdict.warn(
                        "a client whose machine is gone keeps its locks for "
                                + Server.time(seconds),
                        "alter system set tcp_keepalives_idle = 60; alter system set"
                                + " tcp_keepalives_interval = 10; alter system set"
                                + " tcp_keepalives_count = 6; select pg_reload_conf()")
                : Verdict.ok(
                        "a client whose machine is gone is missed after " + Server.time(seconds));
    }
}
