package io.queenmq.embedded;

import io.queenmq.runtime.StartRefused;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * How to reach the embedded server that another process runs, for a command beside the broker. It
 * takes no lock and changes nothing.
 */
public record RunningServer(int port, String password) {
    /** Of the file that the server keeps while it runs. */
    private static final int PORT_LINE = 3;

    public String host() {
        return "127.0.0.1";
    }

    public String user() {
        return DataFolder.USER;
    }

    public String database() {
        return DataFolder.DATABASE;
    }

    /**
     * Looks for one on these files.
     *
     * @return empty = none runs there
     * @throws StartRefused the files belong to somebody else
     */
    public static Optional<RunningServer> in(Path dataFolder) {
        try {
            List<String> lines =
                    Files.readAllLines(dataFolder.resolve("server").resolve("postmaster.pid"));
            if (lines.size() <= PORT_LINE || !isAlive(lines.getFirst())) {
                return Optional.empty();
            }
            String line = Files.readString(dataFolder.resolve("pgpass")).strip();
            return Optional.of(
                    new RunningServer(
                            Integer.parseInt(lines.get(PORT_LINE).strip()),
                            line.substring(line.lastIndexOf(':') + 1)));
        } catch (AccessDeniedException e) {
            throw new StartRefused(
                    "cannot read "
                            + e.getFile()
                            + ": call as the user that runs the broker, or as root",
                    e);
        } catch (IOException | NumberFormatException e) {
            return Optional.empty();
        }
    }

    /** A server that was killed leaves its file behind. */
    private static boolean isAlive(String pid) {
        return ProcessHandle.of(Math.abs(Long.parseLong(pid.strip())))
                .filter(ProcessHandle::isAlive)
                .isPresent();
    }
}
