package io.queenmq.hint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class HintTest {
    private final HintOutbox outbox = new HintOutbox();

    @Test
    void everythingSaidIsHeardOnce() throws Exception {
        outbox.laneWritten(1, 42);
        outbox.laneWritten(1, 42);
        outbox.laneFreed(1, 43);
        outbox.queueChanged(7);
        assertEquals("c:7;p:42;f:43", outbox.take(Duration.ZERO));
        assertEquals(List.of("changed 7", "written [42]", "freed [43]"), heard("c:7;p:42;f:43"));
    }

    @Test
    void noTextIsLongerThanANotificationHolds() throws Exception {
        for (long lane = 1; lane <= 3_000; lane++) {
            outbox.laneWritten(1, (1L << 35) + lane);
        }
        List<String> heard = new ArrayList<>();
        int lanes = 0;
        while (lanes < 3_000) {
            String text = outbox.take(Duration.ZERO);
            assertTrue(text.length() <= HintOutbox.TEXT_BYTES_MAX);
            lanes += text.split(",").length;
            heard.add(text);
        }
        assertEquals(3_000, lanes);
        assertTrue(heard.size() > 1);
    }

    @Test
    void whatIsTooMuchIsToldOfTheQueueThenOfEverything() throws Exception {
        for (long lane = 1; lane <= 10_000; lane++) {
            outbox.laneWritten(5, lane);
        }
        assertEquals("q:5", outbox.take(Duration.ZERO));
        for (int queue = 1; queue <= 2_000; queue++) {
            outbox.queueChanged(queue);
        }
        String last = outbox.take(Duration.ZERO);
        assertTrue(last.equals("r") || last.startsWith("c:"), last);
        outbox.everythingChanged();
        assertEquals("r", outbox.take(Duration.ZERO));
    }

    @Test
    void theLastWordsAreOneNotification() {
        assertEquals("", outbox.takeAll());
        outbox.laneWritten(1, 42);
        assertEquals("p:42", outbox.takeAll());
        for (long lane = 1; lane <= 3_000; lane++) {
            outbox.laneWritten(1, (1L << 35) + lane);
        }
        assertEquals("r", outbox.takeAll());
        assertEquals("", outbox.takeAll());
    }

    @Test
    void whatANewerBrokerSaysMoreIsSkipped() {
        assertEquals(List.of("written [1, 2]", "everything"), heard("p:1,2;z:9;r;;t:x"));
    }

    @Test
    void ofSeveralTimersTheEarliestIsTold() {
        HintOutbox outbox = new HintOutbox();
        outbox.timerDue(1_800_000_000_001L);
        outbox.timerDue(1_800_000_000_000L);
        outbox.laneWritten(1, 7);
        assertEquals(2, outbox.unsent());
        assertEquals(List.of("timer 1800000000000", "written [7]"), heard("t:1800000000000;p:7"));
        assertEquals("t:1800000000000;p:7", outbox.takeAll());
        assertEquals("", outbox.takeAll());
    }

    private static List<String> heard(String text) {
        List<String> heard = new ArrayList<>();
        HintText.read(
                text,
                new HintSink() {
                    @Override
                    public void lanesWritten(List<Long> numbers) {
                        heard.add("written " + numbers);
                    }

                    @Override
                    public void lanesFreed(List<Long> numbers) {
                        heard.add("freed " + numbers);
                    }

                    @Override
                    public void queueWritten(int queueId) {
                        heard.add("queue " + queueId);
                    }

                    @Override
                    public void queueChanged(int queueId) {
                        heard.add("changed " + queueId);
                    }

                    @Override
                    public void timerDue(long atMs) {
                        heard.add("timer " + atMs);
                    }

                    @Override
                    public void everythingChanged() {
                        heard.add("everything");
                    }
                });
        return heard;
    }
}
