package io.queenmq.embedded;

import java.lang.management.ManagementFactory;

/** What the embedded server is told beyond PostgreSQL's own defaults. */
final class ServerSettings {
    private static final long MIB = 1L << 20;

    private ServerSettings() {}

    /** Content of {@code queen.conf}, for this machine. */
    static String render() {
        return render(
                ManagementFactory.getOperatingSystemMXBean()
                                instanceof com.sun.management.OperatingSystemMXBean machine
                        ? machine.getTotalMemorySize()
                        : 2_048 * MIB);
    }

    /**
     * A sixteenth of the memory for shared buffers: the broker reads what was just written, and the
     * machine has other work.
     */
    static String render(long memoryBytes) {
        long sharedMib = Math.clamp(memoryBytes / 16 / MIB, 128, 1_024);
        return """
        # Written by the broker at every start. Your own settings win when they are made with
        # "alter system set ...".
        fsync = on
        synchronous_commit = on
        full_page_writes = on
        listen_addresses = '127.0.0.1'
        unix_socket_directories = ''
        max_connections = 200
        shared_buffers = %dMB
        # Fewer checkpoints mean fewer full-page images: with the stock 1 GB they come every few
        # seconds under load.
        max_wal_size = 4GB
        checkpoint_timeout = 15min
        # Pages written in the background do not have to be written by a commit.
        bgwriter_delay = 50ms
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
                .formatted(sharedMib);
    }
}
