package io.queenmq.doctor;

import io.queenmq.db.Inspection;
import io.queenmq.model.ByteSize;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/** What server this is, how it is reached, and whether a broker could work with it at all. */
final class ServerChecks {
    private static final long VERSION_MIN = 15;
    private static final long VERSION_MAX = 18;
    private static final int TERMINATE_MS = 5_000;
    private static final long DISK_FAIL_BYTES = 1L << 30;

    static final List<Check> ALL =
            List.of(
                    new Check("version", ServerChecks::version),
                    new Check("encoding", ServerChecks::encoding),
                    new Check("takes_writes", ServerChecks::takesWrites),
                    new Check("encryption", ServerChecks::encryption),
                    new Check("clock", ServerChecks::clock),
                    new Check("corpus", ServerChecks::corpus),
                    new Check("disk", ServerChecks::disk),
                    new Check("pending_restart", ServerChecks::pendingRestart));

    /** They open sessions of their own, so they come when all others have been counted. */
    static final List<Check> TRIALS =
            List.of(
                    new Check("broker_connection", ServerChecks::brokerConnection),
                    new Check("pooling", ServerChecks::pooling),
                    new Check("terminate", ServerChecks::terminate));

    private ServerChecks() {}

    private static Verdict version(Server server) {
        return version("PostgreSQL " + server.version(), server.major());
    }

    static Verdict version(String found, long major) {
        if (major < VERSION_MIN) {
            return Verdict.fail(found, "upgrade the server: Queen needs 15 or later");
        }
        return major > VERSION_MAX
                ? Verdict.warn(found, "Queen is tested with 15 to 18")
                : Verdict.ok(found);
    }

    private static Verdict encoding(Server server) {
        String found = server.setting("server_encoding").value();
        return found.equals("UTF8")
                ? Verdict.ok(found)
                : Verdict.fail(
                        found,
                        "create database queen encoding 'UTF8' template template0, use that");
    }

    private static Verdict takesWrites(Server server) {
        Inspection.Row row =
                server.row(
                        """
                        select pg_is_in_recovery() as standby,
                               current_setting('transaction_read_only')::boolean as read_only,
                               c.timeline_id as timeline
                        from pg_control_checkpoint() c
                        """);
        if (row.is("standby")) {
            return Verdict.fail(
                    "is a standby, on timeline " + row.number("timeline"),
                    "point PG_HOST to the primary, or to both, separated by a comma");
        }
        Setting readOnly = server.setting("default_transaction_read_only");
        return row.is("read_only")
                ? Verdict.fail(
                        "sessions of this role are read-only", server.becomes(readOnly, "off"))
                : Verdict.ok("primary, timeline " + row.number("timeline"));
    }

    private static Verdict encryption(Server server) {
        Inspection.Row row =
                server.row(
                        "select ssl, version, cipher from pg_stat_ssl where pid = pg_backend_pid()");
        String found =
                row.is("ssl") ? row.text("version") + ", " + row.text("cipher") : "not encrypted";
        return encryption(
                found, row.is("ssl"), server.config().tls().mode().verifies(), server.isLoopback());
    }

    static Verdict encryption(String found, boolean encrypted, boolean verified, boolean loopback) {
        if (encrypted && verified) {
            return Verdict.ok(found + ", and the server proved who it is");
        }
        if (loopback) {
            return Verdict.ok(found + ", and does not leave the machine");
        }
        return encrypted
                ? Verdict.warn(
                        found + ", and whoever answers is taken for the server",
                        "set PG_SSL_MODE to verify-full, and PG_SSL_ROOT_CERT")
                : Verdict.warn(
                        found + ", and passwords and messages leave the machine",
                        "set PG_USE_SSL to true, and PG_SSL_ROOT_CERT");
    }

    private static Verdict brokerConnection(Server server) {
        return Inspection.brokerIsRefused(server.config(), server.clock())
                .map(
                        reason ->
                                Verdict.fail(
                                        "a broker gets no connection: " + reason,
                                        "connect directly to a server that takes writes"))
                .orElse(Verdict.ok("a broker gets its connections"));
    }

    /**
     * Behind a pooler of transactions a session that is not in one has no server process of its
     * own, so that another one gets it.
     */
    private static Verdict pooling(Server server) {
        String ask = "select pg_backend_pid() as pid";
        long before = server.row(ask).number("pid");
        try (Inspection other = Inspection.open(server.config())) {
            other.rows("begin");
            long others = other.row(ask).number("pid");
            if (others == before || server.row(ask).number("pid") != before) {
                return Verdict.fail(
                        "a proxy pools transactions: sessions share their server processes, so"
                                + " prepared statements and LISTEN do not survive",
                        "connect directly, or let the proxy pool sessions (pool_mode = session)");
            }
        }
        return server.inspection().handshakePid() == before
                ? Verdict.ok("none: each session has a server process of its own")
                : Verdict.warn(
                        "a proxy hides the process ids of the server: after a lost connection a"
                                + " broker cannot end what it had begun",
                        "connect directly");
    }

    private static Verdict terminate(Server server) {
        try (Inspection other = Inspection.open(server.config())) {
            String ask = "select pg_backend_pid() as pid";
            long pid = other.row(ask).number("pid");
            if (pid == server.row(ask).number("pid")) {
                return Verdict.warn(
                        "cannot be tried through the proxy that pools transactions",
                        "connect directly");
            }
            boolean ended =
                    server.row(
                                    "select pg_terminate_backend(?, ?) as ended",
                                    (int) pid,
                                    (long) TERMINATE_MS)
                            .is("ended");
            return ended
                    ? Verdict.ok("sessions of this role can be ended by it")
                    : Verdict.warn("a session outlived its end by 5 s", "look at the server's log");
        } catch (Inspection.Refused e) {
            return Verdict.fail(
                    "sessions of this role cannot be ended: " + e.reason(),
                    "grant execute on function pg_terminate_backend(integer, bigint) to "
                            + server.role());
        }
    }

    private static Verdict clock(Server server) {
        Instant sent = server.clock().now();
        String answer =
                server.row(
                                "select (extract(epoch from clock_timestamp()) * 1000)::bigint"
                                        + " as millis")
                        .text("millis");
        Instant received = server.clock().now();
        Duration way = Duration.between(sent, received).dividedBy(2);
        Duration offset = Duration.between(sent.plus(way), instant(answer));
        String found =
                "the server's is %d ms %s, give or take %d ms"
                        .formatted(
                                offset.abs().toMillis(),
                                offset.isNegative() ? "behind" : "ahead",
                                way.toMillis());
        return offset.abs().compareTo(server.bounds().clockOffset().plus(way)) > 0
                ? Verdict.warn(found, "synchronize both machines (chrony, systemd-timesyncd)")
                : Verdict.ok(found);
    }

    private static Instant instant(String millis) {
        return Instant.ofEpochMilli(Long.parseLong(millis));
    }

    private static Verdict corpus(Server server) {
        Inspection.Corpora corpora = server.inspection().corpora();
        int own = corpora.own();
        if (corpora.applied().isEmpty()) {
            return Verdict.ok("empty: the first broker makes tables and functions");
        }
        int applied = corpora.applied().get();
        if (applied < own) {
            return Verdict.warn(
                    "%d, behind this version's %d".formatted(applied, own),
                    "start a broker of this version: it migrates");
        }
        if (own < corpora.compatibleFrom()) {
            return Verdict.fail(
                    "%d, which brokers from %d on can use; this version has %d"
                            .formatted(applied, corpora.compatibleFrom(), own),
                    "use a newer version of Queen");
        }
        return Verdict.ok(
                applied == own
                        ? applied + ", as in this version"
                        : "%d, ahead of this version's %d, which it can be used with"
                                .formatted(applied, own));
    }

    private static Verdict disk(Server server) {
        return disk(server.inspection().usableDiskBytes(), server.setting("max_wal_size").bytes());
    }

    /**
     * @param usable empty = it cannot be seen from here
     * @param log bytes that the log may take
     */
    static Verdict disk(OptionalLong usable, long log) {
        if (usable.isEmpty()) {
            return Verdict.hint(
                    "cannot be seen from here",
                    "watch it on the server: a full disk stops every write");
        }
        String found = new ByteSize(usable.getAsLong()) + " free";
        if (usable.getAsLong() < DISK_FAIL_BYTES) {
            return Verdict.fail(found, "make room: ./queen reclaim 1GB, or a larger disk");
        }
        return usable.getAsLong() < 2 * log
                ? Verdict.warn(
                        found + ", and the log may take " + new ByteSize(log),
                        "make room: ./queen reclaim " + size(2 * log) + ", or a larger disk")
                : Verdict.ok(found);
    }

    private static String size(long bytes) {
        return new ByteSize(bytes).toString().replace(" ", "");
    }

    private static Verdict pendingRestart(Server server) {
        Optional<String> names =
                server.row(
                                "select string_agg(name, ', ' order by name) as names from"
                                        + " pg_settings where pending_restart")
                        .find("names");
        return names.map(
                        all ->
                                Verdict.warn(
                                        "changed in the file, not in the server: " + all,
                                        "restart the server"))
                .orElse(Verdict.ok("no setting waits for a restart"));
    }
}
