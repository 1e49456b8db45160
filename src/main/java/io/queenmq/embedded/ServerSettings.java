package io.queenmq.embedded;

/**
 * What the embedded server is told beyond PostgreSQL's own defaults. The reasons for the sizes are
 * in {@code docs/decisions/007-embedded-server-settings.md}.
 */
final class ServerSettings {
    private static final long MIB = 1L << 20;

    private ServerSettings() {}

    /** Content of {@code queen.conf}, for that machine. */
    static String render(Machine machine) {
        long logMib = logMib(machine);
        return """
        # Written by the broker at every start, for %d MB of memory and %d MB of disk. Your own
        # settings win when they are made with "alter system set ...".

        # What was answered is on disk.
        fsync = on
        synchronous_commit = on
        full_page_writes = on

        listen_addresses = '127.0.0.1'
        unix_socket_directories = ''
        max_connections = 200
        # A transaction that was forgotten holds its partitions, and the space behind them.
        idle_in_transaction_session_timeout = 10min

        shared_buffers = %dMB
        effective_cache_size = %dMB
        maintenance_work_mem = %dMB
        huge_pages = try

        # Fewer checkpoints mean fewer full-page images: with the stock 1 GB they come every few
        # seconds under load.
        max_wal_size = %dMB
        min_wal_size = %dMB
        checkpoint_timeout = 15min
        checkpoint_completion_target = 0.9
        wal_buffers = 16MB
        # This build has neither lz4 nor zstd.
        wal_compression = off

        # Pages written in the background do not have to be written by a commit.
        bgwriter_delay = 50ms
        bgwriter_lru_maxpages = 400
        autovacuum_naptime = 10s
        random_page_cost = 1.1
        jit = off

        log_directory = '../log'
        logging_collector = on
        log_filename = 'postgresql-%%a.log'
        log_truncate_on_rotation = on
        log_rotation_age = 1d
        log_rotation_size = 0
        log_line_prefix = '%%m [%%p] %%a '
        """
                .formatted(
                        machine.memoryBytes() / MIB,
                        machine.diskBytes() / MIB,
                        share(machine, 8, 128, 8_192),
                        share(machine, 2, 256, Integer.MAX_VALUE),
                        share(machine, 32, 32, 512),
                        logMib,
                        Math.max(80, logMib / 4));
    }

    /** A part of the memory, in MiB. */
    private static long share(Machine machine, int part, long min, long max) {
        return Math.clamp(machine.memoryBytes() / part / MIB, min, max);
    }

    /**
     * An eighth of the disk. At most what is replayed well within the time that a start waits for
     * the server; at least what keeps checkpoints from following each other without a pause.
     */
    private static long logMib(Machine machine) {
        return Math.clamp(machine.diskBytes() / 8 / MIB, 256, 8_192);
    }
}
