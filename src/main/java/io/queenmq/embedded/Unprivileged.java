package io.queenmq.embedded;

import io.queenmq.runtime.StartRefused;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * How to run PostgreSQL, which refuses to run as root: as this user; as root inside a user
 * namespace of its own, where the same process is nobody in particular and still owns the files; or
 * as another user, to whom the files then belong.
 *
 * @param prefix words before the command
 */
record Unprivileged(List<String> prefix) {

    /**
     * @param owned the folder that the server must own; it exists
     * @throws StartRefused root, and no way to be somebody else
     */
    static Unprivileged forFolder(Path owned) {
        if (!"root".equals(System.getProperty("user.name"))) {
            return new Unprivileged(List.of());
        }
        Unprivileged namespace = new Unprivileged(List.of("unshare", "-U"));
        if (namespace.canWriteTo(owned)) {
            return namespace;
        }
        for (String user : List.of("postgres", "nobody")) {
            Unprivileged other =
                    new Unprivileged(List.of("setpriv", "--reuid=" + user, "--clear-groups", "--"));
            if (succeeds(Stream.concat(other.prefix.stream(), Stream.of("true")).toList())
                    && giveTo(user, owned)
                    && other.canWriteTo(owned)) {
                return other;
            }
        }
        throw new StartRefused(
                "PostgreSQL refuses to run as root, user namespaces are forbidden here, and no other"
                        + " user can write to "
                        + owned.toAbsolutePath()
                        + ": start the broker as another user, or set PG_HOST");
    }

    private boolean canWriteTo(Path folder) {
        return succeeds(
                Stream.concat(prefix.stream(), Stream.of("test", "-w", folder.toString()))
                        .toList());
    }

    private static boolean giveTo(String user, Path folder) {
        try (Stream<Path> files = Files.walk(folder)) {
            var owner =
                    folder.getFileSystem()
                            .getUserPrincipalLookupService()
                            .lookupPrincipalByName(user);
            for (Path file : (Iterable<Path>) files::iterator) {
                Files.setOwner(file, owner);
            }
            return true;
        } catch (IOException | UnsupportedOperationException e) {
            return false;
        }
    }

    private static boolean succeeds(List<String> command) {
        try {
            return new ProcessBuilder(command)
                            .redirectErrorStream(true)
                            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                            .start()
                            .waitFor()
                    == 0;
        } catch (IOException e) {
            // No such program on this machine.
            return false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
