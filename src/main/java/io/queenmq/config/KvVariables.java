package io.queenmq.config;

import io.queenmq.db.DatabaseConfig;
import java.util.List;
import java.util.Optional;

/** The environment variables of key/value. */
public final class KvVariables {
    public static final Variable<Long> KV_MAX_VALUE_BYTES =
            Variable.number(
                    "QUEEN_KV_MAX_VALUE_BYTES",
                    65_536,
                    1,
                    1_048_576,
                    "bytes",
                    "Longest value of a key.");
    public static final Variable<Long> KV_MAX_KEY_BYTES =
            Variable.number("QUEEN_KV_MAX_KEY_BYTES", 512, 1, 512, "bytes", "Longest key.");
    public static final Variable<Long> KV_MAX_OPS =
            Variable.number(
                    "QUEEN_KV_MAX_OPS_PER_CALL",
                    256,
                    1,
                    4_096,
                    "operations",
                    "Operations of one call; of a transaction at most 64.");
    public static final Variable<Long> KV_MAX_KEYS =
            Variable.number(
                    "QUEEN_KV_MAX_KEYS_PER_CALL",
                    1_024,
                    1,
                    4_096,
                    "keys",
                    "Keys of one call, of a transaction at most 256; `getPrefix` counts with its"
                            + " `limit`.");
    public static final Variable<Long> KV_MAX_READ_BYTES =
            Variable.number(
                    "QUEEN_KV_MAX_READ_BYTES",
                    4_194_304,
                    1_024,
                    67_108_864,
                    "bytes",
                    "Once a call has read that much, `getMany` and `getPrefix` leave out the rest.");
    public static final Variable<Long> KV_PREFIX_LIMIT =
            Variable.number(
                    "QUEEN_KV_PREFIX_LIMIT",
                    1_000,
                    1,
                    1_000,
                    "keys",
                    "Longest page of `getPrefix`.");
    public static final Variable<Long> KV_POOL_SIZE =
            Variable.number(
                            "QUEEN_KV_POOL_SIZE",
                            1,
                            1_000,
                            "connections",
                            "How many of the connections calls on keys may have at once.")
                    .computed(
                            "a tenth of `DB_POOL_SIZE`, 4 to 32",
                            settings ->
                                    Optional.of((long) DatabaseConfig.share(poolSize(settings))),
                            settings -> "computed from DB_POOL_SIZE " + poolSize(settings));
    public static final Variable<Long> KV_SHED_AFTER =
            Variable.number(
                    "QUEEN_KV_STANDALONE_SHED_AFTER",
                    5,
                    1,
                    1_000_000,
                    "refusals",
                    "After that many calls in a row that found no connection writes of keys do not"
                            + " wait for one any more; reads and transactions do.");
    public static final Variable<Long> KV_READ_RATE =
            tenantsBound(
                    Variable.number(
                            "QUEEN_KV_READ_RATE",
                            0,
                            1_000_000_000,
                            "calls/s",
                            "Calls that only read keys, per tenant and broker; 0 = as many as it"
                                    + " likes, which is what one alone may. Other versions of Queen"
                                    + " bound it as well."),
                    200);
    public static final Variable<Long> KV_READ_BURST =
            burst(
                    Variable.number(
                            "QUEEN_KV_READ_BURST",
                            1,
                            1_000_000_000,
                            "calls",
                            "How many of them may come at once after a pause."),
                    KV_READ_RATE);
    public static final Variable<Long> KV_WRITE_RATE =
            tenantsBound(
                    Variable.number(
                            "QUEEN_KV_WRITE_RATE",
                            0,
                            1_000_000_000,
                            "calls/s",
                            "The same for calls that write or schedule."),
                    100);
    public static final Variable<Long> KV_WRITE_BURST =
            burst(
                    Variable.number(
                            "QUEEN_KV_WRITE_BURST",
                            1,
                            1_000_000_000,
                            "calls",
                            "How many of them may come at once after a pause."),
                    KV_WRITE_RATE);
    public static final Variable<Long> KV_CELL_RATE =
            tenantsBound(
                    Variable.number(
                            "QUEEN_KV_CELL_RATE",
                            0,
                            1_000_000_000,
                            "calls/s",
                            "Calls on keys of all tenants together; 0 = no bound."),
                    2_000);
    public static final Variable<Long> KV_MAX_TENANTS =
            Variable.number(
                    "QUEEN_KV_MAX_TENANTS",
                    10_000,
                    1,
                    1_000_000,
                    "tenants",
                    "How many tenants are told apart there; further ones are refused.");

    public static final Variable<Boolean> KV_REQUIRE_GRANT =
            Variable.flag(
                            "QUEEN_KV_REQUIRE_GRANT",
                            "Whether keys and timers are refused to tenants without a quota.")
                    .computed(
                            "as `QUEEN_TENANCY_HEADER`",
                            settings -> Optional.of(settings.get(Variables.TENANCY_HEADER)),
                            KvVariables::ofTenancy);
    public static final Variable<Long> KV_USAGE_EVERY_MS =
            Variable.number(
                    "QUEEN_KV_USAGE_EVERY_MS",
                    300_000,
                    100,
                    86_400_000,
                    "ms",
                    "From one measurement of what tenants have of keys and timers to the next, if"
                            + " anything has changed; longer where there is much to measure.");
    public static final Variable<Long> KV_QUOTA_REFRESH_MS =
            Variable.number(
                    "QUEEN_KV_QUOTA_REFRESH_MS",
                    30_000,
                    100,
                    3_600_000,
                    "ms",
                    "How late a broker may learn of quotas that were set at another one.");
    public static final Variable<Long> KV_QUOTA_RELEASE_PERCENT =
            Variable.number(
                    "QUEEN_KV_QUOTA_RELEASE_PERCENT",
                    90,
                    1,
                    100,
                    "%",
                    "A tenant that had used a quota up may write again once it has so much of it or"
                            + " less.");
    public static final Variable<Long> KV_QUOTA_HOT_PERCENT =
            Variable.number(
                    "QUEEN_KV_QUOTA_HOT_PERCENT",
                    80,
                    1,
                    100,
                    "%",
                    "A tenant that may have used so much of a quota is measured every"
                            + " `QUEEN_KV_QUOTA_REFRESH_MS`.");

    /** All of them, in the order of the manual. */
    static final List<Variable<?>> ALL =
            List.of(
                    KV_MAX_VALUE_BYTES,
                    KV_MAX_KEY_BYTES,
                    KV_MAX_OPS,
                    KV_MAX_KEYS,
                    KV_MAX_READ_BYTES,
                    KV_PREFIX_LIMIT,
                    KV_POOL_SIZE,
                    KV_SHED_AFTER,
                    KV_READ_RATE,
                    KV_READ_BURST,
                    KV_WRITE_RATE,
                    KV_WRITE_BURST,
                    KV_CELL_RATE,
                    KV_MAX_TENANTS,
                    KV_REQUIRE_GRANT,
                    KV_USAGE_EVERY_MS,
                    KV_QUOTA_REFRESH_MS,
                    KV_QUOTA_RELEASE_PERCENT,
                    KV_QUOTA_HOT_PERCENT);

    private KvVariables() {}

    private static int poolSize(Settings settings) {
        return Math.toIntExact(settings.get(Variables.POOL_SIZE));
    }

    /** The same, without a bound where there is one tenant alone, who has nobody to crowd out. */
    static Variable<Long> tenantsBound(Variable<Long> variable, long withTenants) {
        return variable.computed(
                withTenants + " with `QUEEN_TENANCY_HEADER`, else 0",
                settings -> Optional.of(settings.get(Variables.TENANCY_HEADER) ? withTenants : 0L),
                KvVariables::ofTenancy);
    }

    private static String ofTenancy(Settings settings) {
        return "as QUEEN_TENANCY_HEADER is " + settings.get(Variables.TENANCY_HEADER);
    }

    private static Variable<Long> burst(Variable<Long> variable, Variable<Long> rate) {
        return variable.computed(
                "twice the rate",
                settings -> Optional.of(2 * settings.get(rate)).filter(calls -> calls > 0),
                settings -> "as " + rate.name() + " is " + settings.get(rate));
    }
}
