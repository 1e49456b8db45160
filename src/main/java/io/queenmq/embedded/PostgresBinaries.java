package io.queenmq.embedded;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
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
                extract(txz, fresh);
                try {
                    Files.move(fresh, home, StandardCopyOption.ATOMIC_MOVE);
                } catch (IOException e) {
                    if (!Files.isDirectory(home)) {
                        throw e;
                    }
                }
            }
            return new PostgresBinaries(home);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot unpack PostgreSQL into " + home, e);
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
     * Command line of a program of this distribution. PostgreSQL refuses to run as root; inside a
     * user namespace of its own the same process is nobody in particular.
     */
    public List<String> command(String program, String... args) {
        List<String> command = new ArrayList<>();
        if ("root".equals(System.getProperty("user.name"))) {
            command.add("unshare");
            command.add("-U");
        }
        command.add(home.resolve("bin").resolve(program).toString());
        command.addAll(List.of(args));
        return command;
    }
}
