package io.queenmq.loadtest;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Processor time of broker, PostgreSQL and this generator, read from /proc: comparable even where
 * all three share the cores.
 */
final class Cpu {
    /** Linux counts the time of processes in hundredths of a second on every common platform. */
    private static final long TICK_MICROS = 10_000;

    /** Microseconds of processor time since each process began; -1 = not known. */
    record Sample(long broker, long postgres, long generator) {
        Sample minus(Sample earlier) {
            return new Sample(
                    since(earlier.broker, broker),
                    since(earlier.postgres, postgres),
                    since(earlier.generator, generator));
        }

        private static long since(long earlier, long now) {
            return earlier < 0 || now < 0 ? -1 : now - earlier;
        }
    }

    private record Stat(long parent, long ticks, long ticksOfEnded) {}

    private final long brokerPid;
    private final long postgresPid;

    /**
     * @param brokerPid process of the broker, 0 = not on this machine
     * @param postgresPid the postmaster, 0 = not on this machine
     */
    Cpu(long brokerPid, long postgresPid) {
        this.brokerPid = brokerPid;
        this.postgresPid = postgresPid;
    }

    Sample sample() {
        return new Sample(process(brokerPid), postmaster(), process(ProcessHandle.current().pid()));
    }

    private static long process(long pid) {
        return pid == 0 ? -1 : stat(pid).map(s -> s.ticks() * TICK_MICROS).orElse(-1L);
    }

    /** The postmaster, the backends that live, and those that have ended. */
    private long postmaster() {
        Optional<Stat> own = postgresPid == 0 ? Optional.empty() : stat(postgresPid);
        if (own.isEmpty()) {
            return -1;
        }
        long ticks = own.get().ticks() + own.get().ticksOfEnded();
        try (DirectoryStream<Path> pids = Files.newDirectoryStream(Path.of("/proc"), "[0-9]*")) {
            for (Path pid : pids) {
                Optional<Stat> child = stat(Long.parseLong(pid.getFileName().toString()));
                if (child.isPresent() && child.get().parent() == postgresPid) {
                    ticks += child.get().ticks();
                }
            }
        } catch (IOException e) {
            return -1;
        }
        return ticks * TICK_MICROS;
    }

    private static Optional<Stat> stat(long pid) {
        try {
            String text = Files.readString(Path.of("/proc/" + pid + "/stat"));
            // The name, in brackets, may hold blanks: fields are counted from behind it.
            String[] fields = text.substring(text.lastIndexOf(')') + 2).split(" ", -1);
            return Optional.of(
                    new Stat(
                            Long.parseLong(fields[1]),
                            Long.parseLong(fields[11]) + Long.parseLong(fields[12]),
                            Long.parseLong(fields[13]) + Long.parseLong(fields[14])));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        } catch (IOException e) {
            // A process may end while its file is read.
            return Optional.empty();
        }
    }
}
