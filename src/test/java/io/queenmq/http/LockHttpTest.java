package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Http.Reply;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.Lines;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code POST /api/v1/locks}. */
class LockHttpTest {
    private static final String PATH = "/api/v1/locks";

    private static TestBroker broker;
    private static Http http;
    private String name;

    @BeforeAll
    static void start() {
        broker = TestBroker.start();
        http = broker.http();
    }

    @AfterAll
    static void stop() {
        broker.close();
    }

    @BeforeEach
    void name() {
        name = "l-" + UUID.randomUUID();
    }

    private Json run(String op) {
        Reply reply = http.post(PATH, "[" + named(op) + "]");
        assertEquals(200, reply.status(), reply.body());
        return reply.json().at("results", 0);
    }

    private String named(String op) {
        return "{\"name\":\"" + name + "\"," + op + "}";
    }

    private static String acquire(String more) {
        return "\"op\":\"acquire\",\"ttlSeconds\":60" + more;
    }

    private static String by(String owner) {
        return ",\"owner\":\"" + owner + "\"";
    }

    private static long token(Json json) {
        return Long.parseLong(json.text("token"));
    }

    /** However little an answer about keys may hold. */
    @Contract("lock-2")
    @Test
    void allSlotsAreSeenThoughAReadIsCutOff() {
        try (TestDatabase database = TestDatabase.migrated();
                TestBroker narrow =
                        TestBroker.withEnvironment(
                                database, Map.of("QUEEN_KV_MAX_READ_BYTES", "1024"))) {
            String owner = "o".repeat(200);
            List<String> gets = new ArrayList<>();
            for (int lock = 0; lock < 4; lock++) {
                String lockName = "\"name\":\"" + name + lock + "\",";
                for (int slot = 0; slot < 8; slot++) {
                    Reply taken =
                            narrow.http()
                                    .post(
                                            PATH,
                                            "[{"
                                                    + lockName
                                                    + acquire(",\"limit\":8" + by(owner + slot))
                                                    + "}]");
                    assertTrue(taken.json().at("results", 0).bool("acquired"), taken.body());
                }
                gets.add("{" + lockName + "\"op\":\"get\"}");
            }
            Reply reply = narrow.http().post(PATH, gets.toString());
            for (int lock = 0; lock < 4; lock++) {
                Json result = reply.json().at("results", lock);
                assertTrue(result.bool("held"), reply.body());
                assertEquals(8, result.size("holders"), reply.body());
            }
        }
    }

    @Contract({"lock-2", "lock-3", "lock-5", "lock-6", "lock-7"})
    @Test
    void aLockHasOneHolderAndTokensGrow() {
        Json first = run(acquire(by("a")));
        assertEquals(
                List.of("index", "op", "name", "acquired", "slot", "token", "owner", "guard"),
                first.names());
        Json again = run(acquire(by("a")));
        assertTrue(again.bool("already"));
        assertEquals(first.text("token"), again.text("token"));
        Json refused = run(acquire(by("b")));
        assertEquals(
                List.of("index", "op", "name", "acquired", "reason", "holders"), refused.names());
        assertEquals("held", refused.text("reason"));
        assertEquals(List.of("a"), refused.each("holders", "owner"));
        Json holders = run("\"op\":\"get\"");
        assertTrue(holders.bool("held"));
        assertEquals(
                List.of("slot", "owner", "token", "since", "renewedAt", "expiresAt"),
                holders.names("holders", 0));
        String release = "\"op\":\"release\",\"token\":";
        assertEquals("lost", run(release + "1").text("reason"));
        assertTrue(run(release + token(first)).bool("released"));
        assertEquals("lost", run(release + token(first)).text("reason"));
        assertFalse(run("\"op\":\"get\"").bool("held"));
        Json next = run(acquire(""));
        assertTrue(token(next) > token(first));
        assertNotEquals("", next.text("owner"));
    }

    @Contract({"lock-4", "lock-7"})
    @Test
    void aRenewalGivesANewTokenToTheHolder() {
        long first = token(run(acquire(by("a"))));
        String since = run("\"op\":\"get\"").text("holders", 0, "since");
        String renew = "\"op\":\"renew\",\"ttlSeconds\":60,\"token\":";
        Json renewed = run(renew + first);
        assertEquals(List.of("index", "op", "name", "renewed", "token", "guard"), renewed.names());
        assertTrue(token(renewed) > first);
        assertEquals(since, run("\"op\":\"get\"").text("holders", 0, "since"));
        Json lost = run(renew + first);
        assertEquals("lost", lost.text("reason"));
        assertEquals(renewed.text("token"), lost.text("holders", 0, "token"));
        assertTrue(run(renew + first + by("a")).bool("renewed"), "an older token of its own");
        assertEquals("lost", run(renew + first + by("b")).text("reason"));
        String never = Long.toString(Long.MAX_VALUE);
        assertEquals("lost", run(renew + never + by("a")).text("reason"), "nobody ever had it");
        assertEquals("lost", run(renew + first + ",\"slot\":3").text("reason"));
    }

    @Contract({"lock-2", "lock-3"})
    @Test
    void aSemaphoreHasAsManyHoldersAsSlots() {
        List<CompletableFuture<Reply>> racers = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            racers.add(
                    http.postLater(PATH, "[" + named(acquire(by("o" + i) + ",\"limit\":3")) + "]"));
        }
        List<String> slots = new ArrayList<>();
        for (CompletableFuture<Reply> racer : racers) {
            Json json = racer.join().json().at("results", 0);
            if (json.bool("acquired")) {
                slots.add(json.text("slot"));
            } else {
                assertTrue(List.of("held", "contended").contains(json.text("reason")));
            }
        }
        // Who was beaten to every free slot it knew of comes again.
        Json late = run(acquire(",\"limit\":3"));
        while (late.bool("acquired")) {
            slots.add(late.text("slot"));
            late = run(acquire(",\"limit\":3"));
        }
        assertEquals(List.of("0", "1", "2"), slots.stream().sorted().toList());
        assertEquals(3, run("\"op\":\"get\"").size("holders"));
    }

    @Contract("lock-6")
    @Test
    void theViewShowsWhoHoldsWhich() throws SQLException {
        long token = token(run(acquire(by("\u00e9") + ",\"limit\":1")));
        String renewed = run("\"op\":\"renew\",\"ttlSeconds\":60,\"token\":" + token).text("token");
        // Whoever writes such keys himself writes what he likes.
        for (String value : List.of("1", "{\"owner\":\"\\u0000\"}")) {
            http.put(
                    "/api/v1/kv/queen-locks/" + name + "-own%23" + value.length(),
                    "{\"forever\":true,\"value\":" + value + "}");
        }
        try (Connection connection = broker.database().connect()) {
            assertEquals(
                    List.of(
                            name + "|0|\u00e9|" + renewed + "|t|t",
                            name + "-own|1||x|t|",
                            name + "-own|18||x|t|"),
                    Lines.lines(
                            connection,
                            """
                            select name, slot, owner,
                                case when owner is null then 'x' else token::text end,
                                held_since <= renewed_at,
                                expires_at > clock_timestamp() + interval '30 s'
                            from queen.locks where name like '%s%%' order by name, slot
                            """
                                    .formatted(name)));
            run("\"op\":\"release\",\"token\":" + renewed);
            assertEquals(
                    List.of(),
                    Lines.lines(
                            connection, "select 1 from queen.locks where name = '" + name + "'"));
        }
    }

    @Contract("lock-8")
    @Test
    void aTransactionCommitsOnlyWhileTheLockIsHeld() {
        Reply reply = http.post(PATH, "[" + named(acquire("")) + "]");
        String body = reply.body();
        String guard = body.substring(body.indexOf("\"guard\":") + 8, body.indexOf("}}") + 1);
        String bundle =
                "{\"kv\":["
                        + guard
                        + "],\"operations\":[{\"type\":\"push\",\"queue\":\""
                        + name
                        + "\"}]}";
        Reply committed = http.post("/api/v1/transaction", bundle);
        assertTrue(committed.json().bool("success"), committed.body());
        long token = token(reply.json().at("results", 0));
        assertTrue(run("\"op\":\"release\",\"token\":" + token).bool("released"));
        assertEquals("absent", http.post("/api/v1/transaction", bundle).json().text("kvReason"));
        run(acquire(""));
        assertEquals("version", http.post("/api/v1/transaction", bundle).json().text("kvReason"));
    }

    @Contract({"lock-1", "lock-9"})
    @Test
    void operationsOfACallAreIndependent() {
        run(acquire(by("a")));
        Reply reply =
                http.post(
                        PATH,
                        "{\"operations\":["
                                + named(acquire(by("b")))
                                + ",{\"name\":\""
                                + name
                                + "x\","
                                + acquire("")
                                + "}]}");
        assertFalse(reply.json().bool("results", 0, "acquired"));
        assertTrue(reply.json().bool("results", 1, "acquired"));
        assertEquals("{\"results\":[]}", http.post(PATH, "[]").body());
        Reply twice = http.post(PATH, "[" + named(acquire("")) + "," + named(acquire("")) + "]");
        assertEquals(400, twice.status());
        assertEquals("locks_duplicate_name", twice.json().text("reason"));
    }

    @Contract("lock-9")
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{\"op\":\"acquire\",\"name\":\"a#b\",\"ttlSeconds\":1}|locks_bad_name",
                "{\"op\":\"acquire\",\"ttlSeconds\":1}|locks_bad_name",
                "{\"op\":\"acquire\",\"name\":\"a\\n\",\"ttlSeconds\":1}|locks_bad_name",
                "{\"op\":\"acquire\",\"name\":\"a\"}|kv_bad_ttl",
                "{\"op\":\"acquire\",\"name\":\"a\",\"ttlSeconds\":0}|kv_bad_ttl",
                "{\"op\":\"acquire\",\"name\":\"a\",\"ttlSeconds\":1,\"limit\":1025}|locks_bad_slot",
                "{\"op\":\"release\",\"name\":\"a\"}|locks_bad_request",
                "{\"op\":\"release\",\"name\":\"a\",\"token\":\"1\"}|locks_bad_request",
                "{\"op\":\"release\",\"name\":\"a\",\"token\":0}|locks_bad_request",
                "{\"op\":\"renew\",\"name\":\"a\",\"token\":-1,\"ttlSeconds\":1}|locks_bad_request",
                "{\"op\":\"take\",\"name\":\"a\"}|locks_unknown_op",
                "7|locks_bad_request",
            })
    void whatCannotBeRightIsRefused(String op, String reason) {
        Reply reply = http.post(PATH, "[" + op + "]");
        assertEquals(400, reply.status(), reply.body());
        assertEquals("kv_bad_request", reply.json().text("error"));
        assertEquals(reason, reply.json().text("reason"), reply.body());
    }
}
