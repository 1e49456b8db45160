package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.TestBroker;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Every parameter and field that is a point in time, in every spelling. */
class TimestampsHttpTest {
    private static final List<String> SPELLINGS =
            List.of(
                    "2026-11-30 12:00:00+00",
                    "2026-11-30T12:00Z",
                    "2026-11-30",
                    "2026-11-30T13:00:00+0100",
                    "2026-11-30 12:00:00.000000 UTC",
                    "20261130T120000Z",
                    "2026-11-30 12:00 Europe/Rome");

    private static final List<String> NONE =
            List.of(
                    "now",
                    "infinity",
                    "-infinity",
                    "yesterday",
                    "epoch",
                    "1796040000000",
                    "2026-13-01");

    private static TestBroker broker;
    private static Http http;

    @BeforeAll
    static void start() {
        broker = TestBroker.start();
        http = broker.http();
        http.push("q", "p", "1");
        http.pop("q", "consumerGroup=g&subscriptionMode=all");
    }

    @AfterAll
    static void stop() {
        broker.close();
    }

    /** A request with a point in time in one place. */
    private interface Asking {
        Http.Reply ask(String time);
    }

    private static Asking query(String path, String parameter) {
        return time -> http.get(path + "?queue=q&" + parameter + '=' + Http.encode(time));
    }

    private static Asking body(String path, String body) {
        return time -> http.post(path, body.replace('`', '"').formatted(time));
    }

    private static Map<String, Asking> askings() {
        Map<String, Asking> askings = new TreeMap<>();
        for (String path :
                List.of(
                        "/api/v1/messages",
                        "/api/v1/dlq",
                        "/api/v1/status",
                        "/api/v1/status/analytics",
                        "/api/v1/analytics/queue-lag",
                        "/api/v1/analytics/queue-ops",
                        "/api/v1/analytics/queue-parked-replicas",
                        "/api/v1/analytics/retention",
                        "/api/v1/analytics/workload",
                        "/api/v1/analytics/system-metrics",
                        "/api/v1/analytics/worker-metrics")) {
            askings.put(path + " to", query(path, "to"));
        }
        String group = "/api/v1/consumer-groups/g";
        askings.put("seek", body(group + "/queues/q/seek", "{`timestamp`:`%s`}"));
        askings.put(
                "seek of a lane",
                body(group + "/queues/q/partitions/p/seek", "{`timestamp`:`%s`}"));
        askings.put(
                "subscription", body(group + "/subscription", "{`subscriptionTimestamp`:`%s`}"));
        askings.put(
                "since",
                body("/api/v1/partitions/changed", "{`entries`:[{`queue`:`q`,`since`:`%s`}]}"));
        askings.put(
                "deliverAt",
                body(
                        "/api/v1/timers",
                        "[{`op`:`schedule`,`queue`:`later`,`timerKey`:`k`,`txn`:`t`,"
                                + "`deliverAt`:`%s`,`payload`:1}]"));
        return askings;
    }

    @Test
    @Contract("http-24")
    void everySpellingIsUnderstoodEverywhere() {
        List<String> wrong = new ArrayList<>();
        askings()
                .forEach(
                        (what, asking) -> {
                            for (String time : SPELLINGS) {
                                Http.Reply reply = asking.ask(time);
                                if (reply.status() != 200) {
                                    wrong.add(what + " " + time + ": " + reply.body());
                                }
                            }
                        });
        assertEquals(List.of(), wrong);
    }

    @Test
    @Contract("http-24")
    void wordsAndNumbersAreNoPointInTimeAnywhere() {
        List<String> wrong = new ArrayList<>();
        askings()
                .forEach(
                        (what, asking) -> {
                            for (String time : NONE) {
                                Http.Reply reply = asking.ask(time);
                                if (reply.status() != 400) {
                                    wrong.add(what + " " + time + ": " + reply.body());
                                }
                            }
                        });
        assertEquals(List.of(), wrong);
        assertEquals(
                "{\"error\":\"bad timestamp: to\"}",
                http.get("/api/v1/messages?queue=q&to=now").body());
    }

    /** All spellings of an instant are that instant. */
    @Test
    @Contract("http-24")
    void theyMeanTheSame() {
        String told =
                http.post(
                                "/api/v1/consumer-groups/g/subscription",
                                "{\"subscriptionTimestamp\":\"2026-11-30 13:00:00+0100\"}")
                        .json()
                        .text("newTimestamp");
        assertEquals("2026-11-30T12:00:00.000Z", told);
        Http.Reply pushed = http.get("/api/v1/status?to=" + Http.encode("2026-11-30 12:00+00"));
        assertTrue(pushed.body().contains("2026-11-30T12:00:00.000Z"), pushed.body());
        assertFalse(pushed.body().contains("2026-11-30T13"), pushed.body());
    }
}
