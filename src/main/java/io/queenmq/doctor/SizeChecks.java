package io.queenmq.doctor;

import io.queenmq.db.Inspection;
import io.queenmq.embedded.Machine;
import io.queenmq.model.ByteSize;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.UnaryOperator;

/** Settings that decide how fast the server writes. */
final class SizeChecks {
    private static final long WAL_SIZE_MIN = 4L << 30;

    /** What an embedded server takes on a disk that has no room for more. */
    private static final long WAL_SIZE_SMALL_DISK = 256L << 20;

    private static final int DISK_SHARE = 8;
    private static final long CHECKPOINT_MIN_MS = 15 * 60_000;
    private static final double COMPLETION_MIN = 0.9;
    private static final long BUFFERS_MIN = 256L << 20;
    private static final int BUFFERS_SHARE_MIN = 16;

    /** Holds what is written all the time, however much memory there is. */
    private static final long BUFFERS_ENOUGH = 8L << 30;

    /** Below these many the two kinds of checkpoints say nothing. */
    private static final long CHECKPOINTS_MIN = 20;

    static final List<Check> ALL =
            List.of(
                    new Check("shared_buffers", SizeChecks::sharedBuffers),
                    new Check("max_wal_size", SizeChecks::maxWalSize),
                    new Check("checkpoint_timeout", SizeChecks::checkpointTimeout),
                    new Check("checkpoint_completion_target", SizeChecks::completionTarget),
                    new Check("wal_compression", SizeChecks::walCompression),
                    new Check("jit", SizeChecks::jit),
                    new Check("track_io_timing", SizeChecks::ioTiming),
                    new Check("pg_stat_statements", SizeChecks::statements));

    private SizeChecks() {}

    private static Verdict sharedBuffers(Server server) {
        Setting setting = server.setting("shared_buffers");
        return sharedBuffers(
                setting.bytes(),
                server.inspection().isLocal()
                        ? OptionalLong.of(Machine.memory())
                        : OptionalLong.empty(),
                wanted -> server.becomes(setting, wanted));
    }

    /**
     * @param memory of the machine; empty = the server is on another one
     */
    static Verdict sharedBuffers(long bytes, OptionalLong memory, UnaryOperator<String> becomes) {
        String found = new ByteSize(bytes).toString();
        if (memory.isEmpty()) {
            return bytes < BUFFERS_MIN
                    ? Verdict.warn(
                            found + ", what PostgreSQL has on a machine of any size",
                            "a quarter of the server's memory: " + becomes.apply("…GB"))
                    : Verdict.ok(found);
        }
        long all = memory.getAsLong();
        found += " of " + new ByteSize(all);
        if (bytes < Math.min(all / BUFFERS_SHARE_MIN, BUFFERS_ENOUGH)) {
            return Verdict.warn(
                    found + ": pages that are written all the time do not stay in memory",
                    becomes.apply(megabytes(all / 8)));
        }
        return bytes > all / 2
                ? Verdict.warn(
                        found + ": too little is left for sessions and the page cache",
                        becomes.apply(megabytes(all / 4)))
                : Verdict.ok(found);
    }

    private static String megabytes(long bytes) {
        return (bytes >> 20) + "MB";
    }

    private static Verdict maxWalSize(Server server) {
        Setting setting = server.setting("max_wal_size");
        String found = new ByteSize(setting.bytes()).toString();
        // Where the disk is seen, its size counts: more than a share of it may fill it.
        long wanted =
                server.inspection().usableDiskBytes().stream()
                        .map(usable -> usable / DISK_SHARE)
                        .map(share -> Math.clamp(share, WAL_SIZE_SMALL_DISK, WAL_SIZE_MIN))
                        .findFirst()
                        .orElse(WAL_SIZE_MIN);
        Inspection.Row checkpoints =
                server.row(
                        server.major() >= 17
                                ? "select num_timed as timed, num_requested as forced from"
                                        + " pg_stat_checkpointer"
                                : "select checkpoints_timed as timed, checkpoints_req as forced from"
                                        + " pg_stat_bgwriter");
        long forced = checkpoints.number("forced");
        found +=
                "; %d checkpoints by time, %d forced"
                        .formatted(checkpoints.number("timed"), forced);
        // A megabyte is the unit of the setting: a share of a disk is no round number of them.
        if (setting.bytes() >> 20 < wanted >> 20) {
            return Verdict.warn(
                    found
                            + ": under load they follow each other without a pause, and log whole"
                            + " pages",
                    server.becomes(setting, megabytes(Math.max(wanted, 2 * setting.bytes()))));
        }
        return forced >= CHECKPOINTS_MIN && forced > checkpoints.number("timed")
                ? Verdict.hint(
                        found,
                        "if the load does that, and no backup: "
                                + server.becomes(setting, megabytes(2 * setting.bytes())))
                : Verdict.ok(found);
    }

    private static Verdict checkpointTimeout(Server server) {
        Setting setting = server.setting("checkpoint_timeout");
        String found = Server.time(setting.millis() / 1_000);
        return setting.millis() < CHECKPOINT_MIN_MS
                ? Verdict.warn(
                        found + ": after each checkpoint the first change of a page logs all of it",
                        server.becomes(setting, "15min"))
                : Verdict.ok(found);
    }

    private static Verdict completionTarget(Server server) {
        Setting setting = server.setting("checkpoint_completion_target");
        return Double.parseDouble(setting.value()) < COMPLETION_MIN
                ? Verdict.warn(
                        setting.value() + ": checkpoints write in bursts, which commits wait for",
                        server.becomes(setting, "0.9"))
                : Verdict.ok(setting.value());
    }

    private static Verdict walCompression(Server server) {
        Setting setting = server.setting("wal_compression");
        return walCompression(setting, wanted -> server.becomes(setting, wanted));
    }

    static Verdict walCompression(Setting setting, UnaryOperator<String> becomes) {
        if (setting.value().equals("off") && setting.allows("lz4")) {
            return Verdict.warn(
                    "off, and this server has lz4: whole pages in the log take their full size",
                    becomes.apply("lz4"));
        }
        return Verdict.ok(
                setting.value().equals("off")
                        ? "off: this server has no lz4, and pglz costs more than it saves"
                        : setting.value());
    }

    private static Verdict jit(Server server) {
        Setting setting = server.setting("jit");
        return setting.isOn()
                ? Verdict.warn(
                        "on: of views and SQL functions that applications call, compiling takes"
                                + " longer than running (a broker switches it off for itself)",
                        server.becomes(setting, "off"))
                : Verdict.ok("off");
    }

    private static Verdict ioTiming(Server server) {
        Setting setting = server.setting("track_io_timing");
        return setting.isOn()
                ? Verdict.ok("on")
                : Verdict.hint(
                        "off", "to see what waits for the disk: " + server.becomes(setting, "on"));
    }

    private static Verdict statements(Server server) {
        Optional<Setting> libraries = server.find("shared_preload_libraries");
        if (server.row(
                        "select exists (select from pg_extension where extname ="
                                + " 'pg_stat_statements') as there")
                .is("there")) {
            return Verdict.ok("installed");
        }
        return libraries.filter(s -> s.value().contains("pg_stat_statements")).isPresent()
                ? Verdict.hint("loaded", "to see it here: create extension pg_stat_statements")
                : Verdict.hint(
                        "not loaded",
                        "to see what takes the time: add it to shared_preload_libraries, restart,"
                                + " create extension pg_stat_statements");
    }
}
