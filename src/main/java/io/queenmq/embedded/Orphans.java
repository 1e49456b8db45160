package io.queenmq.embedded;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * What a server leaves when it is killed: its processes go on for a moment, or for as long as a
 * query computes, and nothing starts on its files while they hold its memory. Called by whoever
 * starts the next one.
 */
final class Orphans {
    private static final Logger LOG = System.getLogger(Orphans.class.getName());

    private static final int LOOKS_MAX = 200;
    private static final int LOOKS_BEFORE_KILL = 100;
    private static final long LOOK_EVERY_MILLIS = 100;

    /** Every data folder has its own copy, so that no server but its own runs it. */
    private final Path program;

    Orphans(Path program) throws IOException {
        this.program = program.toRealPath();
    }

    /**
     * Waits until they are gone: they roll back what is open, or finish their commit. Where they
     * stay, or the system does not show them, the next server refuses to start and says so.
     */
    void end() throws InterruptedException {
        for (int look = 0; look < LOOKS_MAX; look++) {
            List<ProcessHandle> left = ProcessHandle.allProcesses().filter(this::runs).toList();
            if (left.isEmpty()) {
                return;
            }
            if (look == 0) {
                LOG.log(
                        Level.INFO,
                        "ending what the dead server left behind pids={0}",
                        String.join(
                                ",", left.stream().map(one -> Long.toString(one.pid())).toList()));
            }
            for (ProcessHandle one : left) {
                if (look < LOOKS_BEFORE_KILL) {
                    one.destroy();
                } else {
                    one.destroyForcibly();
                }
            }
            awaitEnd(left.getFirst());
        }
    }

    private boolean runs(ProcessHandle process) {
        return process.info().command().filter(path -> program.equals(Path.of(path))).isPresent();
    }

    private static void awaitEnd(ProcessHandle process) throws InterruptedException {
        try {
            process.onExit().get(LOOK_EVERY_MILLIS, TimeUnit.MILLISECONDS);
        } catch (TimeoutException | ExecutionException e) {
            // It is looked for again.
        }
    }
}
