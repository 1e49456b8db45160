package io.queenmq.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.Lines;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Where the space is, who has it, and how it is got back, as an operator sees it. */
class StorageHttpTest {
    private static final String STORAGE = "/api/v1/system/storage";
    private static final int BYTES = 20_000;

    private TestDatabase database;
    private TestBroker broker;
    private Http http;
    private Connection connection;
    private String payload;

    @BeforeEach
    void start() throws SQLException {
        database = TestDatabase.migrated();
        broker =
                TestBroker.withEnvironment(
                        database,
                        Map.of(
                                "QUEEN_TENANCY_HEADER", "true",
                                "QUEEN_KV_REQUIRE_GRANT", "false",
                                "RETENTION_INTERVAL", "3600000",
                                "PARTITION_CLEANUP_INTERVAL", "3600000"));
        http = broker.http();
        connection = database.connect();
        // Incompressible, so that it takes its size wherever the server compresses.
        payload =
                Lines.line(
                        connection,
                        "select '\"' || string_agg(md5(random()::text), '') || '\"' from"
                                + " generate_series(1, "
                                + BYTES / 32
                                + ")");
    }

    @AfterEach
    void stop() throws SQLException {
        connection.close();
        broker.close();
        database.close();
    }

    private static long number(Json json, Object... path) {
        return Long.parseLong(json.text(path));
    }

    private void fill(String queue, int messages) {
        for (int i = 0; i < messages; i++) {
            http.push(queue, "a", payload);
        }
    }

    @Test
    @Contract({"system-3", "configure-13"})
    void theEpochsSayWhatIsAliveInThemAndWhoKeepsIt() throws SQLException {
        fill("kept", 5);
        fill("gone", 10);
        http.get("/api/v1/pop/queue/kept?consumerGroup=g&subscriptionMode=all");
        http.post("/api/v1/stats/refresh", "");
        http.post(
                "/api/v1/timers",
                "{\"operations\":[{\"op\":\"schedule\",\"queue\":\"gone\",\"timerKey\":\"t\","
                        + "\"delaySeconds\":3600,\"payload\":1}]}");
        Json deleted = http.delete("/api/v1/resources/queues/gone").json();
        assertTrue(number(deleted, "diskBytes") >= 10 * BYTES, deleted.toString());
        assertEquals("1", deleted.text("pendingTimers"));

        Json storage = http.get(STORAGE).json();
        long live = number(storage, "liveBytes");
        long expired = number(storage, "expiredBytes");
        assertTrue(live >= 5 * BYTES, storage.toString());
        assertTrue(expired >= 5 * BYTES, storage.toString());
        assertEquals(number(storage, "bytes"), live + expired);
        assertEquals("open", storage.text("epochs", 1, "state"));
        assertTrue(number(storage, "epochs", 1, "expiredBytes") > 0);
        assertTrue(number(storage, "epochs", 1, "ageSeconds") >= 0);
        assertTrue(storage.isNull("epochs", 1, "waitsFor"));
        assertEquals(List.of("kept"), storage.each("queues", "queue"));
        assertEquals("5", storage.text("queues", 0, "messages"));
        assertEquals(List.of("a"), storage.each("partitions", "partition"));
        assertEquals("5", storage.text("partitions", 0, "messages"));
        assertEquals(List.of("g"), storage.each("groups", "consumerGroup"));
        assertTrue(number(storage, "groups", 0, "bytes") > 0);
        assertEquals(
                List.of("group|kept|", "partition|kept|a", "queue|kept|"),
                Lines.lines(
                        connection,
                        "select kind, queue, coalesce(partition, '') from queen.storage_pins"));
        assertTrue(
                Long.parseLong(
                                Lines.line(
                                        connection,
                                        "select bytes - live_bytes from queen.epochs where epoch ="
                                                + " 1"))
                        > 0);
    }

    @Test
    @Contract("system-7")
    void spaceIsOrderedAndABrokerMakesIt() {
        fill("kept", 2);
        fill("gone", 40);
        http.delete("/api/v1/resources/queues/gone");
        String order = "{\"bytes\":" + 20 * BYTES + ",\"waitSeconds\":60";
        Json foreseen = http.post(STORAGE + "/reclaim", order + ",\"dryRun\":true}").json();
        assertTrue(foreseen.isNull("reclaim"));
        assertEquals("true", foreseen.text("plan", "enough"));
        assertEquals(List.of(), http.get(STORAGE).json().each("reclaims", "state"));

        Json ordered = http.post(STORAGE + "/reclaim", order + "}").json();
        assertEquals("1", ordered.text("reclaim"));
        Await.until(
                "it is done",
                () -> {
                    String state = http.get(STORAGE).json().text("reclaims", 0, "state");
                    assertTrue(List.of("ordered", "running", "done").contains(state), state);
                    return state.equals("done");
                });
        Json reclaim = http.get(STORAGE).json().at("reclaims", 0);
        assertTrue(number(reclaim, "freedBytes") >= 20 * BYTES, reclaim.toString());
        assertTrue(reclaim.text("lastEvent").startsWith("epoch 1 is gone"), reclaim.toString());
        assertEquals(2, http.pop("kept", "batch=10").payloads().size());
    }

    @Test
    @Contract("system-7")
    void oneOrderAtATimeAndItCanBeEnded() {
        fill("kept", 1);
        Await.until(
                "the job is there, and paused",
                () ->
                        http.post("/api/v1/system/jobs/epochs", "{\"enabled\":false}").status()
                                == 200);
        String reclaim = STORAGE + "/reclaim";
        assertEquals(404, http.delete(reclaim).status());
        assertEquals(200, http.post(reclaim, "{\"bytes\":1}").status());
        assertEquals(409, http.post(reclaim, "{\"bytes\":1}").status());
        assertEquals("1", http.delete(reclaim).json().text("reclaim"));
        assertEquals(404, http.delete(reclaim).status());
        Json ended = http.get(STORAGE).json().at("reclaims", 0);
        assertEquals("stopped", ended.text("state"));
        assertEquals("an operator", ended.text("stoppedBy"));
        for (String bad :
                new String[] {
                    "{}",
                    "{\"bytes\":0}",
                    "{\"bytes\":\"1GB\"}",
                    "{\"bytes\":1,\"waitSeconds\":-1}",
                    "{\"bytes\":1,\"dryRun\":1}"
                }) {
            assertEquals(400, http.post(reclaim, bad).status(), bad);
        }
    }

    @Test
    @Contract("system-9")
    void retentionIsRunByHandAndSaysWhatItDid() throws SQLException {
        String run = "/api/v1/system/retention/run";
        Await.until(
                "the job is there, and paused",
                () ->
                        http.post("/api/v1/system/jobs/retention", "{\"enabled\":false}").status()
                                == 200);
        assertEquals(409, http.post(run, "").status());
        http.post("/api/v1/system/jobs/retention", "{\"enabled\":true}");
        http.post(
                "/api/v1/configure",
                "{\"queue\":\"short\",\"options\":{\"maxWaitTimeSeconds\":60}}");
        fill("short", 3);
        age("true", "1 hour");
        Json ran = http.post(run, "").json();
        assertEquals("true", ran.text("complete"));
        assertEquals("1", ran.text("queues"));
        assertEquals("0", ran.text("partitionsDeleted"));
        for (String count :
                new String[] {"messages", "maxWaitEvicted", "segmentsDeleted", "txnsPurged"}) {
            assertEquals("3", ran.text(count), count);
        }
        assertEquals("1", ran.text("due"));
        assertTrue(number(ran, "bytes") >= 3 * BYTES, ran.toString());
        assertEquals(
                "max_wait_time_eviction|3|3|" + ran.text("bytes"),
                Lines.line(
                        connection,
                        "select rule, messages, segments, bytes from"
                                + " queen_store.retention_history"));
        Json again = http.post(run, "").json();
        assertEquals("0", again.text("segmentsDeleted"));
        assertEquals("0", again.text("queues"));
    }

    /** A queue counts once, however many of its partitions went in however many steps. */
    @Test
    @Contract("system-9")
    void retentionRunByHandCountsQueuesOnceAndRemovesPartitionsThatNobodyUses()
            throws SQLException {
        String run = "/api/v1/system/retention/run";
        Await.until(
                "the job is there, and paused",
                () ->
                        http.post("/api/v1/system/jobs/partition_cleanup", "{\"enabled\":false}")
                                        .status()
                                == 200);
        for (String queue : new String[] {"one", "two"}) {
            http.post(
                    "/api/v1/configure",
                    "{\"queue\":\"%s\",\"options\":{\"maxWaitTimeSeconds\":60}}".formatted(queue));
            for (int lane = 0; lane < 3; lane++) {
                http.push(queue, "p" + lane, "1");
            }
        }
        http.push("young", "p", "1");
        age("queue_id in (select id from queen_store.queues where name <> 'young')", "40 days");
        Json ran = http.post(run, "").json();
        assertEquals("2", ran.text("queues"));
        assertEquals("6", ran.text("due"));
        assertEquals("0", ran.text("partitionsDeleted"));
        assertEquals("7", Lines.line(connection, "select count(*) from queen_store.partitions"));

        http.post("/api/v1/system/jobs/partition_cleanup", "{\"enabled\":true}");
        Json cleaned = http.post(run, "").json();
        assertEquals("true", cleaned.text("complete"));
        assertEquals("0", cleaned.text("queues"));
        assertEquals("6", cleaned.text("partitionsDeleted"));
        assertEquals("1", Lines.line(connection, "select count(*) from queen_store.partitions"));
    }

    private void age(String lanes, String by) throws SQLException {
        Lines.lines(
                connection,
                """
                with aged as (
                    update queen_store.segments s set created_at = created_at - interval '%2$s'
                    where s.partition_id in (
                        select id from queen_store.partitions where %1$s)
                    returning 1)
                update queen_store.partitions
                set oldest_live_at = oldest_live_at - interval '%2$s',
                    last_created_at = last_created_at - interval '%2$s',
                    last_write_at = last_write_at - interval '%2$s',
                    created_at = created_at - interval '%2$s'
                where %1$s
                returning id
                """
                        .formatted(lanes, by));
    }

    @Test
    @Contract("system-8")
    void aTenantIsErasedAndOthersAreNot() throws SQLException {
        Http tenant = http.as(UUID.randomUUID().toString());
        tenant.push("q", "p", "1", "2");
        fill("kept", 1);
        assertEquals(400, http.delete("/api/v1/resources/tenant").status());
        Json ordered = tenant.delete("/api/v1/resources/tenant").json();
        assertEquals("false", ordered.text("done"));
        assertEquals(1, http.get("/api/v1/system/purges").json().size("purges"));
        Await.until(
                "nothing is left",
                () ->
                        http.get("/api/v1/system/purges")
                                .json()
                                .text("purges", 0, "state")
                                .equals("done"));
        assertEquals("1", Lines.line(connection, "select count(*) from queen_store.segments"));
        Json done = tenant.delete("/api/v1/resources/tenant").json();
        assertEquals("true", done.text("done"));
        assertEquals("1", done.text("queues"));
        assertEquals("nothing", done.text("phase"));
        tenant.push("q", "p", "3");
        assertEquals(List.of("3"), tenant.pop("q", "").payloads());
        assertEquals(1, http.pop("kept", "").payloads().size());
    }
}
