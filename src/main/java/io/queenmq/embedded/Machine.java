package io.queenmq.embedded;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/**
 * What a server may use of this machine.
 *
 * @param memoryBytes of the machine, or of the container that we are in
 * @param diskBytes free in the file system of its files, and what its write-ahead log has of it
 */
public record Machine(long memoryBytes, long diskBytes) {
    private static final long UNKNOWN_MEMORY = 2L << 30;

    /** This one, and the disk that holds a folder. */
    static Machine holding(Path server) {
        try {
            return new Machine(memory(), Files.getFileStore(server).getUsableSpace() + log(server));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Memory of the machine, or of the container that we are in. */
    public static long memory() {
        return ManagementFactory.getOperatingSystemMXBean()
                        instanceof com.sun.management.OperatingSystemMXBean machine
                ? machine.getTotalMemorySize()
                : UNKNOWN_MEMORY;
    }

    /** Without this the share of the log would shrink with every start, by what it already has. */
    private static long log(Path server) throws IOException {
        Path log = server.resolve("pg_wal");
        if (!Files.isDirectory(log)) {
            return 0;
        }
        try (Stream<Path> files = Files.list(log)) {
            return files.mapToLong(file -> file.toFile().length()).sum();
        }
    }
}
