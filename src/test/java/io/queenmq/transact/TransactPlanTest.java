package io.queenmq.transact;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.LogFixture.Item;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * A connection keeps the plans it made first, for all later calls. Method: the first search for
 * keys on a connection comes through a bundle, which wants primary keys only; its plan is read.
 */
class TransactPlanTest {
    private static final Pattern BY_HASH = Pattern.compile("Hash \\w+ Join");

    @Test
    void keysAreMatchedByHashAlsoWhenABundleLooksForThemFirst() throws SQLException {
        try (TestDatabase database = TestDatabase.migrated();
                Connection connection = database.connect()) {
            LogFixture log = new LogFixture(connection);
            int queue = log.queue();
            int group = log.group(queue);
            long lane = log.lane(queue);
            log.fill(lane, 5, 6);
            log.cursor(lane, group, -1);
            try (Statement settings = connection.createStatement()) {
                settings.execute(
                        "load 'auto_explain'; set auto_explain.log_nested_statements = on; set"
                                + " auto_explain.log_min_duration = 0; set client_min_messages ="
                                + " log");
            }
            List<String> plans =
                    plans(
                            connection,
                            new TransactCall().ack(lane, "g", null, Item.completed("m3")));
            List<String> searches =
                    plans.stream().filter(plan -> plan.contains("generate_series")).toList();
            assertFalse(searches.isEmpty(), plans.toString());
            for (String search : searches) {
                assertTrue(BY_HASH.matcher(search).find(), search);
            }
        }
    }

    private static List<String> plans(Connection connection, TransactCall call)
            throws SQLException {
        List<String> plans = new ArrayList<>();
        for (SQLWarning warning = call.warnings(connection);
                warning != null;
                warning = warning.getNextWarning()) {
            plans.add(warning.getMessage());
        }
        return plans;
    }
}
