package io.queenmq.embedded;

import io.queenmq.runtime.StartRefused;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.tukaani.xz.XZInputStream;

/** Unpacks a PostgreSQL distribution and builds the command lines of its programs. */
public final class PostgresBinaries {
    private final Path home;

    private PostgresBinaries(Path home) {
        this.home = home;
    }

    /**
     * Unpacks the archive into {@code home}, unless an earlier call has already done so.
     *
     * @param txz a tar archive compressed with xz: bin, lib and share at its top
     */
    public static PostgresBinaries unpack(InputStream txz, Path home) {
        try {
            if (!Files.isDirectory(home)) {
                Path parent = home.toAbsolutePath().getParent();
                Files.createDirectories(parent);
                Path fresh = Files.createTempDirectory(parent, "unpacking-");
                Files.setPosixFilePermissions(fresh, PosixFilePermissions.fromString("rwxr-xr-x"));
                try {
                    extract(txz, fresh);
                    Files.move(fresh, home, StandardCopyOption.ATOMIC_MOVE);
                } catch (IOException e) {
                    delete(fresh);
                    // Somebody else may have been faster.
                    if (!Files.isDirectory(home)) {
                        throw e;
                    }
                }
            }
            return new PostgresBinaries(home);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** With all that is in it. */
    static void delete(Path folder) throws IOException {
        if (Files.exists(folder)) {
            try (Stream<Path> files = Files.walk(folder)) {
                for (Path file :
                        (Iterable<Path>) files.sorted(Comparator.reverseOrder())::iterator) {
                    Files.delete(file);
                }
            }
        }
    }

    private static void extract(InputStream txz, Path target) throws IOException {
        try (TarArchiveInputStream tar =
                new TarArchiveInputStream(new XZInputStream(new BufferedInputStream(txz)))) {
            TarArchiveEntry entry;
            while ((entry = tar.getNextEntry()) != null) {
                Path path = target.resolve(entry.getName()).normalize();
                if (!path.startsWith(target)) {
                    throw new IOException(
                            "archive entry outside of its folder: " + entry.getName());
                }
                if (entry.isDirectory()) {
                    Files.createDirectories(path);
                    continue;
                }
                Files.createDirectories(path.getParent());
                if (entry.isSymbolicLink()) {
                    Files.createSymbolicLink(path, Path.of(entry.getLinkName()));
                } else if (entry.isLink()) {
                    Files.createLink(path, target.resolve(entry.getLinkName()));
                } else {
                    Files.copy(tar, path);
                    if ((entry.getMode() & 0100) != 0) {
                        Files.setPosixFilePermissions(
                                path, PosixFilePermissions.fromString("rwxr-xr-x"));
                    }
                }
            }
        }
    }

    /**
     * Unpacks the distribution this broker was built with.
     *
     * @throws StartRefused there is none for this machine
     */
    public static PostgresBinaries bundled(Path home) {
        try (InputStream txz = PostgresBinaries.class.getResourceAsStream("/" + archiveName())) {
            if (txz == null) {
                throw new StartRefused(
                        "this build bundles no PostgreSQL for "
                                + operatingSystem()
                                + " on "
                                + architecture()
                                + ": set PG_HOST to use a server of your own");
            }
            return unpack(txz, home);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** What the archive for this machine is called, inside the jar of any version. */
    public static String archiveName() {
        return "postgres-" + operatingSystem() + "-" + architecture() + ".txz";
    }

    private static String operatingSystem() {
        String name = System.getProperty("os.name").toLowerCase(Locale.ROOT);
        return name.startsWith("mac") ? "darwin" : name.startsWith("win") ? "windows" : "linux";
    }

    private static String architecture() {
        String name = System.getProperty("os.arch");
        return name.equals("amd64") ? "x86_64" : name.equals("aarch64") ? "arm_64" : name;
    }

    /** The file of a program of this distribution. */
    Path program(String name) {
        return home.resolve("bin").resolve(name);
    }

    /** Command line of a program of this distribution, for a user that PostgreSQL accepts. */
    public List<String> command(Unprivileged user, String program, List<String> args) {
        List<String> command = new ArrayList<>(user.prefix());
        command.add(program(program).toString());
        command.addAll(args);
        return command;
    }
}
