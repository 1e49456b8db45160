package io.queenmq.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Lines;
import io.queenmq.testkit.PostgresLink;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Goal: each timer becomes one message, whoever dies while it is fired. Method: the call that
 * claims or fires stops at one point; there the broker, the link or the server is killed; another
 * broker, or the same one, has to go on. Claims last for a second here.
 */
final class TimerFaultTest {
    private static final int TIMERS = 40;
    private static final Map<String, String> SETTINGS = Map.of("QUEEN_SWEEPER_LEASE_MS", "1000");

    /** Who is hit. */
    enum Fault {
        BROKER_KILLED,
        LINK_CUT,
        POSTGRES_KILLED
    }

    private static PostgresProcess postgres;
    private static PostgresLink link;
    private static BrokerProcess broker;
    private static int runs;

    private final String queue = "fault-" + runs++;

    @BeforeAll
    static void start() throws IOException, InterruptedException {
        postgres = PostgresProcess.start();
        link = new PostgresLink("127.0.0.1", postgres.port());
        broker = BrokerProcess.start(link.port(), SETTINGS);
    }

    @AfterAll
    static void stop() throws IOException {
        broker.close();
        link.close();
        postgres.close();
    }

    @AfterEach
    void awaitBroker() {
        broker.awaitReady();
    }

    private void schedule() throws SQLException {
        postgres.execute(
                """
                select *
                from queen.timer_schedule(
                    array_fill('%1$s'::text, array[%2$d]),
                    array(select 'k' || i from generate_series(1, %2$d) i),
                    array(select i::text from generate_series(1, %2$d) i),
                    array(select clock_timestamp() + i * interval '1 ms'
                          from generate_series(1, %2$d) i),
                    array(select 'p' || i %% 4 from generate_series(1, %2$d) i))
                """
                        .formatted(queue, TIMERS));
    }

    private void awaitEachOnce() throws SQLException {
        Await.until(
                "all timers are fired",
                () -> {
                    try (Connection connection = postgres.connect()) {
                        return Lines.line(connection, "select count(*) from queen_store.timers")
                                .equals("0");
                    }
                });
        try (Connection connection = postgres.connect()) {
            assertEquals(
                    TIMERS + "|" + TIMERS,
                    Lines.line(
                            connection,
                            "select count(*), count(distinct payload) from queen.messages"
                                    + " where queue = '%s'".formatted(queue)));
        }
    }

    @ParameterizedTest
    @EnumSource
    @Contract("timer-21")
    void whoeverDiesAfterAClaimEachTimerIsFiredOnce(Fault fault) throws Exception {
        strike("fire_timers", PostgresLink.Point.REQUEST, fault);
    }

    @ParameterizedTest
    @EnumSource
    @Contract("timer-21")
    void whoeverDiesBetweenTheCommitAndItsAnswerEachTimerIsFiredOnce(Fault fault) throws Exception {
        strike("fire_timers", PostgresLink.Point.ANSWER, fault);
    }

    @Test
    @Contract("timer-21")
    void aClaimWhoseAnswerIsLostEndsByItself() throws Exception {
        strike("claim_timers", PostgresLink.Point.ANSWER, Fault.LINK_CUT);
    }

    private void strike(String procedure, PostgresLink.Point point, Fault fault) throws Exception {
        PostgresLink.Halt halt = link.haltAt(procedure, point);
        schedule();
        halt.awaitReached();
        switch (fault) {
            case BROKER_KILLED -> {
                broker.kill();
                halt.cut();
                broker.relaunch();
            }
            case LINK_CUT -> halt.cut();
            case POSTGRES_KILLED -> {
                postgres.kill();
                halt.cut();
                postgres.restart();
            }
        }
        awaitEachOnce();
    }
}
