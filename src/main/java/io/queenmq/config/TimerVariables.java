package io.queenmq.config;

import java.util.List;
import java.util.Optional;

/** The settings of timers. */
public final class TimerVariables {
    public static final Variable<Long> TIMERS_MAX_PAYLOAD_BYTES =
            Variable.number(
                    "QUEEN_TIMERS_MAX_PAYLOAD_BYTES",
                    1L << 20,
                    1,
                    16L << 20,
                    "bytes",
                    "Longest payload of a scheduled message.");
    public static final Variable<Long> TIMERS_MAX_HORIZON_SECONDS =
            Variable.number(
                    "QUEEN_TIMERS_MAX_HORIZON_S",
                    7_776_000,
                    1,
                    3_155_760_000L,
                    "s",
                    "How far ahead a message can be scheduled over HTTP.");
    public static final Variable<Long> TIMERS_MAX_OPS =
            Variable.number(
                    "QUEEN_TIMERS_MAX_OPS_PER_CALL",
                    256,
                    1,
                    10_000,
                    "operations",
                    "Most operations of one request to `/api/v1/timers`.");
    public static final Variable<Boolean> SWEEPER =
            Variable.flag(
                    "QUEEN_SWEEPER",
                    Optional.of(true),
                    "true",
                    "Whether this broker delivers scheduled messages; where no broker does they wait.");
    public static final Variable<Long> SWEEPER_IDLE_MAX_SLEEP_MS =
            Variable.number(
                    "QUEEN_SWEEPER_IDLE_MAX_SLEEP_MS",
                    30_000,
                    10,
                    3_600_000,
                    "ms",
                    "Longest time from one look for due messages to the next: so late may one be that was"
                            + " scheduled in SQL with `queen.notify` off.");
    public static final Variable<Long> SWEEPER_MAX_SLEEP_MS =
            Variable.number(
                    "QUEEN_SWEEPER_MAX_SLEEP_MS",
                    1_000,
                    10,
                    3_600_000,
                    "ms",
                    "The same while the broker cannot hear notifications.");
    public static final Variable<Long> SWEEPER_LEASE_MS =
            Variable.number(
                    "QUEEN_SWEEPER_LEASE_MS",
                    30_000,
                    1_000,
                    600_000,
                    "ms",
                    "How long a broker has for the delivery of what it has claimed; so late may a message"
                            + " be whose broker was killed meanwhile.");
    public static final Variable<Long> SWEEPER_CLAIM_BATCH =
            Variable.number(
                    "QUEEN_SWEEPER_CLAIM_BATCH",
                    200,
                    1,
                    256,
                    "timers",
                    "Most scheduled messages that one commit delivers.");
    public static final Variable<Long> SWEEPER_CYCLE_MAX_ROWS =
            Variable.number(
                    "QUEEN_SWEEPER_CYCLE_MAX_ROWS",
                    5_000,
                    1,
                    1_000_000,
                    "timers",
                    "Most of them from one look at what is due to the next.");
    public static final Variable<Long> SWEEPER_DUE_CAP =
            Variable.number(
                    "QUEEN_SWEEPER_DUE_CAP",
                    2_000,
                    1,
                    1_000_000,
                    "timers",
                    "How far those that are due are counted.");
    public static final Variable<Long> SWEEPER_MAX_FIRE_BYTES =
            Variable.number(
                    "QUEEN_SWEEPER_MAX_FIRE_BYTES",
                    8L << 20,
                    1_024,
                    64L << 20,
                    "bytes",
                    "Most bytes of payload that one commit delivers.");
    public static final Variable<Long> SWEEPER_MAX_ATTEMPTS =
            Variable.number(
                    "QUEEN_SWEEPER_MAX_ATTEMPTS",
                    5,
                    1,
                    1_000,
                    "",
                    "How often a delivery may fail for a reason that lies in the message, until it becomes"
                            + " a dead letter of group `__timer__`.");
    public static final Variable<Long> SWEEPER_PARALLELISM =
            Variable.number(
                    "QUEEN_SWEEPER_PARALLELISM",
                    1,
                    1,
                    16,
                    "commits",
                    "Commits of scheduled messages that this broker has under way at once.");
    public static final Variable<Boolean> SWEEPER_ISOLATE_ON_PERMANENT =
            Variable.flag(
                    "QUEEN_SWEEPER_ISOLATE_ON_PERMANENT",
                    Optional.of(true),
                    "true",
                    "Whether messages are tried one by one where one of a commit cannot be stored; else all"
                            + " of them count as failed once.");
    public static final Variable<Long> SWEEPER_FIRE_RATE_PER_TENANT =
            KvVariables.tenantsBound(
                    Variable.number(
                            "QUEEN_SWEEPER_FIRE_RATE_PER_TENANT",
                            0,
                            1_000_000,
                            "messages/s",
                            "Scheduled messages of a tenant that this broker delivers, and as many"
                                    + " at once after a pause; 0 = as many as are due, which is what"
                                    + " one alone gets. Other versions of Queen bound it as well."),
                    50);
    public static final Variable<Long> SWEEPER_BACKOFF_MIN_MS =
            Variable.number(
                    "QUEEN_SWEEPER_BACKOFF_MIN_MS",
                    1_000,
                    1,
                    3_600_000,
                    "ms",
                    "Pause after the first such failure; doubles with each.");
    public static final Variable<Long> SWEEPER_BACKOFF_MAX_MS =
            Variable.number(
                    "QUEEN_SWEEPER_BACKOFF_MAX_MS",
                    60_000,
                    1,
                    86_400_000,
                    "ms",
                    "Longest such pause.");

    /** All of them, in the order of the manual. */
    static final List<Variable<?>> ALL =
            List.of(
                    TIMERS_MAX_PAYLOAD_BYTES,
                    TIMERS_MAX_HORIZON_SECONDS,
                    TIMERS_MAX_OPS,
                    SWEEPER,
                    SWEEPER_IDLE_MAX_SLEEP_MS,
                    SWEEPER_MAX_SLEEP_MS,
                    SWEEPER_LEASE_MS,
                    SWEEPER_CLAIM_BATCH,
                    SWEEPER_CYCLE_MAX_ROWS,
                    SWEEPER_DUE_CAP,
                    SWEEPER_MAX_FIRE_BYTES,
                    SWEEPER_MAX_ATTEMPTS,
                    SWEEPER_PARALLELISM,
                    SWEEPER_ISOLATE_ON_PERMANENT,
                    SWEEPER_FIRE_RATE_PER_TENANT,
                    SWEEPER_BACKOFF_MIN_MS,
                    SWEEPER_BACKOFF_MAX_MS);

    private TimerVariables() {}
}
