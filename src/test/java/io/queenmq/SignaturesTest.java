package io.queenmq;

import static io.queenmq.testkit.Lines.lines;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.TestDatabase;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Brokers of two releases share a database, so a released signature never changes. The golden file
 * makes every change visible in review; the test leaves what it found in {@code
 * target/signatures.txt}.
 */
class SignaturesTest {
    private static final Path GOLDEN = Path.of("src/test/resources/signatures.txt");
    private static final Path FOUND = Path.of("target/signatures.txt");

    @Test
    void everySignatureIsAsRecorded() throws SQLException, IOException {
        try (TestDatabase database = TestDatabase.migrated();
                Connection connection = database.connect()) {
            List<String> found =
                    lines(
                            connection,
                            """
                            select n.nspname || '.' || p.proname || '(' || pg_get_function_arguments(p.oid)
                                || ') returns ' || pg_get_function_result(p.oid) as signature
                            from pg_proc p
                            join pg_namespace n on n.oid = p.pronamespace
                            where n.nspname in ('queen', 'queen_store')
                            order by n.nspname, p.proname, pg_get_function_arguments(p.oid)
                            """);
            Files.write(FOUND, found);
            assertEquals(Files.readString(GOLDEN), Files.readString(FOUND));
        }
    }
}
