package io.queenmq.loadtest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class GrowthSizesTest {
    private static Plan plan(String options) {
        return Plan.of(Options.of(options));
    }

    @Test
    void growsFromNothingToFiftyMillionUnlessToldOtherwise() {
        GrowthSizes sizes = plan("").growth();
        assertEquals(List.of(0L, 10_000_000L, 50_000_000L), sizes.steps());
        assertEquals(10_000_000, sizes.first());
        assertEquals(50_000_000, sizes.last());
        assertEquals(0, sizes.singles());
        assertEquals(2, sizes.rules().size());
    }

    @Test
    void theFirstSizeIsTheSmallestAboveZero() {
        assertEquals(500, plan("growth=500,700").growth().first());
        assertEquals(700, plan("growth=0,700").growth().first());
    }

    @Test
    void refusesWhatDoesNotGrow() {
        for (String steps : List.of("0", "", "5,5", "7,3", "-1,5", "many")) {
            assertThrows(
                    IllegalArgumentException.class, () -> plan("growth=" + steps), "for " + steps);
        }
        assertThrows(IllegalArgumentException.class, () -> plan("singles=1.1"));
        assertThrows(IllegalArgumentException.class, () -> plan("twin-lanes=199"));
    }

    @Test
    void aRuleIsSomeOfTheSettingsOfEpochs() {
        List<EpochRule> rules = EpochRule.all("rows=50000,mb=256+hours=1");
        assertEquals(
                List.of(
                        new EpochRule("rows=50000", Map.of("QUEEN_EPOCH_ROWS", "50000")),
                        new EpochRule(
                                "mb=256+hours=1",
                                Map.of("QUEEN_EPOCH_MB", "256", "QUEEN_EPOCH_HOURS", "1"))),
                rules);
        assertThrows(IllegalArgumentException.class, () -> EpochRule.all("days=1"));
        assertThrows(IllegalArgumentException.class, () -> EpochRule.all("rows"));
    }

    @Test
    void theDefaultRunFitsIntoHalfAnHourAndSeventyGigabytes() {
        Plan plan = plan("");
        double minutes = GrowthEstimate.seconds(plan, 1, 2) / 60;
        assertTrue(minutes > 15 && minutes < 30, "minutes " + minutes);
        long bytes = GrowthEstimate.bytes(plan, 1, 1, 0, 0);
        assertTrue(bytes > 20e9 && bytes < 70e9, "bytes " + bytes);
    }

    @Test
    void aSmallRunAsksForLittleSpace() {
        long bytes = GrowthEstimate.bytes(plan("quick=1"), 1, 1, 0, 0);
        assertTrue(bytes < 5e9, "bytes " + bytes);
    }
}
