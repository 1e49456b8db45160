package io.queenmq.config;

import java.util.List;

/** The environment variables of autopilot. */
public final class AutopilotVariables {
    public static final Variable<String> MODE =
            Variable.choice(
                    "QUEEN_POP_AUTOPILOT",
                    "on",
                    List.of("on", "shadow", "off"),
                    "Whether the broker chooses `partitions` and `batch` of pops with"
                            + " `autopilot=true` that do not name them; `shadow` chooses and counts,"
                            + " but serves them as if it did not.");
    public static final Variable<Long> BATCH =
            Variable.number(
                    "QUEEN_POP_AUTOPILOT_BATCH",
                    100,
                    1,
                    10_000,
                    "messages",
                    "The `batch` it chooses. More at once keeps partitions with a consumer that works"
                            + " them off one after the other.");
    public static final Variable<Long> TARGET_AGE_MS =
            Variable.number(
                    "QUEEN_POP_AUTOPILOT_TARGET_AGE_MS",
                    25,
                    1,
                    60_000,
                    "ms",
                    "How long a partition may have had work when a pop comes to it, before more"
                            + " `partitions` per pop are chosen at once.");
    public static final Variable<Long> DWELL_MS =
            Variable.number(
                    "QUEEN_POP_AUTOPILOT_DWELL_MS",
                    500,
                    0,
                    3_600_000,
                    "ms",
                    "For how long a choice of `partitions` stays otherwise.");
    public static final Variable<Long> DWELL_POPS =
            Variable.number(
                    "QUEEN_POP_AUTOPILOT_DWELL_POPS",
                    16,
                    0,
                    1_000_000,
                    "pops",
                    "For how many pops of the group it stays at least.");
    public static final Variable<Long> BURST_CAP =
            Variable.number(
                    "QUEEN_POP_AUTOPILOT_BURST_CAP",
                    0,
                    0,
                    64,
                    "partitions",
                    "A pop that finds more partitions with work than were chosen may take up to so"
                            + " many all the same; 0 = no more than chosen.");
    public static final Variable<Long> MAX_GROUPS =
            Variable.number(
                    "QUEEN_POP_AUTOPILOT_MAX_LANES",
                    50_000,
                    1,
                    10_000_000,
                    "groups",
                    "For how many consumer groups of queues a choice is remembered; of more, for"
                            + " those that popped last.");

    /** All of them, in the order of the manual. */
    static final List<Variable<?>> ALL =
            List.of(MODE, BATCH, TARGET_AGE_MS, DWELL_MS, DWELL_POPS, BURST_CAP, MAX_GROUPS);

    private AutopilotVariables() {}
}
