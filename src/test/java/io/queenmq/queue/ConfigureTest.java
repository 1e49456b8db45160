package io.queenmq.queue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.db.Database;
import io.queenmq.db.DatabaseConfig;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Caller;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.queue.Queues.Mode;
import io.queenmq.queue.Queues.Option;
import io.queenmq.runtime.Clock;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.TestDatabase;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ConfigureTest {
    private static final UUID TENANT = Caller.DEFAULT_TENANT;

    private static TestDatabase server;
    private static Metrics metrics;
    private static Database database;
    private static QueueCatalog catalog;
    private static Queues queues;

    @BeforeAll
    static void open() {
        server = TestDatabase.migrated();
        metrics = new Metrics();
        database =
                new Database(
                        DatabaseConfig.of(
                                        server.host(),
                                        server.port(),
                                        server.name(),
                                        server.user(),
                                        "")
                                .withPoolSize(4),
                        metrics,
                        Clock.SYSTEM);
        catalog = new QueueCatalog(QueueConfig.defaults(), database, Clock.SYSTEM);
        catalog.start();
        queues = new Queues(QueueConfig.defaults(), database, catalog, false);
    }

    @AfterAll
    static void close() {
        catalog.stop(Duration.ZERO);
        database.close();
        metrics.close();
        server.close();
    }

    private static Option string(String text) {
        return new Option(Option.Kind.STRING, text);
    }

    private static Option number(String text) {
        return new Option(Option.Kind.NUMBER, text);
    }

    private static Option bool(boolean value) {
        return new Option(Option.Kind.BOOLEAN, Boolean.toString(value));
    }

    private static Option nothing() {
        return new Option(Option.Kind.NULL, null);
    }

    private static QueueOptions configure(String queue, String option, Option value) {
        return queues.configure(TENANT, queue, null, Map.of(option, value)).options();
    }

    private static String refusal(String option, Option value) {
        QueenException refused =
                assertThrows(QueenException.class, () -> configure("refused", option, value));
        assertEquals(Failure.BAD_REQUEST, refused.failure());
        return refused.detail();
    }

    @Test
    @Contract("option-2")
    void leaseOfAConfiguredQueueDefaultsTo300Seconds() {
        QueueOptions options = queues.configure(TENANT, "plain", null, Map.of()).options();
        assertEquals(300, options.leaseSeconds());
        assertEquals(3_600, options.dedupWindowSeconds());
        assertEquals("", options.namespace());
        assertTrue(options.deadLetterQueue());
    }

    @Test
    void replaceResetsWhatIsLeftOutAndMergeKeepsIt() {
        configure("modes", "leaseTime", number("120"));
        Map<String, Option> retries = Map.of("retryLimit", number("5"));
        assertEquals(
                120,
                queues.configure(TENANT, "modes", Mode.MERGE, retries).options().leaseSeconds());
        Map<String, Option> reset = new HashMap<>(retries);
        reset.put("leaseTime", nothing());
        assertEquals(
                300, queues.configure(TENANT, "modes", Mode.MERGE, reset).options().leaseSeconds());
        configure("modes", "leaseTime", number("120"));
        assertEquals(
                300,
                queues.configure(TENANT, "modes", Mode.REPLACE, retries).options().leaseSeconds());
    }

    @Test
    @Contract("configure-6")
    void aSettingChoosesWhatAnAbsentModeMeans() {
        QueueConfig defaults = QueueConfig.defaults();
        Queues merging =
                new Queues(
                        new QueueConfig(
                                Mode.MERGE,
                                defaults.cacheRefresh(),
                                defaults.queuesMax(),
                                defaults.laneCacheBytes(),
                                defaults.provisionRoomMax()),
                        database,
                        catalog,
                        false);
        configure("absent", "leaseTime", number("120"));
        assertEquals(
                120, merging.configure(TENANT, "absent", null, Map.of()).options().leaseSeconds());
    }

    @Test
    @Contract("configure-8")
    void takesIntegersAsNumbersAndAsNumericStrings() {
        assertEquals(7, configure("ints", "leaseTime", number("7")).leaseSeconds());
        assertEquals(8, configure("ints", "leaseTime", string(" 8 ")).leaseSeconds());
        assertEquals(-3, configure("ints", "priority", number("-3")).priority());
    }

    @ParameterizedTest
    @CsvSource({
        "true, true", "T, true", "yes, true", "y, true", "on, true", "1, true",
        "false, false", "F, false", "no, false", "n, false", "off, false", "0, false"
    })
    @Contract("configure-8")
    void takesTheBooleanSpellingsOfPostgresql(String spelling, boolean value) {
        assertEquals(
                value, configure("bools", "retentionEnabled", string(spelling)).retentionEnabled());
    }

    @Test
    @Contract({"configure-1", "option-7", "option-9"})
    void clampsWhatTheContractClamps() {
        assertEquals(0, configure("c", "dedupWindowSeconds", number("-5")).dedupWindowSeconds());
        assertEquals(60_000, configure("c", "minPopWaitTime", number("90000")).minPopWaitMs());
        assertEquals(0, configure("c", "minPopWaitTime", number("-1")).minPopWaitMs());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "retryLimit",
                "retryDelay",
                "delayedProcessing",
                "windowBuffer",
                "retentionSeconds",
                "completedRetentionSeconds",
                "maxWaitTimeSeconds",
                "maxSize",
                "ttl"
            })
    void refusesNegativesNamingOptionRangeAndValue(String option) {
        assertEquals(
                option + " must be between 0 and 2147483647",
                refusal(option, number("-1")).replaceAll("( m?s)?, got -1$", ""));
    }

    @Test
    @Contract({"configure-9", "option-9"})
    void refusesWrongTypesAndRangesNamingTheOption() {
        assertEquals(
                "leaseTime must be a whole number, got abc", refusal("leaseTime", string("abc")));
        assertEquals(
                "leaseTime must be a whole number, got 1.5", refusal("leaseTime", number("1.5")));
        assertEquals(
                "leaseTime must be a whole number, got true", refusal("leaseTime", bool(true)));
        assertEquals(
                "leaseTime must be between 1 and 2147483647 s, got 0",
                refusal("leaseTime", number("0")));
        assertEquals(
                "retentionSinkHoldMaxSeconds must be between 60 and 31536000 s, got 59",
                refusal("retentionSinkHoldMaxSeconds", number("59")));
        assertEquals(
                "retentionSinkHold must match [A-Za-z0-9._-]{0,64}, got a b",
                refusal("retentionSinkHold", string("a b")));
        assertEquals(
                "deadLetterQueue must be true or false, got maybe",
                refusal("deadLetterQueue", string("maybe")));
        assertEquals("namespace must be a string, got 5", refusal("namespace", number("5")));
        assertEquals(
                "task must be a plain value, got an array or object",
                refusal("task", new Option(Option.Kind.COMPOSITE, null)));
        assertTrue(refusal("encryptionEnabled", bool(true)).startsWith("encryptionEnabled"));
        assertTrue(catalog.queue(TENANT, "refused").isEmpty(), "nothing is written");
    }

    @Test
    @Contract("http-4")
    void namesWithoutStorableUtf8AreRefused() {
        for (String name : List.of("a\u0000b", "a\ud800", "\udc00", "é".repeat(513))) {
            QueenException refused =
                    assertThrows(
                            QueenException.class,
                            () -> queues.configure(TENANT, name, null, Map.of()));
            assertEquals(Failure.BAD_REQUEST, refused.failure());
        }
        queues.configure(TENANT, "é/\"'🐘".repeat(10), null, Map.of());
    }

    @Test
    @Contract("option-10")
    void textOptionsReachTheRowUnchanged() {
        String label = "a\"b\\c\n🐘";
        assertEquals(label, configure("labels", "namespace", string(label)).namespace());
    }

    @Test
    @Contract({"configure-10", "option-4", "option-8"})
    void warnsOfSettingsThatDoNothing() {
        List<String> warnings =
                queues.configure(
                                TENANT,
                                "warned",
                                null,
                                Map.of(
                                        "completedRetentionSeconds", number("300"),
                                        "priority", number("1")))
                        .warnings();
        assertEquals(2, warnings.size());
        assertTrue(warnings.get(0).contains("retentionEnabled is false"));
        assertTrue(warnings.get(1).startsWith("priority"));
        assertEquals(List.of(), queues.configure(TENANT, "warned", null, Map.of()).warnings());
    }

    @Test
    void deletedQueueComesBackAsAnotherOne() {
        int before = queues.configure(TENANT, "phoenix", null, Map.of()).queueId();
        LaneName lane = new LaneName(TENANT, "phoenix", "a");
        long number = ensure(lane);
        assertEquals(number, catalog.laneNumber(lane));
        List<Integer> changed = new ArrayList<>();
        catalog.onChange(changed::add);
        assertTrue(queues.delete(TENANT, "phoenix").existed());
        assertFalse(queues.delete(TENANT, "phoenix").existed());
        assertEquals(List.of(before), changed);
        assertEquals(0, catalog.laneNumber(lane));
        assertNotEquals(number, ensure(lane));
        assertNotEquals(before, catalog.queue(TENANT, "phoenix").orElseThrow().id());
    }

    @Test
    void lanesAreFoundByName() {
        LaneName name = new LaneName(TENANT, "found", "p/é");
        long number = ensure(name);
        QueueCatalog fresh = new QueueCatalog(QueueConfig.defaults(), database, Clock.SYSTEM);
        assertEquals(number, fresh.laneNumber(name), "asks the database");
        assertEquals(0, fresh.laneNumber(new LaneName(TENANT, "found", "q")));
    }

    private static long ensure(LaneName name) {
        long deadline = Clock.SYSTEM.nanos() + TimeUnit.SECONDS.toNanos(20);
        return catalog.requestLanes(List.of(name), deadline).getFirst().lane().join().number();
    }
}
