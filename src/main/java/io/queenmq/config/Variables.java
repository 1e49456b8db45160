package io.queenmq.config;

import io.queenmq.db.DatabaseConfig;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.stream.Stream;

/** Every setting of the broker. */
public final class Variables {
    private static final long HEAP_MB = Runtime.getRuntime().maxMemory() >> 20;
    private static final int PROCESSORS = Runtime.getRuntime().availableProcessors();

    public static final Variable<Long> PORT =
            Variable.number(
                    "PORT", 6632, 0, 65_535, "", "TCP port of the HTTP API; 0 = any free one.");
    public static final Variable<String> HOST =
            Variable.text(
                            "QUEEN_BIND_ADDR",
                            Optional.of("0.0.0.0"),
                            "0.0.0.0",
                            "Address the HTTP API listens on; 127.0.0.1 = this machine only.")
                    .also("HOST");
    public static final Variable<Long> MAX_BODY_BYTES =
            Variable.number(
                    "QUEEN_MAX_BODY_BYTES",
                    64L << 20,
                    1_024,
                    1L << 30,
                    "bytes",
                    "Longest request body; a longer one is answered with 413.");
    public static final Variable<Long> KEEP_ALIVE_SECONDS =
            Variable.number(
                    "QUEEN_KEEP_ALIVE_SECONDS",
                    300,
                    5,
                    86_400,
                    "s",
                    "How long an idle connection stays open: longer than that of a balancer in front,"
                            + " or it reuses one that is just being closed.");
    public static final Variable<String> SERVER_ID =
            Variable.text(
                            "QUEEN_SERVER_ID",
                            Optional.empty(),
                            "none",
                            "Under which name this broker reports what it does.")
                    .computed(
                            "`HOSTNAME`",
                            settings -> settings.find(Variables.HOSTNAME),
                            settings ->
                                    settings.find(Variables.HOSTNAME).isPresent()
                                            ? "from HOSTNAME"
                                            : "queen- and eight digits, others at each start");
    public static final Variable<String> HOSTNAME =
            Variable.text(
                    "HOSTNAME",
                    Optional.empty(),
                    "none",
                    "Name of the machine; containers have it in their environment.");
    public static final Variable<String> CONFIG =
            Variable.text(
                    "QUEEN_CONFIG",
                    Optional.empty(),
                    "none",
                    "A YAML file with settings; the option `--config` of every command names another"
                            + " one.");
    public static final Variable<Boolean> TENANCY_HEADER =
            Variable.flag(
                    "QUEEN_TENANCY_HEADER",
                    Optional.of(false),
                    "false",
                    "Whether the header `x-queen-tenant` names the tenant of a request. Only behind a"
                            + " proxy that sets it.");
    public static final Variable<Boolean> TRUSTED_PROXY =
            Variable.flag(
                    "QUEEN_KV_TRUSTED_PROXY",
                    Optional.of(false),
                    "false",
                    "Says that whatever reaches this broker has passed a proxy which sets"
                            + " `x-queen-tenant` and drops what clients say. `QUEEN_TENANCY_HEADER`"
                            + " needs it.");
    public static final Variable<Long> POP_TIMEOUT_MS =
            Variable.number(
                            "DEFAULT_TIMEOUT",
                            30_000,
                            1,
                            600_000,
                            "ms",
                            "How long a pop with `wait=true` waits where it names no `timeout`.")
                    .also("POP_DEFAULT_TIMEOUT_MS");
    public static final Variable<String> SUBSCRIPTION_MODE =
            Variable.choice(
                    "DEFAULT_SUBSCRIPTION_MODE",
                    "new",
                    List.of("new", "all", "new-only", "new_only", "newonly"),
                    "Where a consumer group begins whose first pop names no `subscriptionMode`;"
                            + " the last three are older names of `new`.");
    public static final Variable<String> CONFIGURE_MODE =
            Variable.choice(
                    "QUEEN_CONFIGURE_MODE",
                    "replace",
                    List.of("replace", "merge"),
                    "What becomes of options that a `/configure` without `mode` leaves out: back to"
                            + " their defaults, or kept.");
    public static final Variable<Long> CACHE_REFRESH_MS =
            Variable.number(
                    "QUEEN_CACHE_REFRESH_INTERVAL_MS",
                    60_000,
                    1_000,
                    3_600_000,
                    "ms",
                    "After that long the options of a queue are read again, in case nobody told of"
                            + " their change.");
    public static final Variable<Long> DEDUP_CACHE_MB =
            Variable.number(
                            "QUEEN_DEDUP_CACHE_MB",
                            0,
                            65_536,
                            "MiB",
                            "Memory for recently pushed transactionIds; a push that finds its lane"
                                    + " there asks the database for no duplicates.")
                    .computed(
                            "512, at most a quarter of the heap",
                            _ -> Optional.of(Math.min(512, HEAP_MB / 4)),
                            _ -> "computed from a heap of " + HEAP_MB + " MiB");
    public static final Variable<String> ENCRYPTION_KEY =
            Variable.key(
                    "QUEEN_ENCRYPTION_KEY",
                    32,
                    "Key of AES-256-GCM for queues with `encryptionEnabled`, the same on every broker."
                            + " Without it such queues are refused. Lost key, lost payloads.");
    public static final Variable<List<String>> ENCRYPTION_OLD_KEYS =
            Variable.keys(
                    "QUEEN_ENCRYPTION_OLD_KEYS",
                    32,
                    "Keys that only decrypt, separated by commas: those of before, while there are"
                            + " payloads of theirs.");
    public static final Variable<Boolean> EMBEDDED =
            Variable.flag(
                            "QUEEN_EMBEDDED",
                            "Whether the broker runs a PostgreSQL of its own in `QUEEN_DATA_DIR`.")
                    .computed(
                            "true unless PG_HOST or PG_DATABASE is set",
                            settings -> Optional.of(namesServer(settings).isEmpty()),
                            settings ->
                                    namesServer(settings)
                                            .map(variable -> variable.name() + " is set")
                                            .orElse("neither PG_HOST nor PG_DATABASE is set"));
    public static final Variable<String> DATA_DIR =
            Variable.text(
                    "QUEEN_DATA_DIR",
                    Optional.of("data"),
                    "data",
                    "Folder of the embedded PostgreSQL: everything that is stored.");
    public static final Variable<String> PG_HOST =
            Variable.hosts(
                    "PG_HOST",
                    "localhost",
                    "Server, PostgreSQL 15 to 18; of several, separated by commas, the one that takes"
                            + " writes is used.");
    public static final Variable<Long> PG_PORT =
            Variable.number("PG_PORT", 5_432, 1, 65_535, "", "Its port.");
    public static final Variable<String> PG_DATABASE =
            Variable.text(
                            "PG_DATABASE",
                            Optional.of("postgres"),
                            "postgres",
                            "Database; its encoding must be UTF8 and the user must be allowed to"
                                    + " create schemas in it.")
                    .also("PG_DB");
    public static final Variable<String> PG_USER =
            Variable.text("PG_USER", Optional.of("postgres"), "postgres", "User.");
    public static final Variable<String> PG_PASSWORD =
            Variable.text("PG_PASSWORD", Optional.of(""), "none", "Password of the user.").masked();
    public static final Variable<Boolean> APPLY_SCHEMA =
            Variable.flag(
                    "QUEEN_APPLY_SCHEMA",
                    Optional.of(true),
                    "true",
                    "Whether a start brings the database to the schema of this broker; if not, a"
                            + " database that is behind is refused.");
    public static final Variable<Long> POOL_SIZE =
            Variable.number(
                            "DB_POOL_SIZE",
                            4,
                            1_000,
                            "connections",
                            "Connections of the data plane; a broker has 7 more, for hints, health"
                                    + " and what administrators ask.")
                    .computed(
                            "4 × processors + 8, at most 48",
                            _ -> Optional.of((long) DatabaseConfig.defaultPoolSize(PROCESSORS)),
                            _ ->
                                    "computed from "
                                            + PROCESSORS
                                            + (PROCESSORS == 1 ? " processor" : " processors"));
    public static final Variable<Long> STATEMENT_TIMEOUT_MS =
            Variable.number(
                    "QUEEN_STMT_TIMEOUT_MS",
                    30_000,
                    1_000,
                    600_000,
                    "ms",
                    "After that long the server cancels a statement.");

    public static final Variable<Long> RETENTION_INTERVAL_MS =
            Variable.number(
                    "RETENTION_INTERVAL",
                    5_000,
                    100,
                    3_600_000,
                    "ms",
                    "From one look for messages whose time is over to the next.");
    public static final Variable<Long> RETENTION_BATCH_SIZE =
            Variable.number(
                    "RETENTION_BATCH_SIZE",
                    200,
                    1,
                    10_000,
                    "partitions",
                    "How many partitions one step locks, for some milliseconds, while messages"
                            + " leave them. Other versions of Queen mean segments by it, 1000"
                            + " where it is not set.");
    public static final Variable<Long> STATS_INTERVAL_MS =
            Variable.number(
                    "STATS_INTERVAL_MS",
                    10_000,
                    1_000,
                    3_600_000,
                    "ms",
                    "How often a broker tells the database what it has counted, and how often that"
                            + " is added up. The same on every broker.");
    public static final Variable<Long> RECOUNT_INTERVAL_MS =
            Variable.number(
                    "RETAINED_BYTES_INTERVAL_MS",
                    600_000,
                    1_000,
                    86_400_000,
                    "ms",
                    "From one walk over all partitions to the next; it proves what was counted,"
                            + " and corrects what is off.");
    public static final Variable<Long> METRICS_FLUSH_MS =
            Variable.number(
                    "METRICS_FLUSH_MS",
                    60_000,
                    1_000,
                    3_600_000,
                    "ms",
                    "How often a broker reports how it fares and what its clients did: a row, and"
                            + " one per queue that had traffic.");
    public static final Variable<Boolean> PARTITION_CLEANUP_ENABLED =
            Variable.flag(
                    "QUEEN_PARTITION_CLEANUP_ENABLED",
                    Optional.of(true),
                    "true",
                    "Whether partitions that are empty and unused are removed.");
    public static final Variable<Long> PARTITION_CLEANUP_INTERVAL_MS =
            Variable.number(
                    "PARTITION_CLEANUP_INTERVAL",
                    3_600_000,
                    1_000,
                    86_400_000,
                    "ms",
                    "From one look for such partitions to the next.");
    public static final Variable<Long> PARTITION_CLEANUP_DAYS =
            Variable.number(
                    "PARTITION_CLEANUP_DAYS",
                    30,
                    1,
                    36_500,
                    "days",
                    "How long an empty partition has not been written when it is removed.");
    public static final Variable<Long> METRICS_RETENTION_DAYS =
            Variable.number(
                    "METRICS_RETENTION_DAYS",
                    90,
                    1,
                    36_500,
                    "days",
                    "How long is remembered what went on: what brokers reported, and what was"
                            + " removed when.");
    public static final Variable<Long> TRACE_RETENTION_DAYS =
            Variable.number(
                    "QUEEN_TRACE_RETENTION_DAYS",
                    0,
                    0,
                    36_500,
                    "days",
                    "How long traces are kept; 0 = for ever.");
    public static final Variable<Long> EPOCH_ROWS =
            Variable.number(
                    "QUEEN_EPOCH_ROWS",
                    5_000_000,
                    10_000,
                    1_000_000_000,
                    "segments",
                    "Size at which the log goes on in another table. Smaller ones take appends faster"
                            + " and come free sooner, but there are at most 16.");
    public static final Variable<Long> EPOCH_MB =
            Variable.number(
                    "QUEEN_EPOCH_MB",
                    32_768,
                    64,
                    16_777_216,
                    "MiB",
                    "The same in bytes; counts while at most 8 tables are in use.");
    public static final Variable<Long> EPOCH_HOURS =
            Variable.number(
                    "QUEEN_EPOCH_HOURS",
                    24,
                    1,
                    8_760,
                    "h",
                    "Age of a table at which the log goes on in another one; counts likewise.");

    private static final SequencedMap<String, List<Variable<?>>> SECTIONS = sections();

    private static final List<Variable<?>> ALL =
            SECTIONS.values().stream().<Variable<?>>flatMap(List::stream).toList();

    private Variables() {}

    /** By which of them a server is named that is not the broker's own. */
    private static Optional<Variable<String>> namesServer(Settings settings) {
        return Stream.of(PG_HOST, PG_DATABASE)
                .filter(variable -> settings.find(variable).isPresent())
                .findFirst();
    }

    /** All of them, under the heading they have in the manual. */
    public static SequencedMap<String, List<Variable<?>>> bySection() {
        return SECTIONS;
    }

    /** All of them, in the same order. */
    static List<Variable<?>> all() {
        return ALL;
    }

    private static SequencedMap<String, List<Variable<?>>> sections() {
        SequencedMap<String, List<Variable<?>>> sections = new LinkedHashMap<>();
        sections.put(
                "HTTP API",
                List.of(
                        PORT,
                        HOST,
                        MAX_BODY_BYTES,
                        KEEP_ALIVE_SECONDS,
                        POP_TIMEOUT_MS,
                        SUBSCRIPTION_MODE,
                        CONFIGURE_MODE,
                        TENANCY_HEADER,
                        TRUSTED_PROXY));
        sections.put("Access", JwtVariables.ALL);
        sections.put(
                "Database",
                List.of(
                        EMBEDDED,
                        DATA_DIR,
                        PG_HOST,
                        PG_PORT,
                        PG_DATABASE,
                        PG_USER,
                        PG_PASSWORD,
                        POOL_SIZE,
                        STATEMENT_TIMEOUT_MS,
                        APPLY_SCHEMA));
        sections.put("Encryption of database connections", TlsVariables.ALL);
        sections.put(
                "Storage",
                List.of(
                        RETENTION_INTERVAL_MS,
                        RETENTION_BATCH_SIZE,
                        PARTITION_CLEANUP_ENABLED,
                        PARTITION_CLEANUP_INTERVAL_MS,
                        PARTITION_CLEANUP_DAYS,
                        METRICS_RETENTION_DAYS,
                        TRACE_RETENTION_DAYS,
                        EPOCH_ROWS,
                        EPOCH_MB,
                        EPOCH_HOURS));
        sections.put("Timers", TimerVariables.ALL);
        sections.put(
                "Statistics", List.of(STATS_INTERVAL_MS, RECOUNT_INTERVAL_MS, METRICS_FLUSH_MS));
        sections.put("Key/value", KvVariables.ALL);
        sections.put("Autopilot of pops", AutopilotVariables.ALL);
        sections.put(
                "Process",
                List.of(
                        DEDUP_CACHE_MB,
                        CACHE_REFRESH_MS,
                        ENCRYPTION_KEY,
                        ENCRYPTION_OLD_KEYS,
                        SERVER_ID,
                        HOSTNAME,
                        CONFIG));
        sections.put("Logs", LogVariables.ALL);
        return Collections.unmodifiableSequencedMap(sections);
    }
}
