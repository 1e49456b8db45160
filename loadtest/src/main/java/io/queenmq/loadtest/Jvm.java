package io.queenmq.loadtest;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What a Java machine tells of itself through jcmd. */
final class Jvm {
    private static final Pattern TOTAL = Pattern.compile("(?m)^Total\\s+\\d+\\s+(\\d+)");
    private static final Pattern COUNTER = Pattern.compile("(?m)^([a-zA-Z0-9_.]+)=(\\d+)\\s*$");
    private static final Pattern PAUSES = Pattern.compile("sun\\.gc\\.collector\\.\\d+\\.time");
    private static final Pattern ALLOCATED =
            Pattern.compile("(?m)^\"[^\\n]* allocated=(\\d+)([BKMG]?)");

    /** Samples of threads that use a processor, in native code too. */
    static final String SAMPLE = "jdk.CPUTimeSample";

    private final long pid;

    Jvm(long pid) {
        this.pid = pid;
    }

    private String jcmd(String... arguments) {
        List<String> command =
                new ArrayList<>(
                        List.of(
                                Path.of(System.getProperty("java.home"), "bin", "jcmd").toString(),
                                Long.toString(pid)));
        command.addAll(List.of(arguments));
        return Commands.run(command);
    }

    /** Bytes of the objects that are still reachable, after a full collection. */
    long liveHeapBytes() {
        Matcher total = TOTAL.matcher(jcmd("GC.class_histogram"));
        if (!total.find()) {
            throw new IllegalStateException("jcmd GC.class_histogram shows no total");
        }
        return Long.parseLong(total.group(1));
    }

    /** Seconds that all collections together have stopped the program for. */
    double pausedSeconds() {
        double frequency = 0;
        long ticks = 0;
        Matcher counter = COUNTER.matcher(jcmd("PerfCounter.print"));
        while (counter.find()) {
            if (counter.group(1).equals("sun.os.hrt.frequency")) {
                frequency = Long.parseLong(counter.group(2));
            } else if (PAUSES.matcher(counter.group(1)).matches()) {
                ticks += Long.parseLong(counter.group(2));
            }
        }
        if (frequency == 0) {
            throw new IllegalStateException("jcmd PerfCounter.print shows no clock");
        }
        return ticks / frequency;
    }

    /** Begins to sample stacks by CPU time. */
    void startRecording() {
        jcmd(
                "JFR.start",
                "name=cost",
                "settings=none",
                "+" + SAMPLE + "#enabled=true",
                "+" + SAMPLE + "#stackTrace=true",
                "+" + SAMPLE + "#throttle=500/s");
    }

    void stopRecording(Path file) {
        jcmd("JFR.stop", "name=cost", "filename=" + file);
    }

    /** Bytes that the platform threads alive now have allocated, carriers of virtual ones too. */
    long allocatedBytes() {
        long bytes = 0;
        Matcher thread = ALLOCATED.matcher(jcmd("Thread.print", "-e"));
        while (thread.find()) {
            long count = Long.parseLong(thread.group(1));
            bytes +=
                    switch (thread.group(2)) {
                        case "K" -> count << 10;
                        case "M" -> count << 20;
                        case "G" -> count << 30;
                        default -> count;
                    };
        }
        return bytes;
    }
}
