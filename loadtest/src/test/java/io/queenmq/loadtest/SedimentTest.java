package io.queenmq.loadtest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

class SedimentTest {
    private static long messages(List<Sediment.Call> calls) {
        return calls.stream().mapToLong(c -> (long) c.segments() * c.messagesEach()).sum();
    }

    @Test
    void fiftyMillionMessagesAreHalfAMillionSegmentsOfAHundred() {
        List<Sediment.Call> calls = Sediment.calls(50_000_000, 0, 0);
        assertEquals(50_000_000, messages(calls));
        assertEquals(500_000, calls.stream().mapToLong(Sediment.Call::segments).sum());
        assertTrue(calls.stream().allMatch(c -> c.messagesEach() == 100));
    }

    @Test
    void storesExactlyWhatWasAskedForWhateverTheShareOfOnes() {
        for (double share : new double[] {0, 0.02, 0.5, 1}) {
            for (long asked : new long[] {1, 99, 100, 20_000, 123_456}) {
                List<Sediment.Call> calls = Sediment.calls(asked, share, 7);
                assertEquals(asked, messages(calls), asked + " × " + share);
                long segment = 7;
                long message = 0;
                for (Sediment.Call call : calls) {
                    assertEquals(segment, call.firstSegment());
                    assertEquals(message, call.firstMessage());
                    assertTrue(call.segments() >= 1 && call.segments() <= 64);
                    segment += call.segments();
                    message += (long) call.segments() * call.messagesEach();
                }
            }
        }
    }

    @Test
    void onesAreSpreadAmongTheOthers() {
        List<Sediment.Call> calls = Sediment.calls(1_000_000, 0.01, 0);
        long alone = calls.stream().filter(c -> c.messagesEach() == 1).count();
        long inFirstHalf =
                calls.subList(0, calls.size() / 2).stream()
                        .filter(c -> c.messagesEach() == 1)
                        .count();
        assertTrue(Math.abs(alone - 2 * inFirstHalf) <= 1, inFirstHalf + " of " + alone);
    }

    @Test
    void messagesBecomeOldAtTheRateOfTheFirstLoadAndThenOfTheSecond() {
        Ageing ageing = new Ageing(30_000, 100, 2_000);
        assertEquals(0, ageing.secondsTo(0));
        assertEquals(50, ageing.secondsTo(1_500_000), 1e-9);
        assertEquals(100, ageing.secondsTo(3_000_000), 1e-9);
        assertEquals(101, ageing.secondsTo(3_002_000), 1e-9);
    }
}
