package io.queenmq.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Lines;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Goal: what happens to one of two brokers costs nobody a message, and the other's clients nothing
 * at all. Method: two processes over one database, clients of both on the lanes of one queue; one
 * broker is killed, frozen past its leases or restarted in order, again and again.
 */
final class TwoBrokersFaultTest {
    private static final int LANES = 12;

    private static PostgresProcess postgres;

    private BrokerProcess first;
    private BrokerProcess second;

    @BeforeAll
    static void startDatabase() throws IOException, InterruptedException {
        postgres = PostgresProcess.start();
    }

    @AfterAll
    static void stopDatabase() throws IOException {
        postgres.close();
    }

    @BeforeEach
    void start() throws IOException {
        first = BrokerProcess.launch(postgres.port(), Map.of());
        second = BrokerProcess.launch(postgres.port(), Map.of());
        first.awaitReady();
        second.awaitReady();
    }

    @AfterEach
    void stop() throws IOException {
        first.close();
        second.close();
    }

    private Workload load(String queue) {
        Workload workload = new Workload(queue, LANES, first.url(), second.url()).spread();
        workload.start(6, 3);
        workload.consume(Consumer.Manner.STEP_BY_STEP);
        workload.consume(Consumer.Manner.STEP_BY_STEP);
        return workload;
    }

    private void assertWordKept(Workload workload, String queue)
            throws InterruptedException, SQLException {
        workload.books().awaitAccepted(200);
        workload.finish();
        Stored.awaitAcknowledged(postgres, workload);
        assertEquals(Set.of(), workload.books().violations());
        Stored.assertExactly(postgres, queue, LANES, workload.books());
        Stored.assertSound(postgres, queue);
    }

    @Test
    @Contract({"push-12", "ack-7"})
    void killingOneAtRandomMomentsLosesNothingAndTroublesNoClientOfTheOther()
            throws IOException, InterruptedException, SQLException {
        long seed = Long.getLong("queen.test.seed", System.nanoTime());
        System.out.println("kills at random moments, -Dqueen.test.seed=" + seed);
        Random random = new Random(seed);
        try (Workload shared = load("killed");
                Workload bystanders = new Workload("bystanders", LANES, second.url())) {
            bystanders.start(2, 1);
            for (int kills = 0; kills < 4; kills++) {
                shared.books().awaitAccepted(50 + random.nextInt(500));
                first.kill();
                shared.books().awaitAccepted(200);
                first.restart();
            }
            assertWordKept(bystanders, "bystanders");
            assertEquals(0, bystanders.books().troubles());
            assertWordKept(shared, "killed");
        }
    }

    @Test
    @Contract("ack-rule-1")
    void aBrokerFrozenPastItsLeasesDoesNoHarmWhenItGoesOn()
            throws IOException, InterruptedException, SQLException {
        try (Workload workload = load("frozen");
                Connection observer = postgres.connect()) {
            for (int times = 0; times < 3; times++) {
                workload.books().awaitAccepted(200);
                first.freeze();
                awaitNewHolders(observer);
                first.thaw();
            }
            assertWordKept(workload, "frozen");
        } finally {
            first.thaw();
        }
    }

    /** Returns when no lease of now is left: each was ended by its holder, or taken over. */
    private static void awaitNewHolders(Connection observer) throws SQLException {
        String held =
                """
                select c.lease_id
                from queen_store.cursors c
                join queen_store.partitions p on p.id = c.partition_id
                join queen_store.queues q on q.id = p.queue_id
                where q.name = 'frozen' and c.lease_id is not null
                """;
        Set<String> old = new HashSet<>(Lines.lines(observer, held));
        Await.until(
                "other holders of " + old,
                () -> Lines.lines(observer, held).stream().noneMatch(old::contains));
    }

    /**
     * The first failure would dead-letter a message, and a lease outlives the test: whatever a
     * broker leaves behind when it stops would show.
     */
    @Test
    @Contract({"retry-2", "http-19"})
    void restartingOneAfterTheOtherCostsNoMessageAnAttempt()
            throws IOException, InterruptedException, SQLException {
        Http.Answer configured =
                new Http(first.url())
                        .call(
                                "POST",
                                "/api/v1/configure",
                                "{\"queue\":\"rolled\",\"options\":{\"retryLimit\":0}}");
        assertEquals(200, configured.status());
        try (Workload workload =
                new Workload("rolled", LANES, first.url(), second.url())
                        .spread()
                        .leaseSeconds(600)) {
            workload.start(4, 4);
            for (int restarts = 0; restarts < 3; restarts++) {
                for (BrokerProcess broker : List.of(first, second)) {
                    workload.books().awaitAccepted(100);
                    broker.terminate();
                    broker.awaitStopped();
                    broker.restart();
                }
            }
            assertWordKept(workload, "rolled");
            assertEquals(0, workload.books().redelivered());
        }
    }
}
