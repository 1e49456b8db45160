package io.queenmq.ready;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

class LaneTableTest {
    private int time;
    private final LaneTable table = new LaneTable(() -> time);

    @Test
    @Contract("pop-claim-8")
    void takesInTheOrderOfBecomingReady() {
        table.written(7, 0);
        table.written(3, 0);
        table.written(7, 1);
        assertEquals(2, table.readyCount());
        assertEquals(7, table.take());
        assertEquals(3, table.take());
        assertEquals(0, table.readyCount());
        assertEquals(2, table.takenCount());
    }

    @Test
    void clearsALaneOnlyWhenItsNewestMessageWasSeen() {
        table.written(1, 5);
        table.take();
        table.written(1, 6);
        table.drainedTo(1, 5);
        assertEquals(1, table.readyCount(), "a write raced the claim");
        table.take();
        table.drainedTo(1, 6);
        assertEquals(0, table.size());
    }

    @Test
    void aReleaseWithoutOffsetOutlivesTheClaimUnderWay() {
        table.freed(1);
        table.take();
        table.freed(1);
        table.drainedTo(1, 100);
        assertEquals(1, table.readyCount());
        table.take();
        table.drainedTo(1, 100);
        assertEquals(0, table.size());
    }

    @Test
    void aLaneThatAReadingFindsFreeWaitsNoLonger() {
        table.written(1, 9);
        table.take();
        table.revisit(1, 9, 60_000);
        table.foundFree(1, 9);
        assertEquals(1, table.readyCount());
        table.take();
        table.foundFree(1, 9);
        table.drainedTo(1, 9);
        assertEquals(0, table.size(), "a claim under way saw more than the reading");
    }

    @Test
    void aReleaseWhileAClaimIsUnderWayBeatsItsHeldVerdict() {
        table.written(1, 9);
        table.take();
        table.freed(1, 3, 9);
        table.revisit(1, 9, 60_000);
        assertEquals(1, table.readyCount());
    }

    @Test
    void aReleaseWithNothingLeftForgetsTheLane() {
        table.written(1, 9);
        table.take();
        table.revisit(1, 9, 1_000);
        table.freed(1, 9, 9);
        assertEquals(0, table.size());
        assertFalse(table.hasDue());
    }

    @Test
    void aReleaseWithWorkLeftOffersTheLaneAtOnce() {
        table.freed(1, 3, 9);
        assertEquals(1, table.readyCount(), "a lane nobody here knew of");
        table.written(2, 9);
        table.take();
        table.take();
        table.revisit(2, 9, 1_000);
        table.freed(2, 4, 9);
        assertEquals(1, table.readyCount());
    }

    @Test
    void waitingLanesBecomeReadyWhenDueEvenAcrossTheWrapOfTheClock() {
        int now = Integer.MAX_VALUE - 10;
        for (long lane = 1; lane <= 3; lane++) {
            table.written(lane, 0);
            table.take();
        }
        table.revisit(1, 0, now + 30);
        table.revisit(2, 0, now + 5);
        table.revisit(3, 0, now + 20);
        assertEquals(now + 5, table.nextDue());
        table.releaseDue(now + 20);
        assertEquals(2, table.readyCount());
        assertEquals(2, table.take());
        assertEquals(3, table.take());
        table.releaseDue(now + 30);
        assertEquals(1, table.take());
    }

    @Test
    void lanesNotLookedAtKeepTheirPlace() {
        table.written(1, 0);
        table.written(2, 0);
        table.written(3, 0);
        table.take();
        table.take();
        table.untouched(2);
        table.untouched(1);
        assertEquals(1, table.take());
        assertEquals(2, table.take());
        assertEquals(3, table.take());
    }

    /** The age that counts is that of the lane nobody has come to, whatever was taken meanwhile. */
    @Test
    void theFirstReadyLaneSaysHowLongWorkHasWaited() {
        assertEquals(0, table.waitedMillis());
        for (long lane = 1; lane <= 200; lane++) {
            time = (int) (100 * lane);
            table.written(lane, 0);
        }
        assertEquals(19_900, table.waitedMillis(), "it grew meanwhile, and forgot nothing");
        table.take();
        table.take();
        assertEquals(19_700, table.waitedMillis());
        table.untouched(2);
        assertEquals(19_800, table.waitedMillis(), "a lane put back has waited all along");
        table.take();
        table.served(2, 0, 1);
        assertEquals(19_700, table.waitedMillis(), "one that was served begins anew");
        while (table.take() != 2) {}
        assertEquals(0, table.waitedMillis());
    }

    @Test
    void noLaneCostsMoreThan64Bytes() {
        for (int lane = 1; lane <= 100_000; lane++) {
            table.written(lane * 31L, 0);
            if (lane > 1_000) {
                assertTrue(table.bytes() <= 64L * lane, "growing at " + lane);
            }
        }
        for (int lane = 1; lane <= 50_000; lane++) {
            long taken = table.take();
            table.revisit(taken, 0, lane);
        }
        assertTrue(table.bytes() <= 64L * table.size());
        table.releaseDue(100_000);
        while (table.size() > 1_000) {
            table.drainedTo(table.take(), 0);
            assertTrue(table.bytes() <= 64L * table.size(), "shrinking at " + table.size());
        }
    }

    /** Random steps against a plain model: which lanes are there, and none twice in a list. */
    @Test
    void agreesWithAModel() {
        long seed = new Random().nextLong();
        Random random = new Random(seed);
        Map<Long, String> model = new HashMap<>();
        for (int step = 0; step < 200_000; step++) {
            long lane = 1L + random.nextInt(300);
            switch (random.nextInt(6)) {
                case 0 -> {
                    table.written(lane, 0);
                    model.putIfAbsent(lane, "ready");
                }
                case 1 -> {
                    if (table.readyCount() > 0) {
                        model.put(table.take(), "taken");
                    }
                }
                case 2 -> {
                    if ("taken".equals(model.get(lane))) {
                        table.drainedTo(lane, 0);
                        model.remove(lane);
                    }
                }
                case 3 -> {
                    if ("taken".equals(model.get(lane))) {
                        table.revisit(lane, 0, random.nextInt(1_000));
                        model.put(lane, "waiting");
                    }
                }
                case 4 -> {
                    if (!"taken".equals(model.get(lane))) {
                        table.freed(lane);
                        model.put(lane, "ready");
                    }
                }
                default -> {
                    if (random.nextInt(50) == 0) {
                        table.releaseAll();
                        model.replaceAll((key, state) -> state.equals("waiting") ? "ready" : state);
                    }
                }
            }
            assertEquals(model.size(), table.size(), "seed " + seed);
            assertEquals(
                    model.values().stream().filter("ready"::equals).count(),
                    table.readyCount(),
                    "seed " + seed);
        }
        Set<Long> taken = new HashSet<>();
        table.releaseAll();
        while (table.readyCount() > 0) {
            assertTrue(taken.add(table.take()), "seed " + seed);
        }
        assertEquals(model.size(), table.takenCount(), "seed " + seed);
    }
}
