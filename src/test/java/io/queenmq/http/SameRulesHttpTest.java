package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Http.Reply;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.Lines;
import io.queenmq.testkit.TestBroker;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.Objects;
import java.util.UUID;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a route takes and refuses, the function of the same name takes and refuses. */
class SameRulesHttpTest {
    private static TestBroker broker;
    private static Http http;
    private static Connection connection;

    private String fresh;

    @BeforeAll
    static void start() throws SQLException {
        broker = TestBroker.start();
        http = broker.http();
        connection = broker.database().connect();
    }

    @AfterAll
    static void stop() throws SQLException {
        connection.close();
        broker.close();
    }

    @BeforeEach
    void name() {
        fresh = "n" + UUID.randomUUID();
    }

    /** What a function answers; a refusal is one of its own, by its name. */
    private static String ask(String sql) {
        try {
            return Lines.line(connection, sql);
        } catch (SQLException e) {
            assertEquals("QN", e.getSQLState().substring(0, 2), e.getMessage());
            return Objects.toString(e.getMessage()).lines().findFirst().orElse("");
        }
    }

    private static String verdict(Reply reply) {
        Json json = reply.json();
        return reply.status() == 200 ? "taken" : json.text("error");
    }

    // Keys.

    /** 1e999 has a thousand digits. */
    @Contract("kv-12")
    @ParameterizedTest
    @CsvSource({
        "1, , , taken",
        "1, -1e3, 1.5, taken",
        "1e999, , , taken",
        "1e1000, , , refused",
        "1e-999, , , taken",
        "1e-1000, , , refused",
        "1, -1e999, , taken",
        "1, -1e1000, , refused",
        "1, , 1e999, taken",
        "1, , 1e1000, refused",
        "1, , 1e-1000, refused",
        "NaN, , , refused",
        "1, NaN, , refused",
        "1, , NaN, refused",
        "Infinity, , , refused",
        "1, -Infinity, , refused",
        "1, , Infinity, refused"
    })
    void numbersThatCountersTake(
            String delta, @Nullable String min, @Nullable String max, String verdict) {
        Reply reply =
                http.post(
                        "/api/v1/kv",
                        "[{\"op\":\"incr\",\"ns\":\"%s\",\"key\":\"k\",\"forever\":true,\"delta\":%s%s%s}]"
                                .formatted(
                                        fresh,
                                        delta,
                                        min == null ? "" : ",\"min\":" + min,
                                        max == null ? "" : ",\"max\":" + max));
        String answer =
                ask(
                        "select status from queen.kv_incr('%s', 's', '%s', null, %s, %s)"
                                .formatted(fresh, delta, literal(min), literal(max)));
        boolean taken = verdict.equals("taken");
        assertEquals(taken ? "taken" : "kv_bad_request", verdict(reply), reply.body());
        assertEquals(taken ? "applied" : "ERROR: bad_request", answer);
    }

    private static String literal(@Nullable String text) {
        return text == null ? "null" : "'" + text + "'";
    }

    /** As it is sent, in bytes, without what is around it. */
    @Contract("kv-3")
    @ParameterizedTest
    @CsvSource({"x, 65534, true", "x, 65535, false", "é, 32767, true", "é, 32768, false"})
    void valuesThatKeysHave(String letter, int many, boolean taken) {
        String value = "\"" + letter.repeat(many) + "\"";
        Reply reply =
                http.post(
                        "/api/v1/kv",
                        "[{\"op\":\"put\",\"ns\":\"%s\",\"key\":\"k\",\"forever\":true,\"value\": \t%s\n }]"
                                .formatted(fresh, value));
        String answer =
                ask(
                        "select status from queen.kv_put('%s', 's', E' \\t%s\\n '::json, null)"
                                .formatted(fresh, value));
        assertEquals(taken ? "taken" : "payload_too_large", verdict(reply), reply.body());
        assertEquals(taken ? "applied" : "ERROR: bad_request", answer);
    }

    // Timers.

    /** Seconds; 7,776,000 are 90 days. */
    @Contract({"timer-9", "timer-10"})
    @ParameterizedTest
    @CsvSource({
        "7775900, taken",
        "7776100, refused",
        "100000000000, refused",
        "5000000000000, refused",
        "-1, taken",
        "-5000000000000, taken"
    })
    void timesThatTimersHave(String seconds, String verdict) {
        Reply reply =
                http.post(
                        "/api/v1/timers",
                        "[{\"op\":\"schedule\",\"queue\":\"%s\",\"timerKey\":\"k\",\"delaySeconds\":%s,\"payload\":1}]"
                                .formatted(fresh, seconds));
        String answer =
                ask(
                        "select status from queen.timer_schedule('%s', 's', '1', p_delay => '%s s')"
                                .formatted(fresh, seconds));
        boolean taken = verdict.equals("taken");
        assertEquals(taken ? "taken" : "timer_horizon_exceeded", verdict(reply), reply.body());
        assertEquals(taken ? "scheduled" : "ERROR: timer_horizon_exceeded", answer);
    }

    @Contract("timer-9")
    @ParameterizedTest
    @CsvSource({
        "-4000-01-01T00:00:00Z, 4001-01-01 BC, taken",
        "1999-01-01T00:00:00Z, 1999-01-01, taken",
        "9999-01-01T00:00:00Z, 9999-01-01, refused",
        "+200000-01-01T00:00:00Z, 200000-01-01, refused"
    })
    void instantsThatTimersHave(String instant, String time, String verdict) {
        Reply reply =
                http.post(
                        "/api/v1/timers",
                        "[{\"op\":\"schedule\",\"queue\":\"%s\",\"timerKey\":\"k\",\"deliverAt\":\"%s\",\"payload\":1}]"
                                .formatted(fresh, instant));
        String answer =
                ask(
                        "select status from queen.timer_schedule('%s', 's', '1', p_deliver_at => '%s')"
                                .formatted(fresh, time));
        boolean taken = verdict.equals("taken");
        assertEquals(taken ? "taken" : "timer_horizon_exceeded", verdict(reply), reply.body());
        assertEquals(taken ? "scheduled" : "ERROR: timer_horizon_exceeded", answer);
    }

    @Test
    @Contract("timer-9")
    void thereIsNoTimeBeforeOrBehindAllOthersButPastAndTooFar() {
        String schedule =
                "select status from queen.timer_schedule('%s', 's', '1', p_deliver_at => '%s')";
        assertEquals("scheduled", ask(schedule.formatted(fresh, "-infinity")));
        assertEquals("ERROR: timer_horizon_exceeded", ask(schedule.formatted(fresh, "infinity")));
    }

    // Transactions.

    /** Of two acks of one cursor, and of the call; LIVE is the one that holds it. */
    @Contract({"tx-5", "tx-6"})
    @ParameterizedTest
    @CsvSource({
        "LIVE, LIVE, , true",
        "LIVE, , , true",
        "LIVE, , LIVE, true",
        ", , LIVE, true",
        "LIVE, LIVE, LIVE, true",
        "LIVE, , LOST, false",
        "LIVE, LIVE, LOST, false",
        "LIVE, LOST, , false",
        "LIVE, LOST, LIVE, false",
        "LOST, LIVE, , false",
        ", , LOST, false"
    })
    void leasesByWhichAcksGo(
            @Nullable String first,
            @Nullable String second,
            @Nullable String required,
            boolean committed) {
        Json popped = popped("http-" + fresh);
        Reply reply =
                http.post(
                        "/api/v1/transaction",
                        "{\"operations\":[%s,%s],\"requiredLeases\":[%s]}"
                                .formatted(
                                        ack(popped, 0, lease(popped, first)),
                                        ack(popped, 1, lease(popped, second)),
                                        required == null
                                                ? ""
                                                : "\"" + lease(popped, required) + "\""));
        assertEquals(committed ? null : "ack_rejected", reason(reply), reply.body());
        Json other = popped("sql-" + fresh);
        String lane = other.text("partitionId");
        String answer =
                ask(
                        """
                        select string_agg(status, ',') from queen.transact(
                            p_ack_partition_ids => '{%s,%s}', p_ack_transaction_ids => '{%s,%s}',
                            p_ack_lease_ids => array[%s]::uuid[],
                            p_required_lease_ids => array[%s]::uuid[])
                        """
                                .formatted(
                                        lane,
                                        lane,
                                        other.text("messages", 0, "transactionId"),
                                        other.text("messages", 1, "transactionId"),
                                        literals(lease(other, first), lease(other, second)),
                                        required == null ? "" : literals(lease(other, required))));
        assertEquals(committed ? "done,done" : "ERROR: ack_rejected", answer);
    }

    private static Json popped(String queue) {
        http.push(queue, "p", "0", "1");
        return http.pop(queue, "batch=2").json();
    }

    private static @Nullable String lease(Json popped, @Nullable String which) {
        return switch (which) {
            case "LIVE" -> popped.text("leaseId");
            case null -> null;
            default -> "00000000-0000-7000-8000-000000000000";
        };
    }

    private static String literals(@Nullable String... leases) {
        return Arrays.stream(leases)
                .map(SameRulesHttpTest::literal)
                .collect(Collectors.joining(","));
    }

    private static String ack(Json popped, int index, @Nullable String lease) {
        return "{\"type\":\"ack\",\"transactionId\":\"%s\",\"partitionId\":\"%s\"%s}"
                .formatted(
                        popped.text("messages", index, "transactionId"),
                        popped.text("partitionId"),
                        lease == null ? "" : ",\"leaseId\":\"" + lease + "\"");
    }

    private static @Nullable String reason(Reply reply) {
        return reply.json().bool("success") ? null : reply.json().text("reason");
    }
}
