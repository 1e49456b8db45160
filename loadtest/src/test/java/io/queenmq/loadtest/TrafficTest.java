package io.queenmq.loadtest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The whole generator against a broker in memory that works, and against ones that do not. */
final class TrafficTest {
    private static final Traffic.Shape SHAPE =
            new Traffic.Shape(
                    "q", "g", 8, 4, 10, 0, 0, 400, 4, 10, 1, false, Payload.Kind.ORDER, 256);

    @Test
    void findsNothingWrongWithABrokerThatWorks() throws IOException {
        Ledger ledger = run(FakeBroker.Fault.NONE, SHAPE);
        assertEquals(new Ledger.Verdict(0, 0, 0, 0, 0), ledger.verdict());
        assertTrue(ledger.acceptedCount() > 100);
        assertEquals(ledger.acceptedCount(), ledger.ackedCount());
    }

    @Test
    void keepsToARate() throws IOException {
        Traffic.Shape rated =
                new Traffic.Shape(
                        "q", "g", 8, 4, 10, 1_000, 0, 0, 4, 10, 1, false, Payload.Kind.RANDOM, 256);
        Ledger ledger = run(FakeBroker.Fault.NONE, rated);
        assertEquals(new Ledger.Verdict(0, 0, 0, 0, 0), ledger.verdict());
        assertTrue(ledger.acceptedCount() <= 600, "at most half a second of the rate and a batch");
    }

    @Test
    void noticesALostMessage() throws IOException {
        Ledger.Verdict verdict = run(FakeBroker.Fault.LOSES_ONE, SHAPE).verdict();
        assertEquals(1, verdict.lost());
    }

    @Test
    void noticesTwoMessagesInTheWrongOrder() throws IOException {
        Ledger.Verdict verdict = run(FakeBroker.Fault.SWAPS_TWO, SHAPE).verdict();
        assertEquals(0, verdict.lost());
        assertTrue(verdict.outOfOrder() > 0);
    }

    @Test
    void noticesThatAcknowledgedMessagesComeAgain() throws IOException {
        Ledger.Verdict verdict = run(FakeBroker.Fault.REPEATS_ACKED, SHAPE).verdict();
        assertEquals(0, verdict.lost());
        assertTrue(verdict.unexplained() > 0);
    }

    @Test
    void acceptsARedeliveryAfterARefusedAck() throws IOException {
        Ledger.Verdict verdict = run(FakeBroker.Fault.REDELIVERS_WITH_ATTEMPT, SHAPE).verdict();
        assertTrue(verdict.clean());
        assertTrue(verdict.redelivered() > 0);
    }

    @Test
    void measuresTheFirstMessageOfNewLanes() throws IOException {
        try (FakeBroker broker = new FakeBroker(FakeBroker.Fault.NONE)) {
            Target target = new Target(broker.url(), Optional.empty(), new Cpu(0, 0));
            Options options = Options.parse(new String[] {"--rounds", "3"}, 0);
            Outcome outcome = new NewLaneScenario(target, options).run();
            assertTrue(outcome.missed().isEmpty(), outcome.missed().toString());
        }
    }

    private static Ledger run(FakeBroker.Fault fault, Traffic.Shape shape) throws IOException {
        try (FakeBroker broker = new FakeBroker(fault);
                Traffic traffic = new Traffic(broker.url(), shape)) {
            traffic.startProducers();
            if (shape.rate() > 0) {
                traffic.startConsumers();
                traffic.run(TimeUnit.MILLISECONDS.toNanos(500));
            } else {
                // Every lane is deep enough for every fault before anybody reads.
                long patience = TimeUnit.SECONDS.toNanos(20);
                assertTrue(traffic.runUntil(() -> traffic.ledger().backlog() >= 320, patience));
                traffic.startConsumers();
                assertTrue(
                        traffic.runUntil(() -> traffic.ledger().ackedCount() >= 1_000, patience));
            }
            traffic.drain(TimeUnit.SECONDS.toNanos(fault == FakeBroker.Fault.LOSES_ONE ? 2 : 20));
            return traffic.ledger();
        }
    }
}
