package io.queenmq.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Lines;
import io.queenmq.testkit.PostgresLink;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Goal: each timer becomes one message, whoever dies while it is fired. Method: the call that
 * claims or fires stops at one point; there the broker, the link or the server is killed; another
 * broker, or the same one, has to go on. The same for the call of a transaction that schedules one
 * and cancels another. Claims and statements last for a second here.
 */
final class TimerFaultTest {
    private static final int TIMERS = 40;
    private static final Map<String, String> SETTINGS =
            Map.of("QUEEN_SWEEPER_LEASE_MS", "1000", "QUEEN_STMT_TIMEOUT_MS", "1000");

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
                () -> line("select count(*) from queen_store.timers").equals("0"));
        assertEquals(
                TIMERS + "|" + TIMERS,
                line(
                        "select count(*), count(distinct payload) from queen.messages"
                                + " where queue = '%s'".formatted(queue)));
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

    @ParameterizedTest
    @CsvSource({"REQUEST, true", "ANSWER, true", "ANSWER, false"})
    @Contract({"tx-1", "tx-15", "tx-18", "timer-21"})
    void timersOfATransactionAreFiredOnceWhetherItsBrokerIsKilledOrItsAnswerSwallowed(
            PostgresLink.Point point, boolean killed) throws Exception {
        postgres.execute(
                "select * from queen.timer_schedule('%s', 'old', '1', p_delay => '1 hour')"
                        .formatted(queue));
        PostgresLink.Halt halt = link.haltAt("transact", point);
        CompletableFuture<Map<?, ?>> sent = CompletableFuture.supplyAsync(this::transact);
        halt.awaitReached();
        if (killed) {
            broker.kill();
            halt.cut();
            broker.restart();
            Map<?, ?> again = transact();
            assertEquals(
                    point == PostgresLink.Point.REQUEST ? "true null" : "false duplicate",
                    again.get("success") + " " + again.get("reason"));
        } else {
            halt.swallow();
            assertEquals(true, sent.join().get("success"));
        }
        Await.until(
                "one is cancelled, the other fired",
                () -> line("select count(*) from queen_store.timers").equals("0"));
        assertEquals(
                "\"pushed\" at once, \"timer\" later",
                line(
                        "select string_agg(payload || ' ' || transaction_id, ', ' order by payload)"
                                + " from queen.messages where queue = '%s'".formatted(queue)));
    }

    private static String line(String sql) throws SQLException {
        try (Connection connection = postgres.connect()) {
            return Lines.line(connection, sql);
        }
    }

    private Map<?, ?> transact() {
        try {
            return assertInstanceOf(
                    Map.class,
                    new Http(broker.url())
                            .call(
                                    "POST",
                                    "/api/v1/transaction",
                                    """
                                    {"operations":[{"type":"push","queue":"%1$s","payload":"pushed",
                                       "transactionId":"at once"}],
                                     "timers":[{"op":"cancel","queue":"%1$s","key":"old"},
                                       {"op":"schedule","queue":"%1$s","key":"new","txn":"later",
                                        "delaySeconds":0,"payload":"timer"}]}"""
                                            .formatted(queue))
                            .body());
        } catch (IOException e) {
            throw new CompletionException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new CompletionException(e);
        }
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
