package io.queenmq.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.Contract;
import java.io.IOException;
import java.sql.SQLException;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * Goal: a crash of PostgreSQL under load loses, doubles or reorders nothing that was answered, and
 * the broker comes back by itself. Method: all processes of the server are killed at once, twice;
 * commits whose answer was lost are settled by the broker, never guessed.
 */
final class PostgresKillFaultTest {
    @Test
    @Contract("push-12")
    void keepsItsWordWhenTheDatabaseCrashesUnderLoad()
            throws IOException, InterruptedException, SQLException {
        try (PostgresProcess postgres = PostgresProcess.start();
                BrokerProcess broker = BrokerProcess.start(postgres.port());
                Workload workload = new Workload("crashed", 24, broker.url())) {
            workload.start(6, 4);
            for (int kills = 0; kills < 2; kills++) {
                workload.books().awaitAccepted(1_000);
                postgres.kill();
                workload.books().awaitRefused();
                postgres.restart();
            }
            workload.books().awaitAccepted(1_000);
            workload.finish();
            assertEquals(Set.of(), workload.books().violations());
            Stored.assertSound(postgres, "crashed");
        }
    }
}
