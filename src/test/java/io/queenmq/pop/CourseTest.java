package io.queenmq.pop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.ready.GroupLanes.Load;
import io.queenmq.testkit.Contract;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** By default a width stays for half a second and 16 looks, and lanes should wait 25 ms at most. */
class CourseTest {
    private static final int PROMPT = 5;
    private static final int LATE = 26;

    private final Course course = new Course(AutopilotConfig.DEFAULT);
    private long millis;

    private Course.Choice look(int ready, int waitedMillis) {
        return course.choose(new Load(ready, waitedMillis), TimeUnit.MILLISECONDS.toNanos(millis));
    }

    /** Many looks, two seconds long: whatever is smoothed has come to rest. */
    private int settle(int ready, int waitedMillis) {
        int width = 0;
        for (int i = 0; i < 100; i++) {
            millis += 20;
            width = look(ready, waitedMillis).width();
        }
        return width;
    }

    private void deliver(double share) {
        for (int i = 0; i < 20; i++) {
            course.filled(share);
        }
    }

    @Test
    void theFirstLookSharesWhatIsReadyAmongThePopsThatAreThere() {
        for (int pop = 0; pop < 4; pop++) {
            course.enter();
        }
        course.leave();
        assertEquals(7, look(20, PROMPT).width());
    }

    @Test
    @Contract("pop-auto-2")
    void isOneLaneAtLeastAndSixtyFourAtMost() {
        assertEquals(1, look(0, 0).width());
        assertEquals(64, settle(10_000, LATE));
    }

    @Test
    @Contract("pop-auto-2")
    void widensToWhatIsReadyOnceAWidthHasStayedItsTime() {
        look(1, PROMPT);
        for (int i = 0; i < 15; i++) {
            millis += 100;
            assertEquals(1, look(10, PROMPT).width(), "16 looks have not passed");
        }
        assertEquals(10, look(10, PROMPT).width());
    }

    @Test
    @Contract("pop-auto-2")
    void manyLooksInAMomentAreNoReasonToWiden() {
        look(1, PROMPT);
        for (int i = 0; i < 1_000; i++) {
            assertEquals(1, look(10, PROMPT).width());
        }
        millis += 500;
        assertEquals(10, look(10, PROMPT).width());
    }

    @Test
    @Contract("pop-auto-2")
    void widensAtOnceWhereLanesWaitTooLong() {
        look(1, LATE);
        assertEquals(4, look(10, LATE).width(), "a quarter of the way to 10, as it is smoothed");
    }

    @Test
    @Contract("pop-auto-2")
    void narrowsByHalvesWhereFewLanesAreReadyNoneWaitsAndPopsComeBackHalfEmpty() {
        assertEquals(64, look(64, PROMPT).width());
        deliver(0.1);
        millis += 10_000;
        int before = 64;
        for (int i = 0; i < 400 && before > 3; i++) {
            millis += 100;
            int width = look(3, PROMPT).width();
            assertTrue(width == before || width >= before / 2, before + " to " + width);
            before = width;
        }
        assertEquals(4, settle(3, PROMPT), "up to twice what is ready is not too wide");
    }

    @Test
    void aGroupWhosePopsAreWellFilledStaysWide() {
        look(64, PROMPT);
        deliver(0.6);
        assertEquals(64, settle(1, PROMPT));
    }

    @Test
    void lanesThatHaveWaitedAreNoReasonToNarrow() {
        look(64, PROMPT);
        deliver(0.1);
        assertEquals(64, settle(1, 7));
        settle(1, 6);
        assertEquals(2, settle(1, 6));
    }

    @Test
    void whoHasDeliveredNothingYetIsNotNarrowed() {
        look(64, PROMPT);
        assertEquals(64, settle(0, 0));
    }

    @Test
    void aBurstIsTakenWithoutAChangeOfCourse() {
        Course bursting =
                new Course(
                        new AutopilotConfig(AutopilotConfig.Mode.ON, 100, 25, 500, 16, 12, 50_000));
        bursting.choose(new Load(1, 0), 0);
        assertEquals(12, bursting.choose(new Load(40, 0), 0).width());
        assertEquals(5, bursting.choose(new Load(5, 0), 0).width());
        assertEquals(1, bursting.choose(new Load(0, 0), 0).width());
    }

    @Test
    @Contract("pop-auto-2")
    void theAdvisedPauseIsShorterTheLongerWorkHasWaited() {
        assertEquals(100, look(0, 0).pauseMillis());
        settle(3, 10);
        assertEquals(70, look(3, 10).pauseMillis());
        settle(3, 25);
        assertEquals(25, look(3, 25).pauseMillis());
        settle(3, 10_000);
        assertEquals(25, look(3, 10_000).pauseMillis());
    }
}
