package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Http.Reply;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.ServerClock;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * PostgreSQL's clock is set forward and back while brokers run. It alone says what has ended and
 * what is due; what must not come again, versions and tokens and deliveries, does not go by it.
 */
class ClockHttpTest {
    private static final Duration HOUR = Duration.ofHours(1);
    private static final int STEPS = 150;

    private static TestDatabase database;
    private static ServerClock clock;
    private static TestBroker broker;

    /** Has no sweeper. */
    private static TestBroker front;

    private final String name = "n-" + UUID.randomUUID();

    @BeforeAll
    static void start() throws SQLException {
        database = TestDatabase.migrated();
        clock = ServerClock.of(database);
        // A clock that jumps forward tells nobody: so long a sweeper does not look.
        broker =
                TestBroker.withEnvironment(
                        database, Map.of("QUEEN_SWEEPER_IDLE_MAX_SLEEP_MS", "200"));
        front = TestBroker.withEnvironment(database, Map.of("QUEEN_SWEEPER", "false"));
    }

    @AfterAll
    static void stop() throws SQLException {
        front.close();
        broker.close();
        clock.close();
        database.close();
    }

    @BeforeEach
    void now() throws SQLException {
        clock.set(Duration.ZERO);
    }

    private Json run(String route, String op) {
        Reply reply = broker.http().post("/api/v1/" + route, "[{" + op.replace('\'', '"') + "}]");
        assertEquals(200, reply.status(), reply.body());
        return reply.json().at("results", 0);
    }

    private Json key(String op) {
        return run("kv", "'ns':'" + name + "'," + op);
    }

    private Json lock(String op) {
        return run("locks", "'name':'" + name + "'," + op);
    }

    @Contract({"kv-4", "kv-8"})
    @Test
    void whatHasEndedFollowsTheClockAndWhatWasDeletedDoesNot() throws SQLException {
        String first = key("'op':'put','key':'a','value':1,'ttlSeconds':600").text("version");
        key("'op':'put','key':'b','value':1,'ttlSeconds':600");
        key("'op':'incr','key':'c','delta':5,'ttlSeconds':600");
        clock.set(HOUR);
        assertFalse(key("'op':'get','key':'a'").bool("found"));
        assertEquals("1", key("'op':'incr','key':'c','delta':1,'ttlSeconds':600").text("value"));
        Json second = key("'op':'putIfAbsent','key':'b','value':2,'ttlSeconds':600");
        assertTrue(second.bool("applied"));

        clock.set(HOUR.negated());
        Json again = key("'op':'get','key':'a'");
        assertEquals("1 " + first, again.text("value") + " " + again.text("version"));
        assertEquals("2", key("'op':'get','key':'b'").text("value"), "the later write stands");
        assertEquals("2", key("'op':'incr','key':'c','delta':1,'ttlSeconds':600").text("value"));
        assertTrue(key("'op':'delete','key':'a'").bool("applied"));
        clock.set(HOUR.multipliedBy(-5));
        assertFalse(key("'op':'get','key':'a'").bool("found"), "deleted for ever");
    }

    /** Goal: at any moment a lock has one holder, and no token comes that is not higher. */
    @Contract({"lock-2", "lock-4", "lock-7"})
    @Test
    void tokensGrowWhateverTheClockDoes() throws SQLException {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        long highest = 0;
        for (int i = 0; i < STEPS; i++) {
            if (random.nextInt(4) == 0) {
                clock.set(Duration.ofSeconds(random.nextInt(-7_200, 7_200)));
            }
            String told = "seed " + seed + " step " + i;
            List<String> holders = lock("'op':'get'").each("holders", "token");
            assertTrue(holders.size() <= 1, told);
            switch (random.nextInt(3)) {
                case 0 -> {
                    Json taken = lock("'op':'acquire','ttlSeconds':900");
                    assertEquals(holders.isEmpty(), taken.bool("acquired"), told);
                    highest = taken.bool("acquired") ? higher(taken, highest, told) : highest;
                }
                case 1 -> {
                    Json renewed =
                            lock("'op':'renew','ttlSeconds':900,'token':" + Math.max(1, highest));
                    assertEquals(!holders.isEmpty(), renewed.bool("renewed"), told);
                    highest = renewed.bool("renewed") ? higher(renewed, highest, told) : highest;
                }
                default -> {
                    Json released = lock("'op':'release','token':" + Math.max(1, highest));
                    assertEquals(!holders.isEmpty(), released.bool("released"), told);
                }
            }
        }
        assertTrue(highest > 0, "seed " + seed);
    }

    private static long higher(Json given, long highest, String told) {
        long token = Long.parseLong(given.text("token"));
        assertTrue(token > highest, told);
        return token;
    }

    /** Both brokers schedule, one of them delivers. */
    @Contract({"timer-15", "timer-16"})
    @Test
    void timersAreDueByTheClockAndComeOnce() throws SQLException {
        schedule(broker.http(), "in two hours", 2 * HOUR.toSeconds());
        schedule(front.http(), "in an hour", HOUR.toSeconds());
        schedule(broker.http(), "now", 0);
        awaitDelivered("now");

        clock.set(HOUR.negated());
        schedule(broker.http(), "an hour ago", 0);
        awaitDelivered("now", "an hour ago");
        schedule(front.http(), "told by another broker", 0);
        awaitDelivered("now", "an hour ago", "told by another broker");

        clock.set(HOUR.plusMinutes(1));
        awaitDelivered("now", "an hour ago", "told by another broker", "in an hour");

        clock.set(Duration.ZERO);
        schedule(front.http(), "last", 0);
        awaitDelivered("now", "an hour ago", "told by another broker", "in an hour", "last");
        assertEquals(
                List.of("in two hours"),
                broker.http().get("/api/v1/timers/" + name).json().each("rows", "timerKey"));
        assertEquals(
                5, broker.http().pop(name, "batch=9").payloads().size(), "whatever their time");
    }

    private void schedule(Http http, String key, long delaySeconds) {
        Reply reply =
                http.post(
                        "/api/v1/timers",
                        "[{\"op\":\"schedule\",\"queue\":\"%s\",\"key\":\"%s\","
                                        .formatted(name, key)
                                + "\"delaySeconds\":%d,\"payload\":\"%s\"}]"
                                        .formatted(delaySeconds, key));
        assertEquals("scheduled", reply.json().text("results", 0, "status"), reply.body());
    }

    private void awaitDelivered(String... payloads) throws SQLException {
        try (Connection connection = database.connect()) {
            List<String> wanted = Arrays.stream(payloads).map(text -> '"' + text + '"').toList();
            Await.until(
                    "delivery of " + wanted,
                    () ->
                            TestDatabase.rows(
                                            connection,
                                            "select payload from queen.messages where queue = ?"
                                                    + " order by \"offset\"",
                                            name)
                                    .stream()
                                    .map(row -> row[0])
                                    .toList()
                                    .equals(wanted));
        }
    }
}
