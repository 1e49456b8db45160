package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.http.IsolationProbes.Names;
import io.queenmq.http.IsolationProbes.Probe;
import io.queenmq.model.Ids;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.PostgresLink;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import io.queenmq.web.Router;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * No tenant can read, count, seek, acknowledge or change anything of another, at any route that
 * there is. Goal: what somebody guesses of another tenant, or of a queue that is deleted, answers
 * like what never existed, byte for byte and with the same calls of the database. Method: every
 * route is asked twice, by two tenants that have nothing: for the things of an owner, and for
 * things of the same shape that never were; what the two say again of the names is masked, and so
 * is what a clock or a generator makes. Then the owner's things are looked at: nothing has moved.
 */
class IsolationHttpTest {
    private static final String OWNER = UUID.randomUUID().toString();
    private static final String LEASE = "01a228a2-ce41-7000-8000-004000000000";
    private static final String PAYLOAD = "\"the owner's secret\"";

    /** What differs from call to call, whoever asks. */
    private static final Pattern MINTED =
            Pattern.compile(
                    "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
                            + "|\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d(:\\d\\d)?(\\.\\d+)?Z"
                            + "|(?<=\"(version|token|expect)\":)\\d+");

    /** Of the owner's answers, what only the clock changes. */
    private static final Pattern AGES =
            Pattern.compile(
                    "\"(timeLagSeconds|maxTimeLag|statsAge|timestamp|leaseExpiresAt)\":[^,}\\]]+");

    /** Jobs of the broker call the database too: that counts only if it happens again and again. */
    private static final int ATTEMPTS = 5;

    private static TestDatabase database;
    private static PostgresLink link;
    private static TestBroker broker;
    private static Http owner;
    private static Json leased;

    /** What the owner has, what it had in a queue that is deleted, and what never was. */
    private static Names owned;

    private static Names deleted;
    private static Names never;

    /** What a tenant that has nothing is told while nobody has anything. */
    private static Map<String, String> inAnEmptyCell;

    @BeforeAll
    static void start() throws SQLException, IOException {
        database = TestDatabase.migrated();
        try (Connection connection = database.connect()) {
            // So many digits that they are nothing else's.
            TestDatabase.rows(
                    connection,
                    "select setval(pg_get_serial_sequence('queen_store.dead_letters', 'id'),"
                            + " 730000001)");
        }
        link = new PostgresLink(database.host(), database.port());
        broker =
                TestBroker.withEnvironment(
                        database,
                        Map.of(
                                "PG_HOST", "127.0.0.1",
                                "PG_PORT", Integer.toString(link.port()),
                                "QUEEN_TENANCY_HEADER", "true",
                                "QUEEN_KV_REQUIRE_GRANT", "false",
                                "STATS_INTERVAL_MS", "3600000",
                                "METRICS_FLUSH_MS", "3600000"));
        owner = broker.http().as(OWNER);
        long nowhere = Ids.PARTITION_NUMBER_LIMIT - 1;
        never =
                new Names(
                        "zq-queue-never",
                        "zq-lane-never",
                        Ids.partitionId(nowhere).toString(),
                        UUID.randomUUID().toString(),
                        Ids.leaseId(UUID.fromString(LEASE), nowhere).toString(),
                        "zq-group-never",
                        "739999999",
                        "zq-timer-never",
                        "zq-key-never",
                        "zq-trace-never");
        inAnEmptyCell = reads();
        Furnished things = furnish("owned");
        owned = things.names();
        leased = things.leased();
        deleted = furnish("burnt").names();
        assertEquals(200, owner.delete("/api/v1/resources/queues/" + deleted.queue()).status());
        assertEquals(200, broker.http().post("/api/v1/stats/refresh", "").status());
    }

    @AfterAll
    static void stop() throws IOException {
        broker.close();
        link.close();
        database.close();
    }

    private record Furnished(Names names, Json leased) {}

    /** One of everything in a queue of its own: the first message given up, the second leased. */
    private static Furnished furnish(String name) {
        String queue = "zq-queue-" + name;
        String lane = "zq-lane-" + name;
        String group = "zq-group-" + name;
        String timer = "zq-timer-" + name;
        String key = "zq-key-" + name;
        String trace = "zq-trace-" + name;
        assertEquals(
                200,
                owner.post(
                                "/api/v1/configure",
                                "{\"queue\":\"%s\",\"namespace\":\"%s\",\"options\":{\"leaseTime\":3600}}"
                                        .formatted(queue, queue))
                        .status());
        owner.push(queue, lane, PAYLOAD);
        String pop = "consumerGroup=" + group + "&subscriptionMode=all";
        owner.ack(owner.pop(queue, pop).json(), 0, "dlq");
        owner.push(queue, lane, PAYLOAD);
        Json popped = owner.pop(queue, pop).json();
        Json message = popped.at("messages", 0);
        String transactionId = message.text("transactionId");
        String partitionId = message.text("partitionId");
        assertEquals(
                201,
                owner.post(
                                "/api/v1/traces",
                                "{\"transactionId\":\"%s\",\"partitionId\":\"%s\",\"data\":%s,\"traceNames\":[\"%s\"]}"
                                        .formatted(transactionId, partitionId, PAYLOAD, trace))
                        .status());
        assertEquals(
                200,
                owner.post(
                                "/api/v1/timers",
                                "{\"operations\":[{\"op\":\"schedule\",\"queue\":\"%s\",\"timerKey\":\"%s\",\"delaySeconds\":86400,\"payload\":%s}]}"
                                        .formatted(queue, timer, PAYLOAD))
                        .status());
        assertEquals(
                200,
                owner.put(
                                "/api/v1/kv/shared/" + key,
                                "{\"value\":" + PAYLOAD + ",\"forever\":true}")
                        .status());
        String letter = owner.get("/api/v1/dlq?queue=" + queue).json().text("messages", 0, "id");
        return new Furnished(
                new Names(
                        queue,
                        lane,
                        partitionId,
                        transactionId,
                        message.text("leaseId"),
                        group,
                        letter,
                        timer,
                        key,
                        trace),
                popped);
    }

    /** What somebody is told, and how often the database was called for it. */
    private record Answer(String said, Map<String, Long> calls) {}

    private static Answer ask(String tenant, Probe probe, Names names) {
        Map<String, Long> before = link.calls();
        Http.Reply reply =
                broker.http().as(tenant).call(probe.method(), probe.path(names), probe.body(names));
        Map<String, Long> calls = new TreeMap<>();
        link.calls()
                .forEach(
                        (procedure, count) -> {
                            long more = count - before.getOrDefault(procedure, 0L);
                            if (more > 0) {
                                calls.put(procedure, more);
                            }
                        });
        String told = names.masked(reply.body()).replace(tenant, "<tenant>");
        String length = reply.response().headers().firstValue("content-length").orElse("no length");
        return new Answer(
                reply.status()
                        + " "
                        + (probe.method().equals("HEAD") ? length : "")
                        + MINTED.matcher(told).replaceAll("<minted>"),
                calls);
    }

    /** Nothing to tell the two apart by. */
    private static void check(List<String> wrong, Probe probe, Names guessed, boolean byOwner) {
        String difference = "";
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            String one = byOwner ? OWNER : UUID.randomUUID().toString();
            String other = byOwner ? OWNER : UUID.randomUUID().toString();
            Answer answer = ask(one, probe, guessed);
            Answer control = ask(other, probe, never);
            if (!byOwner && answer.said().contains("secret")) {
                wrong.add(probe + " tells " + answer.said());
            }
            // What a broker remembers of its owner's deliveries tells nobody else anything.
            if (byOwner ? answer.said().equals(control.said()) : answer.equals(control)) {
                return;
            }
            difference = "\n  guessed " + answer + "\n  never   " + control;
        }
        wrong.add(probe + difference);
    }

    private static List<Probe> all() {
        IsolationProbes probes = new IsolationProbes();
        List<Probe> all = new ArrayList<>();
        for (Router.Route route : broker.routes()) {
            all.addAll(probes.of(route.method(), route.pattern()));
        }
        assertTrue(all.size() > 100, () -> all.size() + " probes");
        return all;
    }

    @Test
    @Contract({"model-14", "model-16"})
    void nothingOfAnotherTenantIsReadCountedOrMoved() {
        List<String> before = state();
        List<String> wrong = new ArrayList<>();
        for (Probe probe : all()) {
            check(wrong, probe, owned, false);
            check(wrong, probe, deleted, false);
        }
        assertEquals("", String.join("\n", wrong));
        assertEquals(before, state(), "the owner's things");
        assertEquals("true", owner.ack(leased, 0, "completed").text(0, "leaseReleased"));
    }

    /** Nor does anything that is added up say that others have something. */
    @Test
    @Contract("model-14")
    void whoHasNothingIsToldTheSameWhateverOthersHave() {
        assertTrue(inAnEmptyCell.size() > 20, () -> inAnEmptyCell.keySet().toString());
        assertEquals(inAnEmptyCell, reads());
    }

    private static Map<String, String> reads() {
        Map<String, String> answers = new TreeMap<>();
        String nobody = UUID.randomUUID().toString();
        for (Probe probe : all()) {
            // A pop would make the queue, and its asker would not have nothing any more.
            if (probe.method().equals("GET") && !probe.path().startsWith("/api/v1/pop")) {
                answers.put(probe.path(), ask(nobody, probe, never).said());
            }
        }
        return answers;
    }

    /** Numbers of a deleted queue mean nothing any more, not even to its owner; its traces stay. */
    @Test
    @Contract("model-16")
    void whatWasInADeletedQueueIsLikeWhatNeverWas() {
        List<String> wrong = new ArrayList<>();
        for (Probe probe : all()) {
            if (probe.goesByNumber() && !probe.path().startsWith("/api/v1/traces/")) {
                check(wrong, probe, deleted, true);
            }
        }
        assertEquals("", String.join("\n", wrong));
    }

    private static List<String> state() {
        List<String> answers = new ArrayList<>();
        for (String path :
                new String[] {
                    "/api/v1/resources/queues/" + owned.queue(),
                    "/api/v1/resources/queues/" + owned.queue() + "/depth?group=" + owned.group(),
                    "/api/v1/messages?queue=" + owned.queue(),
                    "/api/v1/consumer-groups/" + owned.group(),
                    "/api/v1/dlq?queue=" + owned.queue(),
                    "/api/v1/timers/" + owned.queue(),
                    "/api/v1/kv/shared/" + owned.key(),
                    "/api/v1/traces/by-name/" + owned.trace(),
                    "/api/v1/traces/" + owned.partitionId() + "/" + owned.transactionId()
                }) {
            Http.Reply reply = owner.get(path);
            assertEquals(200, reply.status(), path);
            assertTrue(reply.body().contains("zq-") || reply.body().contains("secret"), path);
            answers.add(path + " " + AGES.matcher(reply.body()).replaceAll(""));
        }
        return answers;
    }
}
