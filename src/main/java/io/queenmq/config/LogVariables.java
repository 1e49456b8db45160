package io.queenmq.config;

import io.queenmq.runtime.LogLevels;
import java.util.List;
import java.util.Optional;

/** The settings of logs. */
public final class LogVariables {
    private static final String LEVELS =
            "error, warn, info, debug, trace or off, alone or followed by levels of rooms, as in"
                    + " `info,web=debug`";

    public static final Variable<LogLevels> LOG_LEVEL =
            Variable.of(
                    "LOG_LEVEL",
                    Optional.of(LogLevels.INFO),
                    "info",
                    LEVELS,
                    "Least important lines that are logged. A room is what stands before the dot of"
                            + " a line's source; a name with a dot is a logger of a library.",
                    LogLevels::parse);
    public static final Variable<LogLevels> RUST_LOG =
            Variable.of(
                            "RUST_LOG",
                            Optional.<LogLevels>empty(),
                            "none",
                            LEVELS,
                            "The same by another name, for deployments of before; it wins.",
                            LogLevels::parse)
                    .computed(
                            "`LOG_LEVEL`",
                            settings -> Optional.of(settings.get(LOG_LEVEL)),
                            _ -> "from LOG_LEVEL");
    public static final Variable<Boolean> LOG_JSON =
            Variable.flag(
                    "QUEEN_LOG_JSON",
                    Optional.of(false),
                    "false",
                    "Whether each line of the log is a JSON object; its members are `ts`, `level`,"
                            + " `target`, `message`, what the event names, `request_id` and `stack`.");

    public static final Variable<Long> LOG_RATES_MS =
            Variable.number(
                    "QUEEN_LOG_RATES_MS",
                    10_000,
                    1_000,
                    3_600_000,
                    "ms",
                    "From one line `rates` to the next; a broker that does nothing writes none.");

    public static final Variable<Long> LOG_QUEUES =
            Variable.number(
                    "QUEEN_LOG_TOPN_QUEUES",
                    10,
                    0,
                    1_000,
                    "queues",
                    "How many queues have a line of their own beside it: those that moved most"
                            + " messages.");

    /** All of them, in the order of the manual. */
    static final List<Variable<?>> ALL =
            List.of(LOG_LEVEL, RUST_LOG, LOG_JSON, LOG_RATES_MS, LOG_QUEUES);

    private LogVariables() {}
}
