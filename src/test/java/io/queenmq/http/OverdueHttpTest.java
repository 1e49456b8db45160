package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Lines;
import io.queenmq.testkit.TestBroker;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What a broker does with what is overdue: timers that were held up come, ended keys go. */
class OverdueHttpTest {
    /** More than two commits take. */
    private static final int TIMERS = 450;

    @Contract({"timer-18", "timer-22"})
    @Test
    void timersThatWereHeldUpComeInTheirOrderHoweverManyCommitsThatTakes() throws SQLException {
        try (TestBroker broker = TestBroker.start();
                Connection connection = broker.database().connect()) {
            broker.http().post("/api/v1/system/kv-timers", "{\"timersFire\":false}");
            // Their keys sort the other way round.
            Lines.lines(
                    connection,
                    """
                    select count(*)
                    from (
                        select array_agg('q'::text) as queues, array_agg(to_char(%1$d - n, 'FM0000')) as keys,
                               array_agg(n::text) as payloads, array_agg('p'::text) as lanes,
                               array_agg(now() + interval '1 second' + n * interval '1 ms') as times
                        from generate_series(1, %1$d) n
                        group by n / 200) due
                    cross join lateral queen.timer_schedule(
                        due.queues, due.keys, due.payloads, due.times, due.lanes)
                    """
                            .formatted(TIMERS));
            Await.until(
                    "all are due",
                    () ->
                            Lines.lines(
                                            connection,
                                            "select 1 from queen_store.timers where deliver_at >"
                                                    + " clock_timestamp()")
                                    .isEmpty());
            broker.http().post("/api/v1/system/kv-timers", "{\"timersFire\":true}");
            Await.until(
                    "all have come",
                    () -> Lines.lines(connection, "select 1 from queen_store.timers").isEmpty());
            assertEquals(
                    IntStream.rangeClosed(1, TIMERS).mapToObj(Integer::toString).toList(),
                    Lines.lines(
                            connection,
                            "select payload from queen.messages where queue = 'q' order by"
                                    + " \"offset\""));
        }
    }

    @Contract("kv-8")
    @Test
    void keysThatHaveEndedGo() throws SQLException {
        try (TestBroker broker = TestBroker.start();
                Connection connection = broker.database().connect()) {
            broker.http()
                    .post(
                            "/api/v1/kv",
                            "[{\"op\":\"put\",\"ns\":\"n\",\"key\":\"ends\",\"value\":1,\"ttlSeconds\":60},"
                                    + "{\"op\":\"put\",\"ns\":\"n\",\"key\":\"stays\",\"value\":1,\"forever\":true}]");
            Lines.lines(
                    connection,
                    "update queen_store.kv set expires_at = clock_timestamp() - interval '5 minutes'"
                            + " where key = 'ends' returning 1");
            Await.until(
                    "it has gone",
                    () ->
                            Lines.lines(connection, "select key from queen_store.kv")
                                    .equals(List.of("stays")));
        }
    }
}
