package io.queenmq.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.Lines;
import io.queenmq.testkit.TestBroker;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ChangeHttpTest {
    private static TestBroker broker;

    private Http http;

    @BeforeAll
    static void start() {
        broker = TestBroker.withTenancy();
    }

    @AfterAll
    static void stop() {
        broker.close();
    }

    /** Each test is a tenant of its own, so that it sees nothing of the others. */
    @BeforeEach
    void setUp() {
        http = broker.http().as(UUID.randomUUID().toString());
    }

    private Json changed(String... entries) {
        Http.Reply reply =
                http.post(
                        "/api/v1/partitions/changed",
                        "{\"entries\":[" + String.join(",", entries) + "]}");
        assertEquals(200, reply.status(), reply.body());
        return reply.json();
    }

    private static String entry(String rest) {
        return "{\"queue\":\"orders\"" + rest + "}";
    }

    @Test
    @Contract("change-1")
    void allPartitionsComeByNameInPages() {
        for (String lane : List.of("b", "a/1", "c")) {
            http.push("orders", lane, "1", "2");
        }
        Json first = changed(entry(",\"limit\":2")).at("entries", 0);
        assertEquals(List.of("queue", "partitions", "next"), first.names());
        assertEquals(List.of("a/1", "b"), first.each("partitions", "name"));
        assertEquals(List.of("1", "1"), first.each("partitions", "lastOffset"));
        assertEquals(List.of("0", "0"), first.each("partitions", "logStart"));
        assertTrue(first.text("partitions", 0, "lastWriteAt").matches(".*\\.\\d{6}Z"));
        Json rest =
                changed(entry(",\"limit\":2,\"after\":\"" + first.text("next") + "\""))
                        .at("entries", 0);
        assertEquals(List.of("c"), rest.each("partitions", "name"));
        assertTrue(rest.isNull("next"));
    }

    /** Who shared an answer that is older than its safeTime would take for seen what it lacks. */
    @Test
    @Contract("change-2")
    void everyCallLooksForItselfAfterItKnowsItsSafeTime() throws SQLException {
        http.push("orders", "p", "1");
        String body = "{\"entries\":[" + entry("") + "]}";
        try (Connection holder = broker.database().connect();
                Connection watcher = broker.database().connect()) {
            holder.setAutoCommit(false);
            Lines.lines(holder, "lock table queen_store.queues in access exclusive mode");
            List<CompletableFuture<Http.Reply>> calls = new ArrayList<>();
            for (int i = 0; i < 2; i++) {
                calls.add(http.postLater("/api/v1/partitions/changed", body));
            }
            Await.until(
                    "both look",
                    () ->
                            Lines.line(
                                            watcher,
                                            "select count(*) from pg_stat_activity where"
                                                    + " wait_event_type = 'Lock' and query like"
                                                    + " '%list_changes(%'")
                                    .equals("2"));
            holder.rollback();
            for (CompletableFuture<Http.Reply> call : calls) {
                assertEquals(
                        List.of("p"),
                        call.join().json().at("entries", 0).each("partitions", "name"));
            }
        }
    }

    @Test
    @Contract("change-2")
    void whatWasWrittenSinceComesInItsOrderAndNothingTwice() {
        List<String> written = new ArrayList<>();
        for (int i = 0; i < 7; i++) {
            http.push("orders", "p" + i, "1");
            written.add("p" + i);
        }
        List<String> seen = new ArrayList<>();
        String cursor = "";
        do {
            Json page =
                    changed(entry(",\"since\":\"2026-01-01T00:00:00Z\",\"limit\":3" + cursor))
                            .at("entries", 0);
            seen.addAll(page.each("partitions", "name"));
            cursor = page.isNull("next") ? "" : ",\"after\":\"" + page.text("next") + "\"";
        } while (!cursor.isEmpty());
        Collections.sort(seen);
        assertEquals(written, seen);
        assertEquals(
                0, changed(entry(",\"since\":\"2200-01-01\"")).at("entries", 0).size("partitions"));
    }

    /** The time of a partition moves once a second: who looked only at it would miss this one. */
    @Test
    @Contract("change-2")
    void aMessageIsNotMissedForOneThatWasStoredLessThanASecondBefore() throws SQLException {
        http.push("orders", "p", "1");
        String partition =
                http.get("/api/v1/resources/queues/orders").json().text("partitions", 0, "id");
        String since;
        try (Connection connection = broker.database().connect()) {
            since =
                    Lines.line(
                            connection,
                            "update queen_store.partitions set last_write_at = last_created_at -"
                                    + " interval '999 ms' where id = queen_store.partition_number('"
                                    + partition
                                    + "') returning to_char(last_created_at at time zone 'UTC',"
                                    + " 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')");
        }
        assertEquals(
                List.of("p"),
                changed(entry(",\"since\":\"" + since + "\""))
                        .at("entries", 0)
                        .each("partitions", "name"));
    }

    @Test
    @Contract("change-3")
    void eachEntryFailsForItself() {
        http.push("orders", "p", "1");
        String byName = changed(entry(",\"limit\":1")).text("entries", 0, "next");
        Json json =
                changed(
                        "{\"queue\":\"none\"}",
                        entry(",\"after\":\"odd!\""),
                        entry(",\"since\":\"2026-01-01\",\"after\":\"" + byName + "\""),
                        entry(""));
        assertEquals(List.of("queue", "error"), json.names("entries", 0));
        assertEquals("UNKNOWN_TOPIC_OR_PARTITION", json.text("entries", 0, "error"));
        assertEquals("BAD_CURSOR", json.text("entries", 1, "error"));
        assertEquals("BAD_CURSOR", json.text("entries", 2, "error"));
        assertEquals(1, json.size("entries", 3, "partitions"));
        http = broker.http().as(UUID.randomUUID().toString());
        assertEquals("UNKNOWN_TOPIC_OR_PARTITION", changed(entry("")).text("entries", 0, "error"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{} | entries is required",
                "{`entries`:[{}]} | entries[0].queue is required",
                "{`entries`:[{`queue`:`q`},7]} | entries[1] must be an object, got a number",
                "{`entries`:[{`queue`:`q`,`since`:`soon`}]} | bad timestamp: entries[0].since, got soon"
            })
    @Contract("change-3")
    void aBadRequestIsRefused(String body, String error) {
        Http.Reply reply = http.post("/api/v1/partitions/changed", body.replace('`', '"'));
        assertEquals(400, reply.status());
        assertEquals(error, reply.json().text("error"));
    }

    @Test
    @Contract("change-3")
    void moreThan64EntriesAreRefused() {
        String many = "{\"queue\":\"q\"},".repeat(64) + "{\"queue\":\"q\"}";
        assertEquals(
                400,
                http.post("/api/v1/partitions/changed", "{\"entries\":[" + many + "]}").status());
    }

    @Test
    @Contract("change-4")
    void theSafeTimeIsBeforeEveryTransactionThatMayStillStore() throws SQLException {
        Instant before = Instant.now();
        Json none = changed();
        assertEquals(0, none.size("entries"));
        assertFalse(none.bool("safeTimeDegraded"));
        Instant safe = Instant.parse(none.text("safeTime"));
        assertTrue(safe.isBefore(Instant.now().minusSeconds(4)));
        assertFalse(safe.isBefore(before.minusSeconds(6)));
        try (Connection connection = broker.database().connect();
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            statement.execute("select * from queen.push('open', 'p', '1')");
            Instant first = Instant.parse(changed().text("safeTime"));
            assertEquals(first, Instant.parse(changed().text("safeTime")));
            connection.rollback();
        }
    }

    /** A prepared transaction counts as begun ten minutes before, for it has no session. */
    @Test
    @Contract("change-4")
    void whoKeepsConnectorsBackForLongIsNamedAndMeasuredWhileNobodyAsks() throws SQLException {
        try (Connection connection = broker.database().connect()) {
            connection.setAutoCommit(false);
            Lines.lines(connection, "set queen.notify = off");
            Lines.lines(connection, "select * from queen.push('open', 'p', '1')");
            Lines.lines(connection, "prepare transaction 'late'");
            connection.setAutoCommit(true);
            try {
                assertEquals(
                        "prepared transaction late",
                        Lines.line(connection, "select held_by from queen_store.safe_time()"));
                assertTrue(
                        http.get("/metrics/prometheus")
                                .body()
                                .matches("(?s).*\nqueen_safe_time_behind_seconds 6\\d\\d\\D.*"));
            } finally {
                Lines.lines(connection, "rollback prepared 'late'");
            }
            assertEquals("", Lines.line(connection, "select held_by from queen_store.safe_time()"));
        }
    }
}
