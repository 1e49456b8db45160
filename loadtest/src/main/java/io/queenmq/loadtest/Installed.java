package io.queenmq.loadtest;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** PostgreSQL as packages of Debian, Red Hat and their kin install it. */
final class Installed {
    private static final List<String> FAMILIES =
            List.of("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin");

    private Installed() {}

    /** Folders of programs, the newest version first. */
    static List<Path> binaries() {
        List<Path> found = new ArrayList<>();
        for (String family : FAMILIES) {
            int star = family.indexOf('*');
            int before = family.lastIndexOf('/', star);
            Path parent = Path.of(family.substring(0, before));
            String pattern = family.substring(before + 1, family.lastIndexOf('/'));
            if (!Files.isDirectory(parent)) {
                continue;
            }
            try (DirectoryStream<Path> versions = Files.newDirectoryStream(parent, pattern)) {
                for (Path version : versions) {
                    if (Files.isExecutable(version.resolve("bin/initdb"))) {
                        found.add(version.resolve("bin"));
                    }
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
        found.sort(Comparator.comparing(Path::toString).reversed());
        return found;
    }
}
