package io.queenmq.testkit;

import io.queenmq.embedded.PostgresBinaries;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import java.util.zip.ZipFile;

/** The programs of the PostgreSQL versions that tests run on. */
public final class TestBinaries {
    private TestBinaries() {}

    /** The version that this run tests: {@code -Dqueen.test.postgres}, 15 to 18. */
    public static String version() {
        return System.getProperty("queen.test.postgres", "18");
    }

    /** The bundled ones for 18, else those that the build has copied beside them. */
    public static PostgresBinaries of(String version) throws IOException {
        Path target = Path.of("target").toAbsolutePath();
        Path home = target.resolve("postgres-" + version);
        if (version.equals("18")) {
            return PostgresBinaries.bundled(home);
        }
        try (Stream<Path> jars = Files.list(target.resolve("postgres-archives"))) {
            Path jar =
                    jars.filter(p -> p.getFileName().toString().contains("-" + version + "."))
                            .findFirst()
                            .orElseThrow();
            try (ZipFile zip = new ZipFile(jar.toFile());
                    InputStream txz =
                            zip.getInputStream(zip.getEntry(PostgresBinaries.archiveName()))) {
                return PostgresBinaries.unpack(txz, home);
            }
        }
    }
}
