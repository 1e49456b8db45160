package io.queenmq.count;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class RatesTest {
    private static Map<String, Double> totals(double pushes, double pops) {
        return new TreeMap<>(Map.of("push_s", pushes, "pop_s", pops));
    }

    @Test
    void theLineSaysWhatWentOnPerSecond() {
        assertEquals(
                Optional.of("pop_s=0.2 push_s=0.0"), Rates.line(totals(10, 5), totals(10, 7), 10));
        assertEquals(
                Optional.of("pop_s=0.0 push_s=1000.0"),
                Rates.line(totals(0, 0), totals(2_000, 0), 2));
    }

    @Test
    void whoIsSentAwayIsCountedByWhatItWanted() {
        assertEquals(
                Optional.of("polls=3 pushes=10"),
                Rates.refusals(
                        new TreeMap<>(Map.of("polls", 1.0, "pushes", 0.0, "requests", 7.0)),
                        new TreeMap<>(Map.of("polls", 4.0, "pushes", 10.0, "requests", 7.0))));
        assertEquals(Optional.empty(), Rates.refusals(Map.of("polls", 1.0), Map.of("polls", 1.0)));
    }

    @Test
    void whoDoesNothingSaysNothing() {
        assertEquals(Optional.empty(), Rates.line(totals(10, 5), totals(10, 5), 10));
    }

    @Test
    void theBusiestQueuesComeFirstAndNoMoreThanAsked() {
        Activities activities = new Activities();
        for (int queue = 1; queue <= 4; queue++) {
            activities.named(queue, "q" + queue);
            activities.poppedNothing(queue);
        }
        assertEquals(List.of(), QueueRate.busiest(activities.show(), 10));

        activities.stored(2, 10);
        activities.stored(2, 10);
        activities.popped(3);
        activities.poppedNothing(3);
        activities.delivered(3, 30, 0, false);
        activities.acknowledged(4, 1, 0, 0);
        activities.stored(5, 2);
        // What is reported to the database meanwhile is told by the log all the same.
        assertEquals(4, activities.take().size());
        List<QueueRate> busiest = QueueRate.busiest(activities.show(), 3);
        assertEquals(List.of("q3", "q2", "#5"), busiest.stream().map(QueueRate::queue).toList());
        assertEquals(
                "push_s=0.2 pushed_s=2.0 pop_s=0.0 popped_s=0.0 ack_s=0.0 acked_s=0.0",
                busiest.get(1).line(10));
        assertEquals(
                "push_s=0.0 pushed_s=0.0 pop_s=0.1 popped_s=3.0 ack_s=0.0 acked_s=0.0"
                        + " pop_empty_pct=50.0",
                busiest.get(0).line(10),
                "one pop got something, one nothing");
        assertEquals(" pop_empty_pct=50.0", QueueRate.emptyShare(busiest));
        assertEquals(List.of(), QueueRate.busiest(activities.show(), 10));
    }
}
