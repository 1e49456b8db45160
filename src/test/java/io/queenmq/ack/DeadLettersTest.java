package io.queenmq.ack;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.queenmq.cipher.CipherConfig;
import io.queenmq.cipher.PayloadCipher;
import io.queenmq.db.ColdReads;
import io.queenmq.runtime.Clock;
import io.queenmq.testkit.ConsumeEngine;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.LogFixture;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A bulk replay over a database, by a clock that the test moves. */
class DeadLettersTest extends DeadLetterAckScene {
    /** So much goes by between two looks at it. */
    private static final Duration STEP = Duration.ofSeconds(11);

    private static final class StepClock implements Clock {
        private long nanos;

        @Override
        public Instant now() {
            return Instant.EPOCH;
        }

        @Override
        public long nanos() {
            nanos += STEP.toNanos();
            return nanos;
        }
    }

    @Test
    @Contract("dlq-7")
    void aBulkReplayBeginsNoMoveAfterItsTimeAndSaysWhereToGoOn() throws SQLException {
        for (String transactionId : List.of("m10", "m11", "m12", "m13")) {
            file(transactionId, "e");
        }
        try (ConsumeEngine engine = new ConsumeEngine(database);
                ColdReads reads = new ColdReads(database.config(), engine.metrics, Clock.SYSTEM)) {
            DeadLetters letters =
                    new DeadLetters(
                            engine.database,
                            reads,
                            engine.ready,
                            new PayloadCipher(CipherConfig.NONE, engine.metrics),
                            new StepClock());
            DeadLetters.Replayed first =
                    letters.replayAll(LogFixture.TENANT, queueName(), null, null, 100);
            assertEquals(2, first.moved(), "the third would begin after 22 s");
            assertNotNull(first.next());
            assertNull(first.stopped());
            assertEquals(2, letters());
            DeadLetters.Replayed second =
                    letters.replayAll(LogFixture.TENANT, queueName(), null, first.next(), 100);
            assertEquals(2, second.moved());
            assertNull(second.next());
            assertEquals(0, letters());
        }
    }
}
