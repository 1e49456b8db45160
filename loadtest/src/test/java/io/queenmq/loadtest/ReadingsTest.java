package io.queenmq.loadtest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

class ReadingsTest {
    private static final Benchmark BENCHMARK =
            new Benchmark("X1", "something", (lab, readings) -> {})
                    .atLeast("share", "–", 0.5, 0.75)
                    .atMost("bytes", "–", 100, 60);

    private static List<Gate.Verdict> verdicts(Readings readings) {
        return readings.lines().stream().map(Readings.Line::verdict).toList();
    }

    @Test
    void eachFigureIsHeldAgainstItsOwnLimits() {
        Readings readings = new Readings(BENCHMARK);
        readings.value("share", 0.6);
        readings.value("bytes", 60);
        assertEquals(List.of(Gate.Verdict.MUST, Gate.Verdict.AIM), verdicts(readings));
    }

    @Test
    void aSingleValueHasToReachTheLimitItself() {
        Readings readings = new Readings(BENCHMARK);
        readings.value("share", 0.499);
        readings.value("bytes", 101);
        assertEquals(List.of(Gate.Verdict.MISSED, Gate.Verdict.MISSED), verdicts(readings));
    }

    @Test
    void aRatioIsJudgedByItsWorseEnd() {
        Readings readings = new Readings(BENCHMARK);
        readings.ratio("share", new Interval(0.9, 0.46, 1.5));
        readings.ratio("bytes", new Interval(50, 20, 101));
        assertEquals(List.of(Gate.Verdict.MUST, Gate.Verdict.MISSED), verdicts(readings));
    }

    @Test
    void whatWasNotReadNeverPasses() {
        Readings readings = new Readings(BENCHMARK);
        readings.value("share", 1);
        readings.notMeasured("no such job");
        assertEquals(List.of(Gate.Verdict.AIM, Gate.Verdict.NOT_MEASURED), verdicts(readings));
        assertTrue(readings.lines().getLast().measured().contains("no such job"));
    }

    @Test
    void aLostMessageFailsEveryFigure() {
        Readings readings = new Readings(BENCHMARK);
        readings.value("share", 1);
        readings.value("bytes", 1);
        readings.verified(new Ledger.Verdict(1, 0, 0, 0, 0));
        assertEquals(List.of(Gate.Verdict.MISSED, Gate.Verdict.MISSED), verdicts(readings));
    }

    @Test
    void aFigureThatTheCatalogueDoesNotKnowIsRefused() {
        Readings readings = new Readings(BENCHMARK);
        assertThrows(IllegalArgumentException.class, () -> readings.value("other", 1));
    }
}
