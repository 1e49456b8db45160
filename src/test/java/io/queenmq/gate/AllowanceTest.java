package io.queenmq.gate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class AllowanceTest {
    private static final int RELEASE = 90;

    private final Allowance allowance = new Allowance();

    private void measured(long now, @Nullable Long most) {
        allowance.measured(now);
        allowance.allow(most, RELEASE);
    }

    @Test
    void whatWasAddedHereCountsUntilItIsMeasured() {
        measured(7, 10L);
        assertTrue(allowance.admits(3));
        assertFalse(allowance.admits(4));
        allowance.add(2);
        assertTrue(allowance.admits(1));
        assertFalse(allowance.admits(2));
        assertTrue(allowance.isGuessed());
        allowance.add(-1);
        assertTrue(allowance.admits(2));
        measured(7, 10L);
        assertTrue(allowance.admits(3), "the two were overwritten");
        assertFalse(allowance.isGuessed());
    }

    @Test
    void oneThatWasUsedUpOpensAgainWithRoomToSpare() {
        measured(100, 100L);
        assertFalse(allowance.admits(1));
        measured(91, 100L);
        assertFalse(allowance.admits(1));
        measured(90, 100L);
        assertTrue(allowance.admits(10));
        measured(91, 100L);
        assertTrue(allowance.admits(9), "it was not used up since");
        measured(100, 100L);
        allowance.allow(200L, RELEASE);
        assertTrue(allowance.admits(100), "a higher limit holds at once");
    }

    @Test
    void whatTakesAwayOrAddsNothingIsAlwaysAdmitted() {
        measured(5, 0L);
        assertTrue(allowance.admits(0));
        assertTrue(allowance.admits(-1));
        assertFalse(allowance.admits(1));
        measured(5, null);
        assertTrue(allowance.admits(Long.MAX_VALUE));
        assertEquals(5, allowance.used());
        allowance.add(-7);
        assertEquals(0, allowance.used());
    }

    @Test
    void itIsHotNearItsLimitOnly() {
        measured(79, 100L);
        assertFalse(allowance.isHot(80));
        allowance.add(1);
        assertTrue(allowance.isHot(80));
        measured(100, 100L);
        allowance.add(-90);
        assertTrue(allowance.isHot(80), "only a measurement opens it again");
        measured(1_000, null);
        assertFalse(allowance.isHot(80));
    }
}
