package io.queenmq.gate;

import java.time.Duration;

/**
 * How quotas are enforced.
 *
 * @param requireGrant whether a tenant without a quota is refused
 * @param refresh from one reading of quotas and measurements to the next
 * @param releasePercent a tenant that had used a quota up is refused until it has less than that
 * @param hotPercent a tenant that may have used so much of one is measured at every reading
 */
public record QuotaConfig(
        boolean requireGrant, Duration refresh, int releasePercent, int hotPercent) {
    public static final QuotaConfig DEFAULT =
            new QuotaConfig(false, Duration.ofSeconds(30), 90, 80);
}
