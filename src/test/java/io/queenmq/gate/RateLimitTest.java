package io.queenmq.gate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class RateLimitTest {
    private static final Quota NONE = new Quota(true, null, null, null, null, null, null);

    private long nanos;

    private final Clock clock =
            new Clock() {
                @Override
                public Instant now() {
                    return Instant.EPOCH.plusNanos(nanos);
                }

                @Override
                public long nanos() {
                    return nanos;
                }
            };

    private RateLimit limit(KvRates rates) {
        return new RateLimit(rates, clock);
    }

    private static UUID tenant(int number) {
        return new UUID(0, number);
    }

    private static int admitted(RateLimit limit, UUID tenant, Quota quota) {
        for (int i = 0; ; i++) {
            try {
                limit.take(tenant, true, quota);
            } catch (QueenException e) {
                return i;
            }
        }
    }

    @Test
    void aBurstIsEarnedAgainAtTheRate() {
        RateLimit limit = limit(new KvRates(0, 0, 2, 5, 0, 10));
        assertEquals(5, admitted(limit, tenant(1), NONE));
        assertEquals(5, admitted(limit, tenant(2), NONE));
        nanos += Duration.ofSeconds(1).toNanos();
        assertEquals(2, admitted(limit, tenant(1), NONE));
        nanos += Duration.ofHours(1).toNanos();
        assertEquals(5, admitted(limit, tenant(1), NONE));
        Quota own = new Quota(true, null, null, null, null, null, 4L);
        assertEquals(8, admitted(limit, tenant(3), own));
    }

    @Test
    void whoIsRefusedForTheSakeOfAllHasLostNothing() {
        RateLimit limit = limit(new KvRates(0, 0, 1, 10, 4, 10));
        assertEquals(4, admitted(limit, tenant(1), NONE));
        QueenException refusal =
                assertThrows(QueenException.class, () -> limit.take(tenant(2), true, NONE));
        assertTrue(refusal.detail().contains("all tenants, up to 4"), refusal.detail());
        for (int i = 0; i < 20; i++) {
            assertThrows(QueenException.class, () -> limit.take(tenant(1), true, NONE));
        }
        nanos += Duration.ofMillis(1_500).toNanos();
        // Six of ten were left to it, and more than that is not there for all.
        assertEquals(4, admitted(limit, tenant(1), NONE));
    }

    @Test
    void newTenantsFindAPlaceOnceOthersHaveEarnedAllBack() {
        RateLimit limit = limit(new KvRates(0, 0, 1, 2, 0, 1));
        for (int i = 0; i < 3; i++) {
            limit.take(tenant(i), true, NONE);
        }
        assertThrows(QueenException.class, () -> limit.take(tenant(3), true, NONE));
        nanos += Duration.ofSeconds(2).toNanos();
        limit.take(tenant(3), true, NONE);
    }
}
