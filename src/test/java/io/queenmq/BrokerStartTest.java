package io.queenmq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.queenmq.runtime.StartRefused;
import io.queenmq.testkit.Await;
import io.queenmq.testkit.TestDatabase;
import io.queenmq.web.WebConfig;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class BrokerStartTest {

    @Test
    void refusesAPortThatIsTakenAndLeavesNothingBehind() throws IOException, SQLException {
        try (TestDatabase database = TestDatabase.migrated();
                Connection observer = database.connect();
                ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            BrokerConfig free = BrokerConfig.on(database.config());
            Broker broker =
                    new Broker(
                            free.with(
                                    WebConfig.of(
                                            "127.0.0.1",
                                            taken.getLocalPort(),
                                            1 << 20,
                                            Duration.ofMinutes(1),
                                            false)));
            StartRefused refusal = assertThrows(StartRefused.class, broker::start);
            assertEquals(
                    "cannot listen on 127.0.0.1:"
                            + taken.getLocalPort()
                            + ": is the port in use? PORT chooses another",
                    refusal.getMessage());
            String left =
                    "select count(*) from pg_stat_activity where datname = current_database() and"
                            + " application_name like 'queen-%'";
            Await.until(
                    "the last session to end",
                    () -> Long.valueOf(0).equals(TestDatabase.rows(observer, left).getFirst()[0]));
        }
    }
}
