package io.queenmq.embedded;

import io.queenmq.runtime.StartRefused;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.UserPrincipal;
import java.util.List;
import java.util.stream.Stream;

/**
 * How to run PostgreSQL, which refuses to run as root: as this user; as root inside a user
 * namespace of its own, where the same process is nobody in particular and still owns the files; or
 * as another user, to whom the files then belong.
 *
 * @param prefix words before the command
 */
public record Unprivileged(List<String> prefix) {

    /**
     * Finds a way that works on this machine.
     *
     * @param owned the folders that the server must own; they exist
     * @throws StartRefused root, and no way to be somebody else
     */
    public static Unprivileged ownerOf(Path... owned) {
        if (!"root".equals(System.getProperty("user.name"))) {
            return new Unprivileged(List.of());
        }
        Unprivileged namespace = new Unprivileged(List.of("unshare", "-U"));
        if (namespace.canWriteTo(owned)) {
            return namespace;
        }
        for (String user : others(owned[0])) {
            Unprivileged other =
                    new Unprivileged(List.of("setpriv", "--reuid=" + user, "--clear-groups", "--"));
            if (succeeds(other.with("true")) && giveTo(user, owned) && other.canWriteTo(owned)) {
                return other;
            }
        }
        throw new StartRefused(
                "PostgreSQL refuses to run as root, user namespaces are forbidden here, and no other"
                        + " user can write to "
                        + List.of(owned)
                        + ": start the broker as another user, or set PG_HOST");
    }

    /** Whoever owns the folder first: it stays theirs when root starts the broker for once. */
    static List<String> others(Path folder) {
        try {
            String owner = Files.getOwner(folder).getName();
            return Stream.of(owner, "postgres", "nobody")
                    .filter(user -> !user.equals("root"))
                    .distinct()
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private boolean canWriteTo(Path... folders) {
        for (Path folder : folders) {
            if (!succeeds(with("test", "-w", folder.toString()))) {
                return false;
            }
        }
        return true;
    }

    private List<String> with(String... command) {
        return Stream.concat(prefix.stream(), Stream.of(command)).toList();
    }

    private static boolean giveTo(String user, Path... folders) {
        for (Path folder : folders) {
            try (Stream<Path> files = Files.walk(folder)) {
                UserPrincipal owner =
                        folder.getFileSystem()
                                .getUserPrincipalLookupService()
                                .lookupPrincipalByName(user);
                for (Path file : (Iterable<Path>) files::iterator) {
                    Files.setOwner(file, owner);
                }
            } catch (IOException | UnsupportedOperationException e) {
                return false;
            }
        }
        return true;
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
