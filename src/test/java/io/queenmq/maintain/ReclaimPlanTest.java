package io.queenmq.maintain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class ReclaimPlanTest {
    private static final List<ReclaimPlan.Step> EPOCHS =
            List.of(
                    new ReclaimPlan.Step(3, "sealed", 100, 100),
                    new ReclaimPlan.Step(4, "sealed", 100, 40),
                    new ReclaimPlan.Step(5, "open", 100, 10));

    private static List<Integer> epochs(ReclaimPlan plan) {
        return plan.steps().stream().map(ReclaimPlan.Step::epoch).toList();
    }

    @Test
    void whatIsAliveInTheOldestMovesOutOfTheWay() {
        ReclaimPlan plan = ReclaimPlan.of(EPOCHS, 1);
        assertEquals(List.of(3, 4), epochs(plan));
        assertEquals(60, plan.freedBytes());
        assertEquals(140, plan.survivorBytes());
        assertFalse(plan.closes(5));
    }

    @Test
    void theOpenOneIsClosedOnlyWhereTheOthersDoNotSuffice() {
        assertEquals(List.of(3, 4), epochs(ReclaimPlan.of(EPOCHS, 60)));
        ReclaimPlan plan = ReclaimPlan.of(EPOCHS, 61);
        assertEquals(List.of(3, 4, 5), epochs(plan));
        assertTrue(plan.closes(5));
        assertTrue(plan.goesTo(5));
        assertFalse(plan.goesTo(6));
    }

    @Test
    void behindTheLastDeadByteNothingMoves() {
        assertTrue(ReclaimPlan.of(EPOCHS.subList(0, 1), 1).isEmpty());
        assertEquals(
                List.of(3, 4),
                epochs(
                        ReclaimPlan.of(
                                List.of(
                                        EPOCHS.get(0),
                                        EPOCHS.get(1),
                                        new ReclaimPlan.Step(5, "open", 100, 100)),
                                1_000)));
    }

    @Test
    void survivorsNeedTheirRoomTwiceForTheyAreLoggedToo() {
        ReclaimPlan.Step step = EPOCHS.get(1);
        assertEquals(Optional.empty(), ReclaimJob.noRoom(step, OptionalLong.of(80)));
        assertEquals(Optional.empty(), ReclaimJob.noRoom(step, OptionalLong.empty()));
        assertEquals(
                Optional.of(
                        "the disk: what is alive in epoch 4 takes 80 B while it moves, and 79 B are"
                                + " free"),
                ReclaimJob.noRoom(step, OptionalLong.of(79)));
    }
}
