package io.queenmq.embedded;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What an embedded server is told on small and on large machines. */
class ServerSettingsTest {
    private static final long GIB = 1L << 30;

    /** From a watch with a broker on it to a machine that has everything. */
    static final List<Machine> MACHINES =
            List.of(
                    new Machine(GIB / 4, GIB / 2),
                    new Machine(GIB, 10 * GIB),
                    new Machine(8 * GIB, 100 * GIB),
                    new Machine(2_048 * GIB, 1L << 50));

    private static Map<String, String> settings(Machine machine) {
        Map<String, String> settings = new TreeMap<>();
        ServerSettings.render(machine)
                .lines()
                .filter(line -> line.contains(" = "))
                .map(line -> line.split(" = ", 2))
                .forEach(
                        pair ->
                                assertEquals(
                                        null,
                                        settings.put(pair[0], pair[1]),
                                        pair[0] + " is set twice"));
        return settings;
    }

    private static String sizes(Machine machine) {
        Map<String, String> settings = settings(machine);
        return String.join(
                " ",
                settings.get("shared_buffers"),
                settings.get("effective_cache_size"),
                settings.get("maintenance_work_mem"),
                settings.get("max_wal_size"),
                settings.get("min_wal_size"));
    }

    @Test
    void noMachineIsTooSmallToBeDurable() {
        for (Machine machine : MACHINES) {
            Map<String, String> settings = settings(machine);
            for (String name : List.of("fsync", "synchronous_commit", "full_page_writes")) {
                assertEquals("on", settings.get(name), name + " on " + machine);
            }
        }
    }

    @Test
    void sizesFollowTheMachineWithinBounds() {
        assertEquals("128MB 256MB 32MB 256MB 80MB", sizes(MACHINES.get(0)));
        assertEquals("128MB 512MB 32MB 1280MB 320MB", sizes(MACHINES.get(1)));
        assertEquals("1024MB 4096MB 256MB 8192MB 2048MB", sizes(MACHINES.get(2)));
        assertEquals("8192MB 1048576MB 512MB 8192MB 2048MB", sizes(MACHINES.get(3)));
    }

    @Test
    void theLogKeepsItsShareOfTheDiskThatItFills(@TempDir Path server) throws Exception {
        long before = Machine.holding(server).diskBytes();
        Path log = Files.createDirectory(server.resolve("pg_wal"));
        // A hole takes no room in the file system, so only the counting of the log shows it.
        try (var file = new RandomAccessFile(log.resolve("000000010000").toFile(), "rw")) {
            file.setLength(1L << 36);
        }
        long after = Machine.holding(server).diskBytes();
        assertTrue(after - before > 1L << 35, before + " then " + after);
    }
}
