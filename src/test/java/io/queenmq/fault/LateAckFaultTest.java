package io.queenmq.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Lines;
import io.queenmq.testkit.PostgresLink;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Goal: a worker that has lost its lease is told so, and nothing that it says afterwards counts.
 * Method: its call is held on the way from its broker to the database, or the whole broker stands
 * still, until another worker has the lease at another broker; then it goes on. In the last test
 * acks and the end of a thousand leases meet.
 */
final class LateAckFaultTest {
    private static final String LOST = "invalid or expired lease";

    private static PostgresProcess postgres;
    private static PostgresLink link;
    private static BrokerProcess first;
    private static BrokerProcess second;
    private static ExecutorService threads;

    @BeforeAll
    static void start() throws IOException, InterruptedException {
        threads = Executors.newVirtualThreadPerTaskExecutor();
        postgres = PostgresProcess.start();
        link = new PostgresLink("127.0.0.1", postgres.port());
        first = BrokerProcess.start(link.port());
        second = BrokerProcess.start(postgres.port());
    }

    @AfterAll
    static void stop() throws IOException {
        threads.shutdownNow();
        second.close();
        first.close();
        link.close();
        postgres.close();
    }

    /** Four messages of a queue where the first failure counts, leased for a second. */
    private static List<Map<String, Object>> lease(String queue)
            throws IOException, InterruptedException {
        Http http = new Http(first.url());
        Http.Answer configured =
                http.call(
                        "POST",
                        "/api/v1/configure",
                        "{\"queue\":\"%s\",\"options\":{\"retryLimit\":0}}".formatted(queue));
        assertEquals(200, configured.status());
        List<String> items = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            items.add(Workload.item(queue, 0, queue + i, i));
        }
        http.call("POST", "/api/v1/push", "{\"items\":[" + String.join(",", items) + "]}");
        return pop(first, queue, 1);
    }

    /** Waits for the messages, which may be leased to somebody else. */
    private static List<Map<String, Object>> pop(BrokerProcess broker, String queue, int seconds)
            throws IOException, InterruptedException {
        List<Map<String, Object>> messages =
                new Http(broker.url())
                        .call(
                                "GET",
                                "/api/v1/pop/queue/%s?wait=true&batch=4&leaseSeconds=%d"
                                        .formatted(queue, seconds),
                                "")
                        .messages();
        assertEquals(4, messages.size());
        return messages;
    }

    private static Future<List<Map<String, Object>>> ackLater(
            BrokerProcess broker, List<Map<String, Object>> messages, String status) {
        return threads.submit(() -> ack(broker, messages, status));
    }

    private static List<Map<String, Object>> ack(
            BrokerProcess broker, List<Map<String, Object>> messages, String status)
            throws IOException, InterruptedException {
        return new Http(broker.url())
                .call("POST", "/api/v1/ack/batch", Consumer.acks(messages, status))
                .results();
    }

    /** All that an ack could change. */
    private static List<String> state(String queue) throws SQLException {
        try (Connection connection = postgres.connect()) {
            return Lines.lines(
                    connection,
                    """
                    select c.*, (select count(*) from queen_store.dead_letters d
                                 where d.partition_id = c.partition_id)
                    from queen_store.cursors c
                    join queen_store.partitions p on p.id = c.partition_id
                    join queen_store.queues q on q.id = p.queue_id
                    where q.name = '%s'
                    """
                            .formatted(queue));
        }
    }

    private static void assertRefused(List<Map<String, Object>> results) {
        for (Map<String, Object> result : results) {
            assertEquals(false, result.get("success"));
            assertEquals(LOST, result.get("error"));
            assertEquals(false, result.get("leaseReleased"));
            assertEquals(false, result.get("dlq"));
        }
    }

    private static void assertEnded(String queue, List<Map<String, Object>> messages)
            throws IOException, InterruptedException, SQLException {
        for (Map<String, Object> result : ack(second, messages, "completed")) {
            assertEquals(true, result.get("success"));
            assertEquals(false, result.get("noop"));
        }
        assertEquals(
                204, new Http(second.url()).call("GET", "/api/v1/pop/queue/" + queue, "").status());
        Stored.assertSound(postgres, queue);
    }

    @ParameterizedTest(name = "{0} {1} of {2}")
    @CsvSource({
        "ack_batches, completed, 4",
        "ack_messages, completed, 2",
        "ack_messages, failed, 1",
        "ack_messages, failed, 4",
        "ack_messages, retry, 1",
        "ack_messages, dlq, 1",
    })
    void anAckThatArrivesAfterTheLeaseWasTakenOverChangesNothing(
            String procedure, String status, int count)
            throws IOException, InterruptedException, SQLException, ExecutionException {
        String queue = "late-" + status + count;
        List<Map<String, Object>> lost = lease(queue);
        PostgresLink.Halt halt = link.haltAt(procedure, PostgresLink.Point.REQUEST);
        Future<List<Map<String, Object>>> late = ackLater(first, lost.subList(0, count), status);
        halt.awaitReached();
        List<Map<String, Object>> taken = pop(second, queue, 600);
        List<String> before = state(queue);
        halt.pass();
        assertRefused(late.get());
        assertEquals(before, state(queue));
        assertEnded(queue, taken);
    }

    @Test
    @Contract("lease-3")
    void anExtensionThatArrivesAfterTheLeaseWasTakenOverChangesNothing()
            throws IOException, InterruptedException, SQLException, ExecutionException {
        List<Map<String, Object>> lost = lease("late-extension");
        PostgresLink.Halt halt = link.haltAt("extend_lease", PostgresLink.Point.REQUEST);
        Future<Http.Answer> late =
                threads.submit(
                        () ->
                                new Http(first.url())
                                        .call(
                                                "POST",
                                                "/api/v1/lease/%s/extend"
                                                        .formatted(lost.getFirst().get("leaseId")),
                                                "{\"seconds\":600}"));
        halt.awaitReached();
        List<Map<String, Object>> taken = pop(second, "late-extension", 60);
        List<String> before = state("late-extension");
        halt.pass();
        assertEquals(
                "false 0",
                late.get().body() instanceof Map<?, ?> body
                        ? body.get("success") + " " + body.get("renewed")
                        : "");
        assertEquals(before, state("late-extension"));
        assertEnded("late-extension", taken);
    }

    @ParameterizedTest
    @CsvSource({"completed", "failed"})
    @Contract("ack-rule-1")
    void anAckOfABrokerThatStoodStillChangesNothing(String status)
            throws IOException, InterruptedException, SQLException, ExecutionException {
        String queue = "frozen-" + status;
        List<Map<String, Object>> lost = lease(queue);
        first.freeze();
        Future<List<Map<String, Object>>> late;
        List<Map<String, Object>> taken;
        List<String> before;
        try {
            late = ackLater(first, lost, status);
            taken = pop(second, queue, 600);
            before = state(queue);
        } finally {
            first.thaw();
        }
        assertRefused(late.get());
        assertEquals(before, state(queue));
        assertEnded(queue, taken);
    }

    @Test
    @Contract("ack-rule-1")
    void lateAcksOfAMessageThatWasGivenUpMeanwhileChangeNothing()
            throws IOException, InterruptedException, SQLException {
        List<Map<String, Object>> lost = lease("given-up");
        List<Map<String, Object>> taken = pop(second, "given-up", 600);
        List<Map<String, Object>> poison = taken.subList(0, 1);
        assertEquals(true, ack(second, poison, "failed").getFirst().get("dlq"));
        List<String> before = state("given-up");
        for (String status : List.of("failed", "completed", "retry", "dlq")) {
            assertRefused(ack(first, lost, status));
            assertRefused(ack(first, lost.subList(0, 1), status));
        }
        assertEquals(before, state("given-up"));
    }

    /** Whichever comes first, the ack or the end of the lease: never both, never neither. */
    @Test
    @Contract("ack-rule-1")
    void everyAckEitherCountsOrItsMessageComesAgain()
            throws IOException, InterruptedException, SQLException, ExecutionException {
        int lanes = 1_000;
        List<String> items = new ArrayList<>();
        for (int lane = 0; lane < lanes; lane++) {
            items.add(Workload.item("raced", lane, "raced" + lane, 0));
        }
        Http http = new Http(first.url());
        http.call("POST", "/api/v1/push", "{\"items\":[" + String.join(",", items) + "]}");
        List<Map<String, Object>> leased = new ArrayList<>();
        while (leased.size() < lanes) {
            leased.addAll(
                    http.call(
                                    "GET",
                                    "/api/v1/pop/queue/raced?wait=true&batch=1000&partitions=1000"
                                            + "&leaseSeconds=3",
                                    "")
                            .messages());
        }
        awaitSomeExpired();
        Set<Object> counted = ConcurrentHashMap.newKeySet();
        List<Future<?>> acks = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            List<Map<String, Object>> mine = leased.subList(i * lanes / 4, (i + 1) * lanes / 4);
            Http worker = new Http(i % 2 == 0 ? first.url() : second.url());
            acks.add(threads.submit(() -> ackEach(worker, mine, counted)));
        }
        Set<Object> again = new HashSet<>();
        Http other = new Http(second.url());
        boolean acking = true;
        while (acking || again.size() + counted.size() < lanes) {
            acking = acks.stream().anyMatch(ack -> !ack.isDone());
            other.call(
                            "GET",
                            "/api/v1/pop/queue/raced?wait=true&timeout=500&batch=100&partitions=100"
                                    + "&leaseSeconds=600",
                            "")
                    .messages()
                    .forEach(message -> again.add(message.get("transactionId")));
        }
        for (Future<?> ack : acks) {
            ack.get();
        }
        System.out.println("acks that counted: " + counted.size() + " of " + lanes);
        assertEquals(lanes, counted.size() + again.size());
        again.retainAll(counted);
        assertEquals(Set.of(), again);
    }

    private static void awaitSomeExpired() throws SQLException {
        try (Connection connection = postgres.connect()) {
            Await.until(
                    "the end of the first leases to be near",
                    () ->
                            Lines.line(
                                            connection,
                                            """
                                            select min(c.lease_expires_at) - interval '200 ms'
                                                < clock_timestamp()
                                            from queen_store.cursors c
                                            join queen_store.partitions p on p.id = c.partition_id
                                            join queen_store.queues q on q.id = p.queue_id
                                            where q.name = 'raced'
                                            """)
                                    .equals("t"));
        }
    }

    private static Void ackEach(Http http, List<Map<String, Object>> messages, Set<Object> counted)
            throws IOException, InterruptedException {
        for (Map<String, Object> message : messages) {
            Map<String, Object> result =
                    http.call(
                                    "POST",
                                    "/api/v1/ack/batch",
                                    Consumer.acks(List.of(message), "completed"))
                            .results()
                            .getFirst();
            if (Boolean.TRUE.equals(result.get("success"))) {
                counted.add(message.get("transactionId"));
            } else {
                assertTrue(LOST.equals(result.get("error")), result::toString);
            }
        }
        return null;
    }
}
