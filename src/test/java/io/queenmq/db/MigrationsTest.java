package io.queenmq.db;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import org.junit.jupiter.api.Test;

class MigrationsTest {

    @Test
    void startsWithOneOpenEpoch() throws SQLException {
        try (TestDatabase database = TestDatabase.migrated();
                Connection connection = database.connect()) {
            assertEquals(
                    1,
                    TestDatabase.rows(
                                    connection,
                                    "select epoch from queen_store.epochs where state = 'open'")
                            .getFirst()[0]);
        }
    }
}
