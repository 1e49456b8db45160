package io.queenmq.push;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.model.Caller;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.queue.LaneName;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

class LaneBatchTest {
    private final QueenException late = new QueenException(Failure.BUSY, "late");

    private final CountDownLatch answered = new CountDownLatch(1);
    private final LaneBatch batch =
            new LaneBatch(
                    new LaneName(Caller.DEFAULT_TENANT, "q", "p"),
                    List.of(AppendCall.message("x")),
                    answered,
                    0);

    /** A call that broke before it said what it did leaves it sent. */
    @Test
    void whatIsUnderWayIsServedAgainRatherThanDropped() {
        assertTrue(batch.send());
        assertTrue(batch.send());
        batch.expire(late);
        assertFalse(batch.isGivenUp());
    }

    @Test
    void whatIsGivenUpIsNotServed() {
        assertTrue(batch.send());
        batch.expire(late);
        batch.unsend(LaneBatch.Delay.HELD);
        assertTrue(batch.isGivenUp());
        assertFalse(batch.send());
        assertEquals(late, batch.refusal());
    }

    @Test
    void refusalBehindTheAnswerChangesNothing() {
        assertTrue(batch.send());
        batch.answer();
        batch.refuse(late);
        assertNull(batch.refusal());
        assertEquals(0, answered.getCount());
    }

    @Test
    void waitsForItsTurnUntilSomethingElseKeepsIt() {
        assertEquals(LaneBatch.Delay.TURN, batch.delay());
        assertTrue(batch.send());
        batch.unsend(LaneBatch.Delay.SEARCH);
        assertEquals(LaneBatch.Delay.SEARCH, batch.delay());
    }
}
