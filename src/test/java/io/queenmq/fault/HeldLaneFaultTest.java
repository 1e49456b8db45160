package io.queenmq.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.Contract;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * Goal: an application that pushes inside its own transaction and leaves that open delays its lane
 * and nobody else. Method: under load every other lane has to make progress, several times over and
 * each time to the answer of a push, while the transaction is still open; then it ends and the lane
 * goes on where it was.
 */
final class HeldLaneFaultTest {
    private static final int LANES = 12;
    private static final int HELD = 0;

    @Test
    @Contract("push-15")
    void delaysOnlyTheLaneThatAnOpenTransactionHolds()
            throws IOException, InterruptedException, SQLException {
        try (PostgresProcess postgres = PostgresProcess.start();
                BrokerProcess broker = BrokerProcess.start(postgres.port());
                Workload workload = new Workload("held", LANES, broker.url());
                Connection application = postgres.connect()) {
            // A producer per lane: one that waits for the held lane would keep its others waiting.
            workload.start(LANES, 4);
            workload.books().awaitProgressOfAllLanesBut(-1);

            application.setAutoCommit(false);
            try (Statement statement = application.createStatement()) {
                statement.execute(
                        "select queen.push('held', '%s', '{\"from\":\"application\"}')"
                                .formatted(Workload.laneName(HELD)));
            }
            long stored;
            try (Connection observer = postgres.connect()) {
                stored = Stored.count(observer, "held", Workload.laneName(HELD));
                for (int round = 0; round < 20; round++) {
                    workload.books().awaitProgressOfAllLanesBut(HELD);
                }
                assertEquals(stored, Stored.count(observer, "held", Workload.laneName(HELD)));
            }

            application.rollback();
            workload.books().awaitProgressOfAllLanesBut(-1);
            workload.finish();
            assertEquals(Set.of(), workload.books().violations());
            assertEquals(0, workload.books().redelivered());
            Stored.assertSound(postgres, "held");
        }
    }
}
