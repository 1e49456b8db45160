package io.queenmq.count;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class TallyTest {
    @Test
    void whatIsTakenIsTakenOnceUnlessItIsGivenBack() {
        Tally tally = new Tally(7);
        assertFalse(tally.take());
        assertEquals(1, tally.idleRounds());
        tally.addEach(1, 2, 3, 4);
        tally.addEach(1, 0, 0, 0);
        assertTrue(tally.take());
        assertEquals(0, tally.idleRounds());
        assertEquals(
                List.of(2L, 2L, 3L, 4L),
                List.of(tally.taken(0), tally.taken(1), tally.taken(2), tally.taken(3)));
        assertFalse(tally.take());
        tally.addEach(5, 0, 0, 0);
        assertTrue(tally.take());
        tally.giveBack();
        tally.addEach(1, 0, 0, 0);
        assertTrue(tally.take());
        assertEquals(6, tally.taken(0));
    }

    @Test
    void whatIsAddedWhileItIsTakenIsTakenNext() throws InterruptedException {
        Tally tally = new Tally(7);
        List<Thread> adders = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            adders.add(
                    Thread.ofPlatform()
                            .start(
                                    () -> {
                                        for (int j = 0; j < 100_000; j++) {
                                            tally.addEach(1, 0, 0, 0);
                                        }
                                    }));
        }
        long taken = 0;
        for (Thread adder : adders) {
            while (adder.isAlive()) {
                taken += tally.take() ? tally.taken(0) : 0;
            }
            adder.join();
        }
        taken += tally.take() ? tally.taken(0) : 0;
        assertEquals(400_000, taken);
    }
}
