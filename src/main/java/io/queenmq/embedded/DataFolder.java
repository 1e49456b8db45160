package io.queenmq.embedded;

import io.queenmq.runtime.StartRefused;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The folder of an embedded server: {@code server} holds its files, {@code log} what it says,
 * {@code pgpass} the password of its only user, {@code port} where it listened last. Locked while a
 * broker uses it; the lock ends with the process, however that ends.
 */
final class DataFolder implements AutoCloseable {
    static final String USER = "queen";
    static final String DATABASE = "queen";

    /** No system gives a process that number. */
    private static final int NOBODY = Integer.MAX_VALUE;

    private final Path root;
    private final FileChannel lockFile;
    private final FileLock lock;

    private DataFolder(Path root, FileChannel lockFile, FileLock lock) {
        this.root = root;
        this.lockFile = lockFile;
        this.lock = lock;
    }

    /**
     * @throws StartRefused another broker uses it, or it cannot be made
     */
    static DataFolder open(Path root) {
        try {
            if (!Files.isDirectory(root)) {
                Files.createDirectories(root);
                Files.setPosixFilePermissions(root, PosixFilePermissions.fromString("rwx--x--x"));
            }
            FileChannel file =
                    FileChannel.open(
                            root.resolve("lock"),
                            StandardOpenOption.CREATE,
                            StandardOpenOption.READ,
                            StandardOpenOption.WRITE);
            FileLock lock = tryLock(file);
            if (lock == null) {
                String holder = read(file);
                file.close();
                throw new StartRefused(
                        "another broker%s uses the data folder %s: stop it, or set QUEEN_DATA_DIR"
                                .formatted(
                                        holder.isEmpty() ? "" : " (pid " + holder + ")",
                                        root.toAbsolutePath()));
            }
            file.truncate(0);
            file.write(
                    ByteBuffer.wrap(
                            Long.toString(ProcessHandle.current().pid())
                                    .getBytes(StandardCharsets.US_ASCII)),
                    0);
            Files.createDirectories(root.resolve("log"));
            return new DataFolder(root.toAbsolutePath().normalize(), file, lock);
        } catch (IOException e) {
            throw refused(root, e);
        }
    }

    /** What to tell the operator. */
    static StartRefused refused(Path root, IOException e) {
        return new StartRefused(
                "cannot use the data folder " + root.toAbsolutePath() + ": " + reason(e), e);
    }

    /** In words where the message is nothing but the name of a file. */
    static String reason(IOException e) {
        return switch (e) {
            case AccessDeniedException denied -> "no right to use " + denied.getFile();
            case FileAlreadyExistsException there -> there.getFile() + " is no folder";
            case NoSuchFileException missing -> missing.getFile() + " is not there";
            default -> String.valueOf(e.getMessage());
        };
    }

    private static @Nullable FileLock tryLock(FileChannel file) throws IOException {
        try {
            return file.tryLock();
        } catch (OverlappingFileLockException e) {
            // Held by another broker in this very process.
            return null;
        }
    }

    private static String read(FileChannel file) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(32);
        file.read(buffer, 0);
        return new String(buffer.array(), 0, buffer.position(), StandardCharsets.US_ASCII).strip();
    }

    Path root() {
        return root;
    }

    /** The files of the server; exists once they are complete. */
    Path server() {
        return root.resolve("server");
    }

    Path log() {
        return root.resolve("log");
    }

    /** In the format that psql reads with {@code PGPASSFILE}. */
    Path passwordFile() {
        return root.resolve("pgpass");
    }

    /** Made up once; only the owner of the folder can read it. */
    String password() {
        try {
            Path file = passwordFile();
            if (!Files.exists(file)) {
                byte[] secret = new byte[16];
                new SecureRandom().nextBytes(secret);
                Path fresh =
                        Files.createTempFile(
                                root,
                                "pgpass",
                                "",
                                PosixFilePermissions.asFileAttribute(
                                        PosixFilePermissions.fromString("rw-------")));
                Files.writeString(
                        fresh,
                        "127.0.0.1:*:*:%s:%s\n".formatted(USER, HexFormat.of().formatHex(secret)));
                Files.move(fresh, file);
            }
            String line = Files.readString(file).strip();
            return line.substring(line.lastIndexOf(':') + 1);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Where the server listened last; 0 = nowhere yet. */
    int rememberedPort() {
        try {
            Path file = root.resolve("port");
            return Files.exists(file) ? Integer.parseInt(Files.readString(file).strip()) : 0;
        } catch (IOException | NumberFormatException e) {
            return 0;
        }
    }

    void rememberPort(int port) {
        try {
            Files.writeString(root.resolve("port"), port + "\n");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Process of the server that runs on these files, or ran until it was killed; 0 = none. */
    long postmaster() {
        try {
            Path file = server().resolve("postmaster.pid");
            if (!Files.exists(file)) {
                return 0;
            }
            List<String> lines = Files.readAllLines(file);
            return lines.isEmpty() ? 0 : Math.abs(Long.parseLong(lines.getFirst().strip()));
        } catch (IOException | NumberFormatException e) {
            return 0;
        }
    }

    /**
     * Called once that process is dead. Its number may be somebody else's by now, as after a
     * restart of a container, or that of a process which nobody has reaped: a server would take it
     * for the one that runs here. The other lines stay, by which it knows whether the memory of the
     * dead one is still in use.
     */
    void disownPostmaster() throws IOException {
        Path file = server().resolve("postmaster.pid");
        if (postmaster() != 0) {
            List<String> lines = new ArrayList<>(Files.readAllLines(file));
            lines.set(0, Integer.toString(NOBODY));
            Files.write(file, lines);
        }
    }

    @Override
    public void close() {
        try {
            lock.release();
            lockFile.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
