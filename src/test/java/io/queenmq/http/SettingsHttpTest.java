package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What the environment of a broker changes for its clients. */
class SettingsHttpTest {
    private static TestDatabase database;
    private static TestBroker broker;
    private static Http http;

    @BeforeAll
    static void start() {
        database = TestDatabase.migrated();
        broker =
                TestBroker.withEnvironment(
                        database,
                        Map.of(
                                "DEFAULT_SUBSCRIPTION_MODE", "all",
                                "QUEEN_CONFIGURE_MODE", "merge",
                                "QUEEN_MAX_BODY_BYTES", "2048",
                                "DEFAULT_TIMEOUT", "1"));
        http = broker.http();
    }

    @AfterAll
    static void stop() {
        broker.close();
        database.close();
    }

    @Test
    @Contract({"pop-param-8", "pop-first-2"})
    void aGroupThatSaysNothingBeginsWhereTheSettingSays() {
        http.push("q", "p", "1");
        assertEquals(List.of("1"), http.pop("q", "consumerGroup=silent").payloads());
        assertEquals(List.of("1"), http.pop("q", "consumerGroup=x&subscriptionMode=").payloads());
        assertEquals(204, http.pop("q", "consumerGroup=y&subscriptionMode=new").status());
    }

    @Test
    @Contract("configure-6")
    void aConfigureThatNamesNoModeMerges() {
        String head = "{\"queue\":\"merged\",";
        http.post("/api/v1/configure", head + "\"options\":{\"leaseTime\":7,\"retryLimit\":8}}");
        Json merged =
                http.post("/api/v1/configure", head + "\"options\":{\"retryLimit\":9}}").json();
        assertEquals("7", merged.text("options", "leaseTime"));
        assertEquals("9", merged.text("options", "retryLimit"));
        Json replaced =
                http.post("/api/v1/configure", head + "\"mode\":\"replace\",\"retryLimit\":1}")
                        .json();
        assertEquals("300", replaced.text("options", "leaseTime"));
    }

    @Test
    @Contract("http-7")
    void theLimitOfABodyIsTheSetting() {
        String item = Http.item("q", "big", null, "\"" + "x".repeat(2_048) + "\"");
        Http.Reply reply = http.post("/api/v1/push", "{\"items\":[" + item + "]}");
        assertEquals(413, reply.status());
        assertEquals("{\"error\":\"request body exceeds 2048 bytes\"}", reply.body());
    }

    @Test
    @Contract("pop-param-6")
    void aPopThatNamesNoTimeoutWaitsAsLongAsTheSettingSays() {
        assertEquals(204, http.pop("idle", "wait=true").status());
    }
}
