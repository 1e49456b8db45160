package io.queenmq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.config.BadSetting;
import io.queenmq.config.Settings;
import io.queenmq.db.DatabaseConfig;
import io.queenmq.db.Tls;
import io.queenmq.gate.QuotaConfig;
import io.queenmq.maintain.MaintainConfig;
import io.queenmq.maintain.StatisticsConfig;
import io.queenmq.pop.AutopilotConfig;
import io.queenmq.queue.Queues;
import io.queenmq.timer.TimersConfig;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class BrokerConfigTest {

    private static BrokerConfig from(String... pairs) {
        Map<String, String> environment = new HashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            environment.put(pairs[i], pairs[i + 1]);
        }
        return BrokerConfig.from(Settings.of(environment));
    }

    @Test
    void runsAServerOfItsOwnUnlessOneIsNamed() {
        assertEquals(Optional.of(Path.of("data")), from().embedded());
        assertEquals(Optional.of(Path.of("x")), from("QUEEN_DATA_DIR", "x").embedded());
        assertEquals(Optional.empty(), from("PG_HOST", "db").embedded());
        assertEquals(Optional.empty(), from("PG_DB", "queen").embedded());
        assertEquals(Optional.empty(), from("QUEEN_EMBEDDED", "false").embedded());
        assertEquals(
                Optional.of(Path.of("data")),
                from("QUEEN_EMBEDDED", "true", "PG_HOST", "db").embedded());
    }

    @Test
    void believesNoNameOfATenantThatAnybodyCouldHaveSaid() {
        BadSetting refusal =
                assertThrows(BadSetting.class, () -> from("QUEEN_TENANCY_HEADER", "true"));
        assertTrue(refusal.toString().contains("QUEEN_KV_TRUSTED_PROXY"));
        assertFalse(from("QUEEN_KV_TRUSTED_PROXY", "true").web().tenancy());
    }

    @Test
    void aBrokerIsCalledByItsNameElseByThatOfItsMachine() {
        assertEquals("a", from("QUEEN_SERVER_ID", "a", "HOSTNAME", "b").report().broker());
        assertEquals("b", from("HOSTNAME", "b").report().broker());
        assertTrue(from().report().broker().matches("queen-[0-9a-f]{8}"));
    }

    @Test
    void anOlderNameOfNewIsNew() {
        assertTrue(from("DEFAULT_SUBSCRIPTION_MODE", "new_only").http().groupsStartAtNow());
        assertFalse(from("DEFAULT_SUBSCRIPTION_MODE", "all").http().groupsStartAtNow());
    }

    @Test
    void autopilotIsOnOffOrAShadow() {
        assertEquals(AutopilotConfig.DEFAULT, from().pop().autopilot());
        assertEquals(
                new AutopilotConfig(AutopilotConfig.Mode.SHADOW, 7, 8, 9, 10, 11, 12),
                from(
                                "QUEEN_POP_AUTOPILOT", "shadow",
                                "QUEEN_POP_AUTOPILOT_BATCH", "7",
                                "QUEEN_POP_AUTOPILOT_TARGET_AGE_MS", "8",
                                "QUEEN_POP_AUTOPILOT_DWELL_MS", "9",
                                "QUEEN_POP_AUTOPILOT_DWELL_POPS", "10",
                                "QUEEN_POP_AUTOPILOT_BURST_CAP", "11",
                                "QUEEN_POP_AUTOPILOT_MAX_LANES", "12")
                        .pop()
                        .autopilot());
        BadSetting refusal =
                assertThrows(BadSetting.class, () -> from("QUEEN_POP_AUTOPILOT", "auto"));
        assertTrue(refusal.toString().contains("on or shadow or off"), refusal.toString());
    }

    @Test
    void mapsEverySettingToItsRoom() {
        BrokerConfig config =
                from(
                        "PORT", "7000",
                        "QUEEN_BIND_ADDR", "127.0.0.1",
                        "PG_HOST", "db",
                        "PG_PORT", "5433",
                        "PG_USER", "u",
                        "PG_PASSWORD", "p",
                        "PG_DATABASE", "d",
                        "DB_POOL_SIZE", "20",
                        "QUEEN_STMT_TIMEOUT_MS", "5000",
                        "QUEEN_MAX_BODY_BYTES", "2048",
                        "DEFAULT_TIMEOUT", "1000",
                        "DEFAULT_SUBSCRIPTION_MODE", "all",
                        "QUEEN_CONFIGURE_MODE", "merge",
                        "QUEEN_DEDUP_CACHE_MB", "7",
                        "QUEEN_CACHE_REFRESH_INTERVAL_MS", "1500",
                        "QUEEN_APPLY_SCHEMA", "off",
                        "PG_USE_SSL", "yes",
                        "QUEEN_TENANCY_HEADER", "1",
                        "QUEEN_KV_TRUSTED_PROXY", "1",
                        "RETENTION_INTERVAL", "1000",
                        "RETENTION_BATCH_SIZE", "7",
                        "QUEEN_PARTITION_CLEANUP_ENABLED", "false",
                        "PARTITION_CLEANUP_INTERVAL", "2000",
                        "PARTITION_CLEANUP_DAYS", "3",
                        "METRICS_RETENTION_DAYS", "4",
                        "QUEEN_TRACE_RETENTION_DAYS", "5",
                        "QUEEN_EPOCH_ROWS", "20000",
                        "QUEEN_EPOCH_MB", "100",
                        "QUEEN_EPOCH_HOURS", "5",
                        "STATS_INTERVAL_MS", "2000",
                        "RETAINED_BYTES_INTERVAL_MS", "3000",
                        "QUEEN_TIMERS_MAX_PAYLOAD_BYTES", "1000",
                        "QUEEN_TIMERS_MAX_HORIZON_S", "60",
                        "QUEEN_TIMERS_MAX_OPS_PER_CALL", "9",
                        "QUEEN_SWEEPER", "false",
                        "QUEEN_SWEEPER_IDLE_MAX_SLEEP_MS", "11",
                        "QUEEN_SWEEPER_MAX_SLEEP_MS", "12",
                        "QUEEN_SWEEPER_LEASE_MS", "1300",
                        "QUEEN_SWEEPER_CLAIM_BATCH", "14",
                        "QUEEN_SWEEPER_CYCLE_MAX_ROWS", "15",
                        "QUEEN_SWEEPER_DUE_CAP", "16",
                        "QUEEN_SWEEPER_MAX_FIRE_BYTES", "1700",
                        "QUEEN_SWEEPER_MAX_ATTEMPTS", "18",
                        "QUEEN_SWEEPER_BACKOFF_MIN_MS", "19",
                        "QUEEN_SWEEPER_BACKOFF_MAX_MS", "20",
                        "QUEEN_SWEEPER_PARALLELISM", "2",
                        "QUEEN_SWEEPER_ISOLATE_ON_PERMANENT", "false",
                        "QUEEN_SWEEPER_FIRE_RATE_PER_TENANT", "21",
                        "QUEEN_KV_USAGE_EVERY_MS", "4000",
                        "QUEEN_KV_QUOTA_REFRESH_MS", "5000",
                        "QUEEN_KV_QUOTA_RELEASE_PERCENT", "50",
                        "QUEEN_KV_QUOTA_HOT_PERCENT", "40");
        assertEquals(7000, config.web().port());
        assertEquals("127.0.0.1", config.web().host());
        assertEquals(2048, config.web().bodyBytesMax());
        assertEquals(true, config.web().tenancy());
        assertEquals(
                DatabaseConfig.of("db", 5433, "d", "u", "p")
                        .withPoolSize(20)
                        .withStatementTimeout(Duration.ofSeconds(5))
                        .withMigrates(false)
                        .withTls(new Tls(Tls.Mode.VERIFY_FULL, Optional.empty(), Optional.empty())),
                config.database());
        assertEquals(Duration.ofMillis(1_500), config.queue().cacheRefresh());
        assertEquals(Duration.ofSeconds(1), config.http().pollTime());
        assertFalse(config.http().groupsStartAtNow());
        assertEquals(Queues.Mode.MERGE, config.queue().defaultMode());
        assertEquals(7L << 20, config.dedup().bytesMax());
        assertEquals(
                new MaintainConfig(
                        Duration.ofSeconds(1),
                        7,
                        false,
                        Duration.ofSeconds(2),
                        Duration.ofDays(3),
                        Duration.ofDays(4),
                        Duration.ofDays(5),
                        MaintainConfig.DEFAULT.lease(),
                        MaintainConfig.DEFAULT.slice(),
                        MaintainConfig.DEFAULT
                                .epochs()
                                .withBounds(20_000, 100L << 20, Duration.ofHours(5)),
                        new StatisticsConfig(
                                Duration.ofSeconds(2),
                                Duration.ofSeconds(3),
                                Duration.ofSeconds(4))),
                config.maintain());
        // Where there are tenants they need a grant, unless somebody says otherwise.
        assertEquals(new QuotaConfig(true, Duration.ofSeconds(5), 50, 40), config.kv().quotas());
        assertFalse(
                from(
                                "QUEEN_TENANCY_HEADER", "1",
                                "QUEEN_KV_TRUSTED_PROXY", "1",
                                "QUEEN_KV_REQUIRE_GRANT", "0")
                        .kv()
                        .quotas()
                        .requireGrant());
        assertEquals(
                new TimersConfig(
                        1_000,
                        Duration.ofSeconds(60),
                        9,
                        false,
                        Duration.ofMillis(11),
                        Duration.ofMillis(12),
                        Duration.ofMillis(1_300),
                        14,
                        15,
                        16,
                        1_700,
                        18,
                        Duration.ofMillis(19),
                        Duration.ofMillis(20),
                        2,
                        false,
                        21,
                        TimersConfig.DEFAULT.busyPause(),
                        TimersConfig.DEFAULT.busyPauseMax(),
                        TimersConfig.DEFAULT.busyWait()),
                config.timers());
    }
}
