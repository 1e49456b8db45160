package io.queenmq.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Test;

class RationTest {
    private long nanos;
    private final Clock clock =
            new Clock() {
                @Override
                public Instant now() {
                    return Instant.EPOCH;
                }

                @Override
                public long nanos() {
                    return nanos;
                }
            };

    @Test
    void whatTakesLongIsDoneRarely() {
        Ration ration = new Ration(clock);
        assertTrue(ration.isDue(), "nothing was spent yet");
        ration.took(Duration.ofMillis(300).toNanos());
        assertFalse(ration.isDue());
        assertEquals(Duration.ofSeconds(6), ration.untilDue());
        nanos += Duration.ofSeconds(6).toNanos() - 1;
        assertFalse(ration.isDue());
        nanos++;
        assertTrue(ration.isDue());
        assertEquals(Duration.ZERO, ration.untilDue());
        ration.took(0);
        assertTrue(ration.isDue());
    }
}
