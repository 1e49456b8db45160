package io.queenmq.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.Contract;
import java.io.IOException;
import java.sql.SQLException;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * Goal: kill -9 of a broker loses, doubles or reorders nothing that it has answered. Method: real
 * processes, producers and consumers that go on retrying while the broker is killed three times in
 * the middle of its work, then a comparison of what every client was told with what came out.
 */
final class BrokerKillFaultTest {
    @Test
    @Contract({"push-12", "ack-7"})
    void keepsItsWordWhenKilledUnderLoad() throws IOException, InterruptedException, SQLException {
        try (PostgresProcess postgres = PostgresProcess.start();
                BrokerProcess broker = BrokerProcess.start(postgres.port());
                Workload workload = new Workload("killed", 24, broker.url())) {
            workload.start(6, 4);
            for (int kills = 0; kills < 3; kills++) {
                workload.books().awaitAccepted(1_000);
                broker.kill();
                workload.books().awaitRefused();
                broker.restart();
            }
            workload.books().awaitAccepted(1_000);
            workload.finish();
            assertEquals(Set.of(), workload.books().violations());
            Stored.assertSound(postgres, "killed");
        }
    }
}
