package io.queenmq.fault;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Processes that tests have started: none outlives the JVM, whatever a test leaves behind. */
final class Children {
    private static final Set<Process> RUNNING = ConcurrentHashMap.newKeySet();

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> RUNNING.forEach(Children::kill)));
    }

    private Children() {}

    static Process start(ProcessBuilder builder) throws IOException {
        Process process = builder.start();
        RUNNING.add(process);
        return process;
    }

    /** Ends a process and all that it has started, as a loss of power does; they are gone then. */
    static void kill(Process process) {
        List<ProcessHandle> descendants = process.descendants().toList();
        process.destroyForcibly();
        descendants.forEach(ProcessHandle::destroyForcibly);
        process.onExit().join();
        for (ProcessHandle descendant : descendants) {
            descendant.onExit().join();
        }
        RUNNING.remove(process);
    }

    /** Sends a signal by its name. */
    static void signal(Process process, String name) {
        try {
            Process kill =
                    new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).start();
            if (kill.waitFor() != 0) {
                throw new IllegalStateException("no process " + process.pid());
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }
}
