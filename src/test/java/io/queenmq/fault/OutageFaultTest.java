package io.queenmq.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Await;
import java.io.IOException;
import java.net.URI;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Goal: a broker outlives whatever its database does, says meanwhile what is so, and needs nobody's
 * help afterwards. Method: under load the database takes no writes, is gone until many pushes have
 * been refused, ends all connections, or has too few of them for its brokers; the same process has
 * to go on, and what waited in it has to be served.
 */
final class OutageFaultTest {
    private static final int LANES = 8;

    private static PostgresProcess postgres;

    private BrokerProcess broker;
    private ExecutorService threads;

    @BeforeAll
    static void startDatabase() throws IOException, InterruptedException {
        postgres = PostgresProcess.start();
    }

    @AfterAll
    static void stopDatabase() throws IOException {
        postgres.close();
    }

    @BeforeEach
    void start() throws IOException {
        threads = Executors.newVirtualThreadPerTaskExecutor();
        broker = BrokerProcess.start(postgres.port());
    }

    @AfterEach
    void stop() throws IOException {
        threads.shutdownNow();
        broker.close();
    }

    private Workload load(String queue, BrokerProcess... brokers) {
        Workload workload =
                new Workload(
                                queue,
                                LANES,
                                List.of(brokers).stream()
                                        .map(BrokerProcess::url)
                                        .toArray(URI[]::new))
                        .spread();
        workload.start(4, 2);
        workload.consume(Consumer.Manner.STEP_BY_STEP);
        workload.consume(Consumer.Manner.AT_MOST_ONCE);
        return workload;
    }

    private static void assertWordKept(Workload workload, String queue)
            throws InterruptedException, SQLException {
        workload.books().awaitAccepted(200);
        workload.finish();
        Stored.awaitAcknowledged(postgres, workload);
        assertEquals(Set.of(), workload.books().violations());
        Stored.assertExactly(postgres, queue, LANES, workload.books());
        Stored.assertSound(postgres, queue);
    }

    private void awaitUnhealthy() {
        Http http = new Http(broker.url());
        Await.until(
                "a broker that says it is of no use now",
                () -> http.call("GET", "/health", "").status() == 503);
        assertTrue(broker.isAlive());
    }

    /** Waits for a message; a poll whose time is over is followed by the next, as clients do. */
    private Future<List<Map<String, Object>>> popLater(BrokerProcess at, String queue) {
        String pop = "/api/v1/pop/queue/" + queue + "?wait=true&timeout=30000&batch=1";
        return threads.submit(
                () -> {
                    Http.Answer answer;
                    do {
                        answer = new Http(at.url()).call("GET", pop, "");
                    } while (answer.status() == 204);
                    return answer.messages();
                });
    }

    private static void push(BrokerProcess at, String queue, String id)
            throws IOException, InterruptedException {
        Http.Answer answer =
                new Http(at.url())
                        .call(
                                "POST",
                                "/api/v1/push",
                                "{\"items\":[" + Workload.item(queue, 0, id, 0) + "]}");
        assertEquals("queued", answer.results().getFirst().get("status"));
    }

    @Test
    void aServerThatTakesNoWritesIsNeitherTrustedNorGivenUp()
            throws IOException, InterruptedException, SQLException {
        try (Workload workload = load("read-only", broker)) {
            workload.books().awaitAccepted(100);
            postgres.execute("alter system set default_transaction_read_only = on");
            postgres.execute("select pg_reload_conf()");
            awaitUnhealthy();
            for (int refused = 0; refused < 5; refused++) {
                workload.books().awaitRefused();
            }
            postgres.execute("alter system reset default_transaction_read_only");
            postgres.execute("select pg_reload_conf()");
            broker.awaitReady();
            assertWordKept(workload, "read-only");
            // A server that refuses says so: nobody was left to wonder.
            assertEquals(0, workload.books().inDoubt());
        }
    }

    @Test
    void aLongOutageEndsNoLoopAndNoPoll()
            throws IOException, InterruptedException, SQLException, ExecutionException {
        try (Workload workload = load("gone-for-long", broker)) {
            workload.books().awaitAccepted(100);
            push(broker, "parked", "before");
            assertEquals(1, popOne("parked"));
            Future<List<Map<String, Object>>> parked = popLater(broker, "parked");
            postgres.kill();
            awaitUnhealthy();
            for (int refused = 0; refused < 20; refused++) {
                workload.books().awaitRefused();
            }
            postgres.restart();
            broker.awaitReady();
            workload.books().awaitAccepted(100);
            push(broker, "parked", "after");
            assertEquals("after", parked.get().getFirst().get("transactionId"));
            assertWordKept(workload, "gone-for-long");
        }
    }

    /** Pops and acknowledges; returns the number of messages. */
    private int popOne(String queue) throws IOException, InterruptedException {
        return new Http(broker.url())
                .call("GET", "/api/v1/pop/queue/" + queue + "?autoAck=true", "")
                .messages()
                .size();
    }

    @Test
    void brokersThatLostEveryConnectionTellEachOtherAgain()
            throws IOException, InterruptedException, SQLException, ExecutionException {
        try (BrokerProcess other = BrokerProcess.start(postgres.port())) {
            for (int times = 0; times < 3; times++) {
                postgres.execute(
                        "select pg_terminate_backend(pid, 10000) from pg_stat_activity"
                                + " where application_name like 'queen-%'");
                broker.awaitReady();
                other.awaitReady();
                List<Future<List<Map<String, Object>>>> polls = new ArrayList<>();
                for (int queue = 0; queue < 10; queue++) {
                    polls.add(popLater(other, "told-" + times + "-" + queue));
                }
                for (int queue = 0; queue < 10; queue++) {
                    push(broker, "told-" + times + "-" + queue, "t");
                }
                for (Future<List<Map<String, Object>>> poll : polls) {
                    assertEquals(1, poll.get().size());
                }
            }
        }
    }

    @Test
    void aServerWithTooFewConnectionsIsSharedAndNobodyEnds()
            throws IOException, InterruptedException, SQLException {
        try (BrokerProcess other =
                        BrokerProcess.start(postgres.port(), Map.of("DB_POOL_SIZE", "12"));
                Workload workload = load("crowded", broker, other)) {
            workload.books().awaitAccepted(100);
            postgres.kill();
            postgres.restart("max_connections=22");
            workload.books().awaitAccepted(200);
            postgres.kill();
            workload.books().awaitRefused();
            postgres.restart("max_connections=200");
            broker.awaitReady();
            other.awaitReady();
            assertWordKept(workload, "crowded");
        }
    }

    @Test
    void aBrokerThatStartsFirstWaitsForItsDatabase()
            throws IOException, InterruptedException, SQLException {
        broker.kill();
        postgres.kill();
        broker.relaunch();
        Await.until(
                "a broker that waits for its database",
                () -> broker.log().contains("waiting for the database"));
        postgres.restart();
        broker.awaitReady();
        push(broker, "patient", "t");
        Stored.assertSound(postgres, "patient");
    }
}
