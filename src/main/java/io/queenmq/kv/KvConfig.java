package io.queenmq.kv;

import io.queenmq.db.DatabaseConfig;
import io.queenmq.gate.KvRates;
import io.queenmq.gate.QuotaConfig;

/**
 * Bounds of key/value.
 *
 * @param valueBytesMax longest value
 * @param keyBytesMax longest key
 * @param opsMax operations of a call
 * @param keysMax keys of a call; a prefix counts with its limit
 * @param readBytesMax once that much is read, what may be left out of an answer is
 * @param prefixLimitMax longest page of a prefix
 * @param inflightMax calls in the database at once: the data plane keeps the other connections
 * @param shedAfter refusals in a row after which writes do not wait any more
 * @param rates how many calls a tenant may make
 * @param quotas how it is seen to that tenants keep no more than they may
 */
public record KvConfig(
        int valueBytesMax,
        int keyBytesMax,
        int opsMax,
        int keysMax,
        int readBytesMax,
        int prefixLimitMax,
        int inflightMax,
        int shedAfter,
        KvRates rates,
        QuotaConfig quotas) {

    /** Every default, beside a pool of that many connections. */
    public static KvConfig of(int poolSize) {
        return new KvConfig(
                65_536,
                512,
                256,
                1_024,
                4 << 20,
                1_000,
                DatabaseConfig.share(poolSize),
                5,
                KvRates.NONE,
                QuotaConfig.DEFAULT);
    }
}
