package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http.Reply;
import io.queenmq.testkit.Lines;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A database that lacks what the broker needs: nobody's bug, and an operator's to mend. */
class MisconfiguredHttpTest {
    @Contract("kv-24")
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '~',
            value = {
                "run_kv | /api/v1/kv | {'op':'get','ns':'n','key':'k'} | kv_misconfigured",
                "run_kv | /api/v1/locks | {'op':'get','name':'l'} | kv_misconfigured",
                "change_timers | /api/v1/timers | {'op':'cancel','queue':'q','timerKey':'k'} | timers_misconfigured"
            })
    void aFunctionThatIsMissingIsNamedAsThat(
            String function, String path, String operation, String error) throws SQLException {
        try (TestDatabase database = TestDatabase.migrated();
                TestBroker broker = TestBroker.on(database);
                Connection connection = database.connect()) {
            Lines.lines(connection, "drop function queen_store." + function + " cascade");
            Reply reply = broker.http().post(path, "[" + operation.replace('\'', '"') + "]");
            assertEquals(500, reply.status(), reply.body());
            assertEquals(error, reply.json().text("error"));
            assertTrue(reply.json().text("detail").contains("migrate"), reply.body());
            assertEquals(0, broker.metric("queen_web_internal_errors_total"));
        }
    }
}
