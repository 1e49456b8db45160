package io.queenmq.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.TestBroker;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Whoever asks for queues in memory is told that there are none, and not that the path is wrong.
 */
class EphemeralHttpTest {
    private static final String PATH = "/api/v1/system/ephemeral";
    private static final String NONE =
            """
            {"ephemeralEnabled":false,"cellBytes":0,"cellMaxBytes":0,"queues":0,\
            "grantedTenants":0,"requireGrant":false,"epoch":0}""";

    private static TestBroker broker;

    @BeforeAll
    static void start() {
        broker = TestBroker.start();
    }

    @AfterAll
    static void stop() {
        broker.close();
    }

    @Test
    @Contract("switch-5")
    void thereAreNone() {
        Http http = broker.http();
        assertEquals(NONE, http.get(PATH).body());
        Http.Reply off = http.post(PATH, "{\"enabled\":false}");
        assertEquals("200 " + NONE, off.status() + " " + off.body());
        Http.Reply on = http.post(PATH, "{\"enabled\":true}");
        assertEquals(
                "400 {\"error\":\"ephemeral queues cannot be switched on: this version has none\"}",
                on.status() + " " + on.body());
    }

    @ParameterizedTest
    @Contract("switch-5")
    @ValueSource(strings = {"", "{}", "{\"enabled\":1}", "{\"enabled\":null}"})
    void aSwitchIsABoolean(String body) {
        Http.Reply reply = broker.http().post(PATH, body);
        assertEquals(
                "400 {\"error\":\"enabled (boolean) is required\"}",
                reply.status() + " " + reply.body());
    }

    @ParameterizedTest
    @Contract("switch-5")
    @ValueSource(strings = {"/api/v1/ephemeral/queues", "/api/v1/ephemeral/pop/q", "/streams/v1/x"})
    void theirRoutesAreNone(String path) {
        Http.Reply reply = broker.http().get(path);
        assertEquals(
                "404 {\"error\":\"Not Found\",\"code\":\"no_such_route\"}",
                reply.status() + " " + reply.body());
    }
}
