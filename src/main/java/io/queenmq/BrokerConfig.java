package io.queenmq;

import io.queenmq.access.AccessConfig;
import io.queenmq.ack.AckConfig;
import io.queenmq.cipher.CipherConfig;
import io.queenmq.config.AutopilotVariables;
import io.queenmq.config.BadSetting;
import io.queenmq.config.KvVariables;
import io.queenmq.config.LogVariables;
import io.queenmq.config.Settings;
import io.queenmq.config.TimerVariables;
import io.queenmq.config.Variables;
import io.queenmq.count.ReportConfig;
import io.queenmq.db.DatabaseConfig;
import io.queenmq.dedup.DedupConfig;
import io.queenmq.gate.KvRates;
import io.queenmq.gate.QuotaConfig;
import io.queenmq.group.GroupsConfig;
import io.queenmq.http.HttpConfig;
import io.queenmq.kv.KvConfig;
import io.queenmq.maintain.MaintainConfig;
import io.queenmq.maintain.StatisticsConfig;
import io.queenmq.pop.AutopilotConfig;
import io.queenmq.pop.PopConfig;
import io.queenmq.push.PushConfig;
import io.queenmq.queue.QueueConfig;
import io.queenmq.queue.Queues;
import io.queenmq.ready.ReadyConfig;
import io.queenmq.timer.TimersConfig;
import io.queenmq.transact.TransactConfig;
import io.queenmq.web.WebConfig;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;

/**
 * The settings of every room.
 *
 * @param embedded folder of the embedded server; empty = the server that {@code database} names
 * @param access which tokens are taken; empty = none is asked for
 * @param database with an embedded server only its bounds count
 */
public record BrokerConfig(
        Optional<Path> embedded,
        DatabaseConfig database,
        WebConfig web,
        Optional<AccessConfig> access,
        HttpConfig http,
        QueueConfig queue,
        PushConfig push,
        DedupConfig dedup,
        GroupsConfig group,
        ReadyConfig ready,
        PopConfig pop,
        AckConfig ack,
        KvConfig kv,
        TransactConfig transact,
        CipherConfig cipher,
        TimersConfig timers,
        MaintainConfig maintain,
        ReportConfig report) {

    private static final Duration KEEP_ALIVE = Duration.ofMinutes(5);
    private static final Duration REPORT_INTERVAL = Duration.ofMinutes(1);
    private static final Duration RATES_INTERVAL = Duration.ofSeconds(10);
    private static final int QUEUE_LINES = 10;

    /** Every default, on that database and any free port of the loopback address. */
    public static BrokerConfig on(DatabaseConfig database) {
        return new BrokerConfig(
                Optional.empty(),
                database,
                WebConfig.of("127.0.0.1", 0, 64 << 20, KEEP_ALIVE, false),
                Optional.empty(),
                HttpConfig.defaults(),
                QueueConfig.defaults(),
                PushConfig.defaults(),
                DedupConfig.defaults(),
                GroupsConfig.DEFAULT,
                ReadyConfig.DEFAULT,
                PopConfig.DEFAULT,
                AckConfig.DEFAULT,
                KvConfig.of(database.poolSize()),
                TransactConfig.DEFAULT,
                CipherConfig.NONE,
                TimersConfig.DEFAULT,
                MaintainConfig.DEFAULT,
                new ReportConfig("queen", REPORT_INTERVAL, RATES_INTERVAL, QUEUE_LINES));
    }

    /** The same behind another listener. */
    public BrokerConfig with(WebConfig other) {
        return new BrokerConfig(
                embedded, database, other, access, http, queue, push, dedup, group, ready, pop, ack,
                kv, transact, cipher, timers, maintain, report);
    }

    /** The same with another key. */
    public BrokerConfig with(CipherConfig other) {
        return new BrokerConfig(
                embedded, database, web, access, http, queue, push, dedup, group, ready, pop, ack,
                kv, transact, other, timers, maintain, report);
    }

    /** The same with other bounds for pushes. */
    public BrokerConfig with(PushConfig other) {
        return new BrokerConfig(
                embedded, database, web, access, http, queue, other, dedup, group, ready, pop, ack,
                kv, transact, cipher, timers, maintain, report);
    }

    /** The same with other background jobs. */
    public BrokerConfig with(MaintainConfig other) {
        return new BrokerConfig(
                embedded, database, web, access, http, queue, push, dedup, group, ready, pop, ack,
                kv, transact, cipher, timers, other, report);
    }

    /** The same with other bounds of timers. */
    public BrokerConfig with(TimersConfig other) {
        return new BrokerConfig(
                embedded, database, web, access, http, queue, push, dedup, group, ready, pop, ack,
                kv, transact, cipher, other, maintain, report);
    }

    /** The same with other reports. */
    public BrokerConfig with(ReportConfig other) {
        return new BrokerConfig(
                embedded, database, web, access, http, queue, push, dedup, group, ready, pop, ack,
                kv, transact, cipher, timers, maintain, other);
    }

    /** The same with other bounds of transactions. */
    public BrokerConfig with(TransactConfig other) {
        return new BrokerConfig(
                embedded, database, web, access, http, queue, push, dedup, group, ready, pop, ack,
                kv, other, cipher, timers, maintain, report);
    }

    /**
     * What the environment says.
     *
     * @throws BadSetting naming the variable
     */
    public static BrokerConfig from(Settings settings) {
        settings.check();
        if (settings.get(Variables.TENANCY_HEADER) && !settings.get(Variables.TRUSTED_PROXY)) {
            throw new BadSetting(
                    "QUEEN_TENANCY_HEADER is true, and whoever reaches this broker could name any"
                            + " tenant: put a proxy in front that sets x-queen-tenant and drops what"
                            + " clients say, then set QUEEN_KV_TRUSTED_PROXY to true");
        }
        DatabaseConfig database = database(settings);
        return new BrokerConfig(
                settings.get(Variables.EMBEDDED)
                        ? Optional.of(Path.of(settings.get(Variables.DATA_DIR)))
                        : Optional.empty(),
                database,
                web(settings, database),
                AccessSettings.of(settings),
                http(settings),
                queue(settings),
                PushConfig.defaults(),
                new DedupConfig(settings.get(Variables.DEDUP_CACHE_MB) << 20),
                GroupsConfig.DEFAULT,
                ReadyConfig.DEFAULT,
                PopConfig.DEFAULT.with(autopilot(settings)),
                AckConfig.DEFAULT,
                kv(settings),
                TransactConfig.DEFAULT,
                cipher(settings),
                timers(settings),
                maintain(settings),
                new ReportConfig(
                        settings.effective(Variables.SERVER_ID).orElseGet(BrokerConfig::anyName),
                        Duration.ofMillis(settings.get(Variables.METRICS_FLUSH_MS)),
                        Duration.ofMillis(settings.get(LogVariables.LOG_RATES_MS)),
                        settings.get(LogVariables.LOG_QUEUES).intValue()));
    }

    private static String anyName() {
        return "queen-%08x".formatted(ThreadLocalRandom.current().nextInt());
    }

    private static DatabaseConfig database(Settings settings) {
        return DatabaseConfig.of(
                        settings.get(Variables.PG_HOST),
                        Math.toIntExact(settings.get(Variables.PG_PORT)),
                        settings.get(Variables.PG_DATABASE),
                        settings.get(Variables.PG_USER),
                        settings.get(Variables.PG_PASSWORD))
                .withStatementTimeout(
                        Duration.ofMillis(settings.get(Variables.STATEMENT_TIMEOUT_MS)))
                .withMigrates(settings.get(Variables.APPLY_SCHEMA))
                .withTls(TlsSettings.of(settings))
                .withPoolSize(Math.toIntExact(settings.get(Variables.POOL_SIZE)));
    }

    private static WebConfig web(Settings settings, DatabaseConfig database) {
        return WebConfig.of(
                        settings.get(Variables.HOST),
                        Math.toIntExact(settings.get(Variables.PORT)),
                        Math.toIntExact(settings.get(Variables.MAX_BODY_BYTES)),
                        Duration.ofSeconds(settings.get(Variables.KEEP_ALIVE_SECONDS)),
                        settings.get(Variables.TENANCY_HEADER))
                .besides(database.poolSize() + DatabaseConfig.BESIDE_THE_POOL);
    }

    private static HttpConfig http(Settings settings) {
        return HttpConfig.of(
                Duration.ofMillis(settings.get(Variables.POP_TIMEOUT_MS)),
                !settings.get(Variables.SUBSCRIPTION_MODE).equals("all"));
    }

    private static AutopilotConfig autopilot(Settings settings) {
        return new AutopilotConfig(
                AutopilotConfig.Mode.valueOf(
                        settings.get(AutopilotVariables.MODE).toUpperCase(Locale.ROOT)),
                Math.toIntExact(settings.get(AutopilotVariables.BATCH)),
                Math.toIntExact(settings.get(AutopilotVariables.TARGET_AGE_MS)),
                Math.toIntExact(settings.get(AutopilotVariables.DWELL_MS)),
                Math.toIntExact(settings.get(AutopilotVariables.DWELL_POPS)),
                Math.toIntExact(settings.get(AutopilotVariables.BURST_CAP)),
                Math.toIntExact(settings.get(AutopilotVariables.MAX_GROUPS)));
    }

    private static KvConfig kv(Settings settings) {
        return new KvConfig(
                Math.toIntExact(settings.get(KvVariables.KV_MAX_VALUE_BYTES)),
                Math.toIntExact(settings.get(KvVariables.KV_MAX_KEY_BYTES)),
                Math.toIntExact(settings.get(KvVariables.KV_MAX_OPS)),
                Math.toIntExact(settings.get(KvVariables.KV_MAX_KEYS)),
                Math.toIntExact(settings.get(KvVariables.KV_MAX_READ_BYTES)),
                Math.toIntExact(settings.get(KvVariables.KV_PREFIX_LIMIT)),
                Math.toIntExact(settings.get(KvVariables.KV_POOL_SIZE)),
                Math.toIntExact(settings.get(KvVariables.KV_SHED_AFTER)),
                kvRates(settings),
                quotas(settings));
    }

    private static QuotaConfig quotas(Settings settings) {
        return new QuotaConfig(
                settings.get(KvVariables.KV_REQUIRE_GRANT),
                Duration.ofMillis(settings.get(KvVariables.KV_QUOTA_REFRESH_MS)),
                Math.toIntExact(settings.get(KvVariables.KV_QUOTA_RELEASE_PERCENT)),
                Math.toIntExact(settings.get(KvVariables.KV_QUOTA_HOT_PERCENT)));
    }

    private static KvRates kvRates(Settings settings) {
        return new KvRates(
                settings.get(KvVariables.KV_READ_RATE),
                settings.effective(KvVariables.KV_READ_BURST).orElse(0L),
                settings.get(KvVariables.KV_WRITE_RATE),
                settings.effective(KvVariables.KV_WRITE_BURST).orElse(0L),
                settings.get(KvVariables.KV_CELL_RATE),
                Math.toIntExact(settings.get(KvVariables.KV_MAX_TENANTS)));
    }

    private static CipherConfig cipher(Settings settings) {
        List<String> older = settings.find(Variables.ENCRYPTION_OLD_KEYS).orElse(List.of());
        Optional<String> key = settings.find(Variables.ENCRYPTION_KEY);
        if (key.isEmpty() && !older.isEmpty()) {
            throw new BadSetting(
                    "QUEEN_ENCRYPTION_KEY must be set where QUEEN_ENCRYPTION_OLD_KEYS is");
        }
        return key.map(newest -> CipherConfig.of(newest, older)).orElse(CipherConfig.NONE);
    }

    private static TimersConfig timers(Settings settings) {
        TimersConfig defaults = TimersConfig.DEFAULT;
        return new TimersConfig(
                Math.toIntExact(settings.get(TimerVariables.TIMERS_MAX_PAYLOAD_BYTES)),
                Duration.ofSeconds(settings.get(TimerVariables.TIMERS_MAX_HORIZON_SECONDS)),
                Math.toIntExact(settings.get(TimerVariables.TIMERS_MAX_OPS)),
                settings.get(TimerVariables.SWEEPER),
                Duration.ofMillis(settings.get(TimerVariables.SWEEPER_IDLE_MAX_SLEEP_MS)),
                Duration.ofMillis(settings.get(TimerVariables.SWEEPER_MAX_SLEEP_MS)),
                Duration.ofMillis(settings.get(TimerVariables.SWEEPER_LEASE_MS)),
                Math.toIntExact(settings.get(TimerVariables.SWEEPER_CLAIM_BATCH)),
                Math.toIntExact(settings.get(TimerVariables.SWEEPER_CYCLE_MAX_ROWS)),
                Math.toIntExact(settings.get(TimerVariables.SWEEPER_DUE_CAP)),
                Math.toIntExact(settings.get(TimerVariables.SWEEPER_MAX_FIRE_BYTES)),
                Math.toIntExact(settings.get(TimerVariables.SWEEPER_MAX_ATTEMPTS)),
                Duration.ofMillis(settings.get(TimerVariables.SWEEPER_BACKOFF_MIN_MS)),
                Duration.ofMillis(settings.get(TimerVariables.SWEEPER_BACKOFF_MAX_MS)),
                Math.toIntExact(settings.get(TimerVariables.SWEEPER_PARALLELISM)),
                settings.get(TimerVariables.SWEEPER_ISOLATE_ON_PERMANENT),
                Math.toIntExact(settings.get(TimerVariables.SWEEPER_FIRE_RATE_PER_TENANT)),
                defaults.busyPause(),
                defaults.busyPauseMax(),
                defaults.busyWait());
    }

    private static MaintainConfig maintain(Settings settings) {
        MaintainConfig defaults = MaintainConfig.DEFAULT;
        return new MaintainConfig(
                Duration.ofMillis(settings.get(Variables.RETENTION_INTERVAL_MS)),
                Math.toIntExact(settings.get(Variables.RETENTION_BATCH_SIZE)),
                settings.get(Variables.PARTITION_CLEANUP_ENABLED),
                Duration.ofMillis(settings.get(Variables.PARTITION_CLEANUP_INTERVAL_MS)),
                Duration.ofDays(settings.get(Variables.PARTITION_CLEANUP_DAYS)),
                Duration.ofDays(settings.get(Variables.METRICS_RETENTION_DAYS)),
                Duration.ofDays(settings.get(Variables.TRACE_RETENTION_DAYS)),
                defaults.lease(),
                defaults.slice(),
                defaults.epochs()
                        .withBounds(
                                settings.get(Variables.EPOCH_ROWS),
                                settings.get(Variables.EPOCH_MB) << 20,
                                Duration.ofHours(settings.get(Variables.EPOCH_HOURS))),
                new StatisticsConfig(
                        Duration.ofMillis(settings.get(Variables.STATS_INTERVAL_MS)),
                        Duration.ofMillis(settings.get(Variables.RECOUNT_INTERVAL_MS)),
                        Duration.ofMillis(settings.get(KvVariables.KV_USAGE_EVERY_MS))));
    }

    private static QueueConfig queue(Settings settings) {
        QueueConfig defaults = QueueConfig.defaults();
        return new QueueConfig(
                settings.get(Variables.CONFIGURE_MODE).equals("merge")
                        ? Queues.Mode.MERGE
                        : Queues.Mode.REPLACE,
                Duration.ofMillis(settings.get(Variables.CACHE_REFRESH_MS)),
                defaults.queuesMax(),
                defaults.laneCacheBytes(),
                defaults.provisionRoomMax());
    }
}
