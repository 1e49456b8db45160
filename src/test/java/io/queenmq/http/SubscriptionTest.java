package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.pop.StartAt;
import io.queenmq.testkit.Contract;
import java.time.Instant;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SubscriptionTest {
    private static final StartAt NOW = new StartAt.Now();
    private static final StartAt OLDEST = new StartAt.Oldest();

    @Test
    @Contract("pop-param-8")
    void withoutAPointTheModeDecidesAndWithoutAModeTheServer() {
        assertEquals(NOW, Subscription.of(null, null, true));
        assertEquals(OLDEST, Subscription.of("", "", false));
        assertEquals(NOW, Subscription.of("new", null, false));
        for (String older : new String[] {"new-only", "new_only", "newonly"}) {
            assertEquals(NOW, Subscription.of(older, null, false), older);
        }
        assertEquals(OLDEST, Subscription.of("all", null, true));
        assertEquals(OLDEST, Subscription.of("anything", null, true));
    }

    @Test
    @Contract("pop-param-9")
    void aPointWinsOverTheMode() {
        assertEquals(NOW, Subscription.of("all", "now", false));
        assertEquals(
                new StartAt.At(Instant.parse("2026-07-30T09:00:00Z")),
                Subscription.of("new", "2026-07-30T09:00:00Z", true));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "2026-07-30T09:00:00Z",
                "2026-07-30T09:00:00.000000Z",
                "2026-07-30T11:00:00+02:00",
                "2026-07-30T11:00:00 02:00",
                "2026-07-30T11:00:00+0200",
                "2026-07-30T09:00:00z",
                "2026-07-30T05:00:00-04:00",
                "2026-07-30T09:00:00",
                "2026-07-30T09:00",
                "2026-07-30 09:00:00"
            })
    @Contract("pop-param-9")
    void isoTimestampsAreReadInUtc(String text) {
        assertEquals(
                new StartAt.At(Instant.parse("2026-07-30T09:00:00Z")),
                Subscription.of("new", text, true));
    }

    @Test
    @Contract("pop-param-9")
    void aDateIsItsMidnight() {
        assertEquals(
                new StartAt.At(Instant.parse("2026-07-30T00:00:00Z")),
                Subscription.of("new", "2026-07-30", true));
    }

    @ParameterizedTest
    @ValueSource(strings = {"yesterday", "2026-13-01", "2026-07-30T25:00:00Z", "1753866000", "x"})
    @Contract("pop-first-5")
    void aPointThatCannotBeReadIsNow(String text) {
        assertEquals(NOW, Subscription.of("all", text, false));
    }
}
