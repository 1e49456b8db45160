package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Http.Reply;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.Lines;
import io.queenmq.testkit.TestBroker;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Pages of keys, those of clients and those of administrators. */
class KvListHttpTest {
    private static TestBroker broker;
    private static Http http;

    private String ns;
    private Connection holder;

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
    void open() throws SQLException {
        ns = "n" + UUID.randomUUID();
        holder = broker.database().connect();
    }

    @AfterEach
    void close() throws SQLException {
        holder.close();
    }

    private void put(String key, String value) {
        assertEquals(
                200,
                http.put(
                                "/api/v1/kv/" + ns + "/" + key,
                                "{\"value\":" + value + ",\"forever\":true}")
                        .status());
    }

    /** Keys that have ended; they are held, or the broker might remove them. */
    private void ended(String keys) throws SQLException {
        Lines.lines(
                holder,
                """
                insert into queen_store.kv (
                    tenant_id, namespace, key, value, version, expires_at, created_at,
                    updated_at)
                select '00000000-0000-0000-0000-000000000001', '%s', %s, '1', 1,
                       clock_timestamp(), clock_timestamp(), clock_timestamp()
                """
                        .formatted(ns, keys));
        holder.setAutoCommit(false);
        Lines.lines(
                holder,
                "select from queen_store.kv where namespace = '%s' for key share".formatted(ns));
    }

    private Json list(String more) {
        Reply reply =
                http.post(
                        "/api/v1/resources/kv/list", "{\"namespace\":\"" + ns + "\"" + more + "}");
        assertEquals(200, reply.status(), reply.body());
        return reply.json();
    }

    @Contract({"kv-list-1", "kv-list-2", "kv-list-3"})
    @Test
    void administratorsSeeNamespacesAndKeys() throws SQLException {
        put("a", "[1]");
        put("b", "2");
        ended("'c'");
        Json namespaces = http.get("/api/v1/resources/kv/namespaces").json();
        int at = namespaces.each("namespaces", "namespace").indexOf(ns);
        assertEquals("3", namespaces.text("namespaces", at, "keys"));
        Json page = list(",\"limit\":1");
        assertEquals(List.of("rows", "truncated", "nextAfter", "bytes"), page.names());
        assertEquals(
                List.of("key", "value", "version", "expiresAt", "updatedAt", "expired"),
                page.names("rows", 0));
        assertEquals("a", page.text("nextAfter"));
        assertEquals("4", page.text("bytes"));
        assertEquals(List.of("b"), list(",\"after\":\"a\"").each("rows", "key"));
        Json all = list(",\"after\":\"a\",\"includeExpired\":true,\"keysOnly\":true");
        assertEquals(List.of("b", "c"), all.each("rows", "key"));
        assertEquals(List.of("false", "true"), all.each("rows", "expired"));
        assertFalse(all.names("rows", 0).contains("value"));
        assertEquals(List.of("b"), list(",\"prefix\":\"b\"").each("rows", "key"));
        Reply refused = http.post("/api/v1/resources/kv/list", "{\"namespace\":\"No\"}");
        assertEquals(400, refused.status());
        assertEquals("kv_bad_namespace", refused.json().text("reason"));
    }

    @Contract({"kv-6", "kv-list-2"})
    @Test
    void aPageThatPassesVeryManyKeysSaysHowFarItCame() throws SQLException {
        ended("'k' || to_char(generate_series(1, 1100), 'FM000000')");
        put("z", "1");
        String after = "";
        StringBuilder pages = new StringBuilder();
        while (!after.equals("null")) {
            Reply reply =
                    http.post(
                            "/api/v1/kv",
                            "[{\"op\":\"getPrefix\",\"ns\":\"%s\",\"prefix\":\"k\",\"limit\":1%s}]"
                                    .formatted(ns, after));
            assertEquals(200, reply.status(), reply.body());
            Json page = reply.json();
            pages.append(page.text("results", 0, "truncated")).append(' ');
            String next = page.text("results", 0, "nextAfter");
            pages.append(next).append(", ");
            after = next.equals("null") ? next : ",\"after\":\"" + next + "\"";
        }
        assertEquals("true k001020, false null, ", pages.toString());

        Json page = list(",\"limit\":1");
        assertEquals(0, page.size("rows"));
        assertEquals("k001020", page.text("nextAfter"));
        assertEquals(List.of("z"), list(",\"limit\":1,\"after\":\"k001020\"").each("rows", "key"));
    }
}
