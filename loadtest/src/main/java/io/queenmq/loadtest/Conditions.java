package io.queenmq.loadtest;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

/** Where and with what a run was made; a figure without them says nothing. */
final class Conditions {
    private static final int SYNCS = 200;

    private Conditions() {}

    /**
     * @param folder on the disk of the database, for the time of an fdatasync
     */
    static Map<String, Object> collect(
            String commit, long brokerPid, Map<String, String> postgres, Path folder)
            throws IOException {
        Map<String, Object> conditions = new LinkedHashMap<>();
        conditions.put("commit", commit);
        conditions.put("cpu", proc("/proc/cpuinfo", "model name"));
        conditions.put("cores", Runtime.getRuntime().availableProcessors());
        conditions.put("memory", proc("/proc/meminfo", "MemTotal"));
        conditions.put("kernel", Files.readString(Path.of("/proc/version")).strip());
        conditions.put("fdatasyncMicrosMedian", fdatasyncMicros(folder));
        conditions.put("java", System.getProperty("java.vm.name") + " " + Runtime.version());
        conditions.put("brokerCommand", brokerPid == 0 ? "" : commandLine(brokerPid));
        conditions.put(
                "generatorFlags",
                String.join(" ", ManagementFactory.getRuntimeMXBean().getInputArguments()));
        conditions.put("postgres", postgres);
        return conditions;
    }

    private static String proc(String file, String field) throws IOException {
        for (String line : Files.readAllLines(Path.of(file))) {
            if (line.startsWith(field)) {
                return line.substring(line.indexOf(':') + 1).strip();
            }
        }
        return "";
    }

    /** The arguments of a process; the class path is left out, for it says nothing. */
    private static String commandLine(long pid) throws IOException {
        String[] arguments =
                Files.readString(Path.of("/proc/" + pid + "/cmdline"), StandardCharsets.UTF_8)
                        .split("\0", -1);
        StringBuilder line = new StringBuilder();
        for (int i = 0; i < arguments.length; i++) {
            if (arguments[i].equals("-cp") || arguments[i].equals("-classpath")) {
                i++;
            } else {
                line.append(arguments[i]).append(' ');
            }
        }
        return line.toString().strip();
    }

    /** Time to flush 8 KiB, the median of some hundred. */
    private static long fdatasyncMicros(Path folder) throws IOException {
        Path file = Files.createTempFile(folder, "sync", ".probe");
        long[] nanos = new long[SYNCS];
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            ByteBuffer block = ByteBuffer.allocateDirect(8192);
            for (int i = 0; i < SYNCS; i++) {
                long start = System.nanoTime();
                channel.write(block.clear(), 0);
                channel.force(false);
                nanos[i] = System.nanoTime() - start;
            }
        } finally {
            Files.delete(file);
        }
        Arrays.sort(nanos);
        return nanos[SYNCS / 2] / 1_000;
    }
}
