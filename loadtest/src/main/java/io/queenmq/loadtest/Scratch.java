package io.queenmq.loadtest;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.concurrent.locks.LockSupport;

/** Folders that are gone when a run ends. */
final class Scratch {
    private static final int ATTEMPTS = 10;
    private static final long PAUSE_NANOS = 300_000_000;

    private Scratch() {}

    /** A process that is only just stopping may still write there: then once more. */
    static void delete(Path folder) {
        for (int attempt = 1; Files.exists(folder); attempt++) {
            try {
                deleteOnce(folder);
            } catch (IOException e) {
                if (attempt == ATTEMPTS) {
                    throw new UncheckedIOException(e);
                }
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        }
    }

    private static void deleteOnce(Path folder) throws IOException {
        Files.walkFileTree(
                folder,
                new SimpleFileVisitor<>() {
                    @Override
                    public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
                            throws IOException {
                        Files.deleteIfExists(file);
                        return FileVisitResult.CONTINUE;
                    }

                    @Override
                    public FileVisitResult visitFileFailed(Path file, IOException cause) {
                        return FileVisitResult.CONTINUE;
                    }

                    @Override
                    public FileVisitResult postVisitDirectory(Path done, IOException cause)
                            throws IOException {
                        Files.deleteIfExists(done);
                        return FileVisitResult.CONTINUE;
                    }
                });
    }
}
