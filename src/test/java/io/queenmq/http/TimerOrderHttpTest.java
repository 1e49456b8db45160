package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Lines;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Timers of a lane that somebody holds now and then come in their order. */
class TimerOrderHttpTest {
    private static final Pattern BUSY = Pattern.compile("(?m)^queen_timers_busy_total ([0-9.]+)");

    private static TestDatabase database;
    private static TestBroker broker;
    private static Http http;

    @BeforeAll
    static void start() {
        database = TestDatabase.migrated();
        broker = TestBroker.on(database);
        http = broker.http();
    }

    @AfterAll
    static void stop() {
        broker.close();
        database.close();
    }

    private static void schedule(String queue, int number) {
        assertEquals(
                200,
                http.post(
                                "/api/v1/timers",
                                """
                                [{"op":"schedule","queue":"%s","key":"k%d","delaySeconds":0,
                                  "payload":%d}]
                                """
                                        .formatted(queue, number, number))
                        .status());
    }

    private static double busy() {
        Matcher metric = BUSY.matcher(broker.metrics());
        return metric.find() ? Double.parseDouble(metric.group(1)) : 0;
    }

    private static List<String> stored(Connection connection, String queue) throws SQLException {
        return Lines.lines(
                connection,
                "select payload from queen.messages where queue = '%s' order by \"offset\""
                        .formatted(queue));
    }

    /** One timer finds the lane held, the next is scheduled as soon as nobody holds it any more. */
    @Test
    @Contract("timer-18")
    void noTimerPassesOneThatFoundItsLaneBusy() throws SQLException {
        String queue = "turns";
        assertEquals(
                201,
                http.post(
                                "/api/v1/push",
                                "{\"items\":[{\"queue\":\"%s\",\"payload\":0}]}".formatted(queue))
                        .status());
        List<String> expected = new ArrayList<>(List.of("0"));
        try (Connection holder = database.connect();
                Connection reader = database.connect()) {
            holder.setAutoCommit(false);
            for (int number = 1; number <= 40; number += 2) {
                Lines.lines(
                        holder, "select 1 from queen_store.partitions p for no key update of p");
                double before = busy();
                schedule(queue, number);
                Await.until("the lane was found busy", () -> busy() > before);
                holder.rollback();
                schedule(queue, number + 1);
                expected.add(Integer.toString(number));
                expected.add(Integer.toString(number + 1));
                Await.until(
                        "both are there", () -> stored(reader, queue).size() == expected.size());
                assertEquals(expected, stored(reader, queue));
            }
        }
    }

    /** Many more than one commit takes become due while the lane is held, and none is lost. */
    @Test
    @Contract("timer-18")
    void manyTimersOfALaneThatWasHeldComeInTheirOrderAndHoldNobodyUp() throws SQLException {
        String queue = "crowd";
        try (Connection holder = database.connect();
                Connection other = database.connect()) {
            Lines.lines(other, "select queen.push('%s', 'Default', '0')".formatted(queue));
            holder.setAutoCommit(false);
            Lines.lines(holder, "select 1 from queen_store.partitions p for no key update of p");
            double before = busy();
            Lines.lines(
                    other,
                    """
                    begin;
                    insert into queen_store.timers (
                        tenant_id, queue, timer_key, partition, deliver_at, transaction_id,
                        message_id, payload)
                    select '00000000-0000-0000-0000-000000000001', '%s', md5(i::text), 'Default',
                           clock_timestamp() - interval '1 s' + i * interval '1 ms',
                           't' || i, gen_random_uuid(), convert_to(i::text, 'UTF8')
                    from generate_series(1, 2000) i;
                    notify queen_hints, 't:1';
                    commit
                    """
                            .formatted(queue));
            Await.until("the lane was found busy thrice", () -> busy() >= before + 3);
            schedule("bystander", 1);
            Await.until("a timer of another queue", () -> stored(other, "bystander").size() == 1);
            holder.rollback();
            Await.until("all are there", () -> stored(other, queue).size() == 2_001);
            List<String> expected = new ArrayList<>();
            for (int i = 0; i <= 2_000; i++) {
                expected.add(Integer.toString(i));
            }
            assertEquals(expected, stored(other, queue));
        }
    }
}
