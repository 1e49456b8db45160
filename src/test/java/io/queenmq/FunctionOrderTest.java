package io.queenmq;

import static io.queenmq.testkit.Lines.line;
import static io.queenmq.testkit.Lines.lines;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.SqlTree;
import io.queenmq.testkit.TestDatabase;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A migration applies only those function files that changed, in any state of the others: none may
 * need another one to be created.
 */
class FunctionOrderTest {

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5})
    void functionFilesApplyInAnyOrder(long seed) throws SQLException, IOException {
        List<Path> files = new ArrayList<>(SqlTree.files("functions"));
        Collections.shuffle(files, new Random(seed));
        try (TestDatabase database = TestDatabase.empty();
                Connection connection = database.connect()) {
            for (Path file : SqlTree.files("schema")) {
                lines(connection, Files.readString(file));
            }
            for (Path file : files) {
                lines(connection, Files.readString(file));
            }
            assertEquals(
                    Integer.toString(SqlTree.functions().size()),
                    line(
                            connection,
                            "select count(*) from pg_proc where pronamespace in"
                                    + " ('queen'::regnamespace, 'queen_store'::regnamespace)"));
        }
    }
}
