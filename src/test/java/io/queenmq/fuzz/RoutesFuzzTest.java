package io.queenmq.fuzz;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.fuzz.Calls.Call;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.Lines;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import io.queenmq.web.RawClient;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Requests of the data routes, half of them spoiled somewhere, against a whole broker. Every answer
 * is one of the contract, exactly what was answered {@code queued} is stored, byte for byte, with
 * what replays of dead letters add, and the broker serves on without a complaint. Each round has a
 * tenant of its own.
 */
class RoutesFuzzTest {
    private static final int CALLS_MAX = 30;
    private static final Set<Integer> STATUSES = Set.of(200, 201, 204, 400, 404);

    /** A refusal says what of the request it does not like, unless that is the request line. */
    private static final Pattern NAMES_A_FIELD =
            Pattern.compile(
                    "bad body.*|invalid query parameter .+|Bad Request: .+"
                            + "|.*\\b(id|items|queue|partition|namespace|task|transactionId|mode"
                            + "|consumerGroup|group|conflation|leaseId|operations|offset|limit|after|timestamp|[a-z]+[A-Z]\\w+|priority|ttl)\\b.*",
                    Pattern.DOTALL);

    private static TestBroker broker;
    private static Complaints complaints;
    private static Connection connection;

    @BeforeAll
    static void start() throws SQLException {
        complaints = new Complaints();
        broker = TestBroker.withTenancy();
        connection = broker.database().connect();
    }

    @AfterAll
    static void stop() throws SQLException {
        connection.close();
        broker.close();
        complaints.close();
    }

    @Test
    @Contract({"http-17", "http-11", "error-3", "model-11"})
    void everyAnswerIsOfTheContractAndTrue() {
        Fuzz.rounds("routes", 20, (seed, random) -> new Round(random).run());
    }

    /** A client with a tenant of its own, what it was told and what became of it. */
    private static final class Round {
        private final Random random;
        private final Calls calls;
        private final String tenant;

        /** What was answered {@code queued}: queue, transactionId and id, and the payload sent. */
        private final Map<String, @Nullable String> queued = new TreeMap<>();

        private RawClient client;

        Round(Random random) throws IOException {
            this.random = random;
            this.calls = new Calls(random);
            this.tenant = new Strange(random).uuid().toString();
            this.client = new RawClient(broker.port());
        }

        void run() throws IOException, SQLException {
            try {
                for (int i = random.nextInt(CALLS_MAX); i >= 0; i--) {
                    Call call = calls.next();
                    try {
                        call(call);
                        complaints.assertNone();
                    } catch (IOException | RuntimeException | AssertionError e) {
                        throw new AssertionError(call + ": " + e.getMessage(), e);
                    }
                }
            } finally {
                client.close();
            }
            assertEquals(queued.keySet(), assertStored());
            assertEquals(List.of(), violations());
            assertAlive();
        }

        private void call(Call call) throws IOException {
            StringBuilder head = new StringBuilder();
            head.append(call.method()).append(' ').append(call.path()).append(" HTTP/1.1\r\n");
            head.append("Host: q\r\nx-queen-tenant: ").append(tenant);
            if (call.method().equals("POST")) {
                head.append("\r\nContent-Length: ").append(call.body().length);
            }
            client.send(head.append("\r\n\r\n").toString()).send(call.body());
            RawClient.Reply reply = client.read();
            if (reply.headers().getOrDefault("connection", "").equalsIgnoreCase("close")) {
                client.close();
                client = new RawClient(broker.port());
            }
            assertOfTheContract(reply);
            Json json = Json.parse(reply.status() == 204 ? "null" : reply.body());
            if (reply.status() == 201) {
                pushed(call, json);
            } else if (reply.status() == 200 && call.path().startsWith("/api/v1/pop")) {
                calls.learn(json);
            } else if (reply.status() == 200 && call.path().startsWith("/api/v1/ack")) {
                acknowledged(json);
            } else if (reply.status() == 200 && call.path().equals("/api/v1/transaction")) {
                transacted(json);
            } else if (reply.status() == 200
                    && call.path().startsWith("/api/v1/resources/queues/")) {
                String deleted = json.text("queue") + '\n';
                queued.keySet().removeIf(message -> message.startsWith(deleted));
            }
        }

        private static void assertOfTheContract(RawClient.Reply reply) {
            String what = reply.head() + reply.body();
            assertTrue(STATUSES.contains(reply.status()), what);
            if (reply.status() == 204) {
                assertFalse(reply.headers().containsKey("content-length"), what);
                assertFalse(reply.headers().containsKey("transfer-encoding"), what);
            } else {
                assertEquals("application/json", reply.headers().get("content-type"), what);
            }
            if (reply.status() >= 400) {
                String error = Json.parse(reply.body()).text("error");
                assertFalse(error.isEmpty(), what);
                assertTrue(reply.status() != 400 || NAMES_A_FIELD.matcher(error).matches(), what);
            }
        }

        private void pushed(Call call, Json results) {
            for (int i = 0; i < results.size(); i++) {
                String status = results.text(i, "status");
                assertTrue(status.equals("queued") || status.equals("duplicate"), status);
                assertEquals(Integer.toString(i), results.text(i, "index"));
                if (status.equals("queued")) {
                    String message =
                            results.text(i, "queueName")
                                    + '\n'
                                    + results.text(i, "transaction_id")
                                    + '\n'
                                    + results.text(i, "message_id");
                    assertFalse(queued.containsKey(message), message);
                    queued.put(message, payload(call.items(), i));
                }
            }
        }

        private void transacted(Json answer) {
            for (int i = 0; i < answer.size("results"); i++) {
                Json result = answer.at("results", i);
                assertTrue(answer.bool("success") && result.bool("success"), answer.toString());
                if (result.text("type").equals("push") && !result.names().contains("duplicate")) {
                    String message =
                            result.text("queueName")
                                    + '\n'
                                    + result.text("transactionId")
                                    + '\n'
                                    + result.text("messageId");
                    assertFalse(queued.containsKey(message), message);
                    queued.put(message, null);
                }
            }
        }

        private static @Nullable String payload(List<Tree> items, int index) {
            return index < items.size()
                            && items.get(index) instanceof Tree.Branch item
                            && item.fields().get("payload") instanceof Tree.Raw raw
                    ? raw.json()
                    : null;
        }

        private static void acknowledged(Json results) {
            for (int i = 0; i < results.size(); i++) {
                assertEquals(results.bool(i, "success"), results.isNull(i, "error"));
                assertFalse(results.text(i, "error").contains("internal"), results.toString());
            }
        }

        private Set<String> assertStored() throws SQLException {
            Map<String, String> stored = new TreeMap<>();
            for (@Nullable Object[] row :
                    TestDatabase.rows(
                            connection,
                            """
                            select q.name, d.transaction_id, d.message_id, d.payload
                            from queen_store.queues q
                            join queen_store.partitions p on p.queue_id = q.id
                            join queen_store.segments s on s.partition_id = p.id
                            cross join lateral queen_store.decode_segment(
                                s.partition_id, s.base_offset, s.created_at, s.keys, s.frames) d
                            where q.tenant_id = ? and q.deleted_at is null
                                and d.transaction_id not like 'dlq:%'
                            """,
                            UUID.fromString(tenant))) {
                byte[] payload = row[3] instanceof byte[] bytes ? bytes : new byte[0];
                String text = new String(payload, StandardCharsets.UTF_8);
                String message = row[0] + "\n" + row[1] + "\n" + row[2];
                assertFalse(stored.containsKey(message), "stored twice: " + message);
                stored.put(message, text);
                String sent = queued.get(message);
                assertEquals(sent == null ? text : sent, text, message);
            }
            return stored.keySet();
        }

        private List<String> violations() throws SQLException {
            return Lines.lines(
                    connection,
                    """
                    select q.name || ' ' || p.name || ' ' || v.rule || ' ' || v.detail
                    from queen_store.queues q
                    join queen_store.partitions p on p.queue_id = q.id
                    cross join lateral queen.violations(q.name, p.name, p_tenant => q.tenant_id) v
                    where q.deleted_at is null and q.tenant_id = '%s'
                    """
                            .formatted(tenant));
        }

        private void assertAlive() {
            Http http = broker.http().as(tenant);
            http.push("alive", "p", "0", "1", "2");
            Json popped = http.pop("alive", "batch=10").json();
            assertEquals(List.of("0", "1", "2"), popped.each("messages", "data"));
            Json acknowledged = http.ackBatch(popped, "completed", 0, 1, 2);
            for (int i = 0; i < 3; i++) {
                assertTrue(acknowledged.bool(i, "success"), acknowledged.toString());
            }
            assertEquals(204, http.pop("alive", "").status());
        }
    }
}
