package io.queenmq.metrics;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What this process uses of its machine. Where the system has no {@code /proc}, what only that
 * tells is 0. Any thread.
 */
public final class ProcessUse {
    private static final Path STATUS = Path.of("/proc/self/status");
    private static final Path STAT = Path.of("/proc/self/stat");
    private static final Pattern RESIDENT = Pattern.compile("VmRSS:\\s+(\\d+) kB");

    /** Behind the name of the process, which stands in brackets and may hold anything. */
    private static final Pattern TICKS = Pattern.compile("\\) (?:\\S+ ){11}(\\d+) (\\d+) ");

    /** Clock ticks are hundredths of a second in everything Linux tells, whatever its own are. */
    private static final long MICROS_PER_TICK = 10_000;

    private ProcessUse() {}

    /**
     * Processor time so far.
     *
     * @param userMicros spent on its own code
     * @param systemMicros spent on what it asked of the kernel
     */
    public record Cpu(long userMicros, long systemMicros) {}

    public static Duration uptime() {
        return Duration.ofMillis(ManagementFactory.getRuntimeMXBean().getUptime());
    }

    /** Memory that is in the machine's, heap or not. */
    public static long residentBytes() {
        Matcher matcher = RESIDENT.matcher(read(STATUS));
        return matcher.find() ? Long.parseLong(matcher.group(1)) << 10 : 0;
    }

    public static Cpu cpu() {
        Matcher matcher = TICKS.matcher(read(STAT));
        return matcher.find()
                ? new Cpu(
                        Long.parseLong(matcher.group(1)) * MICROS_PER_TICK,
                        Long.parseLong(matcher.group(2)) * MICROS_PER_TICK)
                : new Cpu(0, 0);
    }

    public static MemoryUsage heap() {
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
    }

    /** Memory of the virtual machine beside its heap. */
    public static long otherBytes() {
        return ManagementFactory.getMemoryMXBean().getNonHeapMemoryUsage().getUsed();
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            return "";
        }
    }
}
