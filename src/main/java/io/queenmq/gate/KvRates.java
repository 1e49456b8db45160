package io.queenmq.gate;

/**
 * How many calls on keys and timers a tenant may make; a rate of 0 is no bound.
 *
 * @param reads calls a second that only read
 * @param readBurst as many at once after a pause
 * @param writes calls a second that write or schedule
 * @param writeBurst as many at once after a pause
 * @param cell calls a second of all tenants together
 * @param tenantsMax tenants that are told apart; further ones are refused
 */
public record KvRates(
        long reads, long readBurst, long writes, long writeBurst, long cell, int tenantsMax) {
    public static final KvRates NONE = new KvRates(0, 0, 0, 0, 0, 10_000);
}
