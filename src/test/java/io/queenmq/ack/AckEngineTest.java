package io.queenmq.ack;

import static io.queenmq.testkit.ConsumeEngine.item;
import static io.queenmq.testkit.ConsumeEngine.leased;
import static io.queenmq.testkit.ConsumeEngine.messages;
import static io.queenmq.testkit.ConsumeEngine.payloads;
import static io.queenmq.testkit.ConsumeEngine.queueMode;
import static io.queenmq.testkit.ConsumeEngine.sized;
import static io.queenmq.testkit.ConsumeEngine.waiting;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.micrometer.core.instrument.Counter;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Caller;
import io.queenmq.model.Ids;
import io.queenmq.model.Names;
import io.queenmq.pop.PopRequest;
import io.queenmq.pop.PopResult;
import io.queenmq.runtime.Clock;
import io.queenmq.testkit.ConsumeEngine;
import io.queenmq.testkit.ConsumeEngine.Message;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class AckEngineTest {
    private static final String INVALID = "invalid or expired lease";

    private static ConsumeEngine engine;

    @BeforeAll
    static void start() {
        engine = new ConsumeEngine();
    }

    @AfterAll
    static void stop() {
        engine.close();
    }

    @Test
    void anAckOfAllThatWasDeliveredNeedsNoSearch() {
        engine.push("whole", "a", "1", "2", "3");
        long remembered = engine.deliveries.bytes();
        PopResult result = engine.pop(queueMode("whole"));
        Counter byKey = engine.metrics.counter("queen_ack_by_key_total", "");
        double before = byKey.count();
        List<AckResult> acks = engine.ack(queueMode("whole"), result, AckStatus.COMPLETED);
        assertEquals(before, byKey.count());
        assertEquals(new AckResult(true, null, true, false, false), acks.getFirst());
        assertEquals(3, acks.size());
        assertEquals(remembered, engine.deliveries.bytes());
        acks = engine.ack(queueMode("whole"), result, AckStatus.COMPLETED);
        assertEquals(new AckResult(true, null, false, false, true), acks.getFirst(), "repeated");
        assertEquals(PopResult.EMPTY, engine.pop(queueMode("whole")));
    }

    /** Its acks name no lease, as many clients send them; the lease stands beside them. */
    @Test
    void aTransactionThatNamesTheLeaseOnceLeavesNothingToRemember() {
        engine.push("bundle", "a", "1", "2", "3");
        engine.push("bundle", "b", "1");
        PopRequest request = queueMode("bundle");
        PopResult other = engine.pop(sized(request, 1, 1));
        long remembered = engine.deliveries.bytes();
        PopResult result = engine.pop(request);
        assertNotEquals(remembered, engine.deliveries.bytes());
        Message last = messages(result).getLast();
        TransactionAcks acks =
                engine.ack.enlist(
                        Caller.DEFAULT_TENANT,
                        List.of(
                                new TransactionAcks.Item(
                                        request.group(),
                                        Ids.partitionId(last.lane()),
                                        last.transactionId(),
                                        null,
                                        AckStatus.COMPLETED,
                                        null)),
                        List.of(String.valueOf(other.leaseId()), String.valueOf(result.leaseId())));
        PopResult.Lane lane = result.lanes().getFirst();
        int queueId = engine.lane("bundle", lane.partition()).queueId();
        TransactionAcks.outcome(
                List.of(acks), 0, "done", true, false, lane.groupId(), queueId, 2, 2, 0, 0, 0, 0);
        acks.committed();
        assertEquals(remembered, engine.deliveries.bytes(), "the other lease is still held");
    }

    @Test
    @Contract({"ack-rule-5", "limit-3"})
    void singleAcksOfABatchKeepTheLeaseUntilTheLast() {
        engine.push("parts", "a", "1", "2", "3");
        PopResult result = engine.pop(queueMode("parts"));
        List<Message> delivered = messages(result);
        for (int i = 0; i < 3; i++) {
            AckResult ack = ackOne(delivered.get(i), result.leaseId(), AckStatus.COMPLETED);
            assertTrue(ack.success());
            assertEquals(i == 2, ack.leaseReleased());
        }
    }

    @Test
    @Contract({"option-4", "retry-6"})
    void aFailedMessageComesAgainAtOnceWithThoseBehindIt() throws Exception {
        engine.push("failing", "a", "1", "2", "3");
        PopRequest request = queueMode("failing");
        PopResult result = engine.pop(request);
        CompletableFuture<PopResult> waiter =
                CompletableFuture.supplyAsync(
                        () -> engine.pop(waiting(request, Duration.ofSeconds(60))),
                        Executors.newVirtualThreadPerTaskExecutor());
        List<Message> delivered = messages(result);
        List<AckResult> acks =
                engine.ack.ack(
                        Caller.DEFAULT_TENANT,
                        Names.QUEUE_MODE,
                        List.of(
                                item(delivered.get(0), result.leaseId(), AckStatus.COMPLETED),
                                item(delivered.get(1), result.leaseId(), AckStatus.FAILED),
                                item(delivered.get(2), result.leaseId(), AckStatus.COMPLETED)));
        assertTrue(acks.stream().allMatch(AckResult::success));
        assertEquals(List.of("2", "3"), payloads(waiter.get(30, TimeUnit.SECONDS)));
    }

    @Test
    @Contract("retry-7")
    void aPoisonMessageCostsOnlyItself() {
        List<String> pushed = new ArrayList<>();
        for (int i = 1; i <= 10; i++) {
            pushed.add("m" + i);
        }
        engine.push("poison", "a", pushed.toArray(String[]::new));
        int deliveries = 0;
        while (true) {
            PopResult result = engine.pop(queueMode("poison"));
            if (result.lanes().isEmpty()) {
                break;
            }
            deliveries++;
            List<AckItem> items = new ArrayList<>();
            for (Message message : messages(result)) {
                items.add(
                        item(
                                message,
                                result.leaseId(),
                                message.payload().equals("m4")
                                        ? AckStatus.FAILED
                                        : AckStatus.COMPLETED));
            }
            engine.ack.ack(Caller.DEFAULT_TENANT, Names.QUEUE_MODE, items);
        }
        assertTrue(deliveries <= 5, "delivered " + deliveries + " times");
        List<?> dead =
                engine.rows("select transaction_id from queen_store.dead_letters").stream()
                        .map(row -> row[0])
                        .toList();
        assertEquals(List.of("m4"), dead);
    }

    @Test
    @Contract("ack-rule-1")
    void onlyTheCurrentHolderCounts() {
        engine.push("holder", "a", "1");
        PopRequest request = leased(queueMode("holder"), 1);
        PopResult first = engine.pop(request);
        PopResult second = engine.pop(waiting(request, Duration.ofSeconds(20)));
        assertNotEquals(first.leaseId(), second.leaseId());
        assertEquals(
                INVALID,
                ackOne(messages(first).getFirst(), first.leaseId(), AckStatus.FAILED).error());
        assertEquals(
                INVALID,
                ackOne(messages(first).getFirst(), first.leaseId(), AckStatus.COMPLETED).error());
        assertEquals(
                new AckResult(true, null, true, false, false),
                ackOne(messages(second).getFirst(), second.leaseId(), AckStatus.COMPLETED));
        assertEquals(PopResult.EMPTY, engine.pop(request));
    }

    /** Either the ack succeeds and nothing comes again, or it is refused and the message does. */
    @Test
    @Contract("ack-rule-1")
    void anAckThatRacesTheExpiryIsEitherCountedOrRefused() throws Exception {
        int rounds = 60;
        for (int i = 0; i < rounds; i++) {
            engine.push("race" + i, "a", "1");
        }
        List<CompletableFuture<Void>> races = new ArrayList<>();
        for (int i = 0; i < rounds; i++) {
            PopRequest request = leased(queueMode("race" + i), 1);
            PopResult first = engine.pop(request);
            Message message = messages(first).getFirst();
            var threads = Executors.newVirtualThreadPerTaskExecutor();
            CyclicBarrier expiry = new CyclicBarrier(2);
            CompletableFuture<PopResult> again =
                    CompletableFuture.supplyAsync(
                            () -> {
                                meet(expiry);
                                return engine.pop(waiting(request, Duration.ofSeconds(3)));
                            },
                            threads);
            CompletableFuture<AckResult> ack =
                    CompletableFuture.supplyAsync(
                            () -> {
                                // The extension of nobody's lease takes a while, as a handler does.
                                meet(expiry);
                                long until = System.nanoTime() + 995_000_000L;
                                while (System.nanoTime() < until) {
                                    engine.ack.extend(
                                            Caller.DEFAULT_TENANT,
                                            new UUID(0x7000, 1L << 63).toString(),
                                            1);
                                }
                                return ackOne(message, first.leaseId(), AckStatus.COMPLETED);
                            },
                            threads);
            races.add(
                    again.thenCombine(
                            ack,
                            (redelivered, result) -> {
                                assertNotEquals(
                                        result.success(),
                                        !redelivered.lanes().isEmpty(),
                                        () -> "ack " + result + " redelivered " + redelivered);
                                return null;
                            }));
        }
        for (CompletableFuture<Void> race : races) {
            race.get(60, TimeUnit.SECONDS);
        }
    }

    @Test
    void whatCannotActSaysWhy() {
        engine.push("reasons", "a", "1", "2");
        PopResult result = engine.pop(sized(queueMode("reasons"), 1, 1));
        Message message = messages(result).getFirst();
        assertEquals(
                "invalid partitionId",
                one(new AckItem("1", "no uuid", null, AckStatus.COMPLETED, null)).error());
        assertEquals(
                "invalid partitionId",
                one(new AckItem("1", null, null, AckStatus.COMPLETED, null)).error());
        assertEquals(
                "partition not owned by tenant",
                one(new AckItem(
                                "1",
                                Ids.partitionId(1L << 35).toString(),
                                null,
                                AckStatus.COMPLETED,
                                null))
                        .error());
        assertEquals(INVALID, one(withLease(message, "nonsense")).error());
        assertEquals(
                INVALID, ackOne(message, new UUID(0x7000, 1L << 63), AckStatus.COMPLETED).error());
        assertEquals(
                "unresolvable: transaction not in the ack window (hash purged or never pushed); if"
                        + " leased, the message redelivers",
                one(new AckItem(
                                "never",
                                Ids.partitionId(message.lane()).toString(),
                                null,
                                AckStatus.COMPLETED,
                                null))
                        .error());
        assertEquals(
                "consumer not found",
                engine.ack
                        .ack(
                                Caller.DEFAULT_TENANT,
                                "stranger",
                                List.of(item(message, null, AckStatus.COMPLETED)))
                        .getFirst()
                        .error());
        assertEquals(
                "partition not owned by tenant",
                engine.ack
                        .ack(
                                new UUID(1, 2),
                                Names.QUEUE_MODE,
                                List.of(item(message, null, AckStatus.COMPLETED)))
                        .getFirst()
                        .error());
        assertTrue(ackOne(message, result.leaseId(), AckStatus.COMPLETED).success());
        assertEquals(
                "already committed: the cursor moved past this message before this ack",
                ackOne(message, null, AckStatus.FAILED).error());
    }

    @Test
    @Contract("model-6")
    void oneGroupsFailureDoesNotTouchTheOthers() {
        engine.push("mixed", "a", "a1");
        engine.push("mixed", "b", "b1");
        PopResult result = engine.pop(sized(queueMode("mixed"), 10, 2));
        List<Message> delivered = messages(result);
        List<AckResult> acks =
                engine.ack.ack(
                        Caller.DEFAULT_TENANT,
                        Names.QUEUE_MODE,
                        List.of(
                                item(delivered.get(0), result.leaseId(), AckStatus.COMPLETED),
                                withLease(delivered.get(1), UUID.randomUUID().toString()),
                                item(delivered.get(1), result.leaseId(), AckStatus.COMPLETED)));
        assertTrue(acks.get(0).success());
        assertEquals(INVALID, acks.get(1).error());
        assertTrue(acks.get(2).success());
    }

    @Test
    void aLockedCursorDelaysOnlyItsOwnAck() throws Exception {
        engine.push("locked", "a", "1");
        engine.push("free", "a", "1");
        PopResult locked = engine.pop(queueMode("locked"));
        PopResult free = engine.pop(queueMode("free"));
        CompletableFuture<List<AckResult>> waiting;
        try (Connection holder = engine.server.connect()) {
            holder.setAutoCommit(false);
            TestDatabase.rows(
                    holder,
                    "select 1 from queen_store.cursors where partition_id = ? for update",
                    locked.lanes().getFirst().partitionNumber());
            waiting =
                    CompletableFuture.supplyAsync(
                            () -> engine.ack(queueMode("locked"), locked, AckStatus.COMPLETED),
                            Executors.newVirtualThreadPerTaskExecutor());
            assertTrue(
                    engine.ack(queueMode("free"), free, AckStatus.COMPLETED).getFirst().success());
            assertFalse(waiting.isDone());
            holder.rollback();
        }
        assertTrue(waiting.get(30, TimeUnit.SECONDS).getFirst().success());
    }

    @Test
    @Contract("limit-2")
    void anAckIsAnsweredThoughItsCursorStaysLocked() throws Exception {
        engine.push("stuck", "a", "1");
        PopResult stuck = engine.pop(queueMode("stuck"));
        AckConfig usual = AckConfig.DEFAULT;
        try (Metrics metrics = new Metrics();
                Ack hasty =
                        new Ack(
                                new AckConfig(
                                        usual.deliveriesBytesMax(),
                                        usual.batchesPerCall(),
                                        usual.messagesPerCall(),
                                        usual.flushers(),
                                        Duration.ofMillis(300)),
                                engine.database,
                                engine.counts,
                                engine.ready,
                                engine.deliveries,
                                metrics,
                                Clock.SYSTEM);
                Connection holder = engine.server.connect()) {
            hasty.start();
            holder.setAutoCommit(false);
            TestDatabase.rows(
                    holder,
                    "select 1 from queen_store.cursors where partition_id = ? for update",
                    stuck.lanes().getFirst().partitionNumber());
            CompletableFuture<List<AckResult>> answer =
                    CompletableFuture.supplyAsync(
                            () ->
                                    hasty.ack(
                                            queueMode("stuck").tenant(),
                                            queueMode("stuck").group(),
                                            List.of(
                                                    ConsumeEngine.item(
                                                            messages(stuck).getFirst(),
                                                            stuck.leaseId(),
                                                            AckStatus.COMPLETED))),
                            Executors.newVirtualThreadPerTaskExecutor());
            assertFalse(answer.get(60, TimeUnit.SECONDS).getFirst().success());
        }
    }

    @Test
    void anExtensionKeepsTheLeaseAndRevivesNone() {
        engine.push("extend", "a", "1");
        PopRequest request = leased(queueMode("extend"), 1);
        PopResult result = engine.pop(request);
        UUID lease = result.leaseId();
        assertNotNull(lease);
        LeaseExtension extension = engine.ack.extend(Caller.DEFAULT_TENANT, lease.toString(), 60);
        assertEquals(1, extension.renewed());
        assertNotNull(extension.expiresAt());
        assertEquals(
                PopResult.EMPTY, engine.pop(waiting(request, Duration.ofMillis(1_500))), "held");
        assertTrue(engine.ack(request, result, AckStatus.COMPLETED).getFirst().leaseReleased());
        LeaseExtension late = engine.ack.extend(Caller.DEFAULT_TENANT, lease.toString(), 60);
        assertEquals(0, late.renewed());
        assertNull(late.expiresAt());
        assertEquals(0, engine.ack.extend(Caller.DEFAULT_TENANT, "no lease at all", 60).renewed());
    }

    private static AckItem withLease(Message message, String leaseId) {
        return new AckItem(
                message.transactionId(),
                Ids.partitionId(message.lane()).toString(),
                leaseId,
                AckStatus.COMPLETED,
                null);
    }

    private static AckResult ackOne(
            Message message, @org.jspecify.annotations.Nullable UUID leaseId, AckStatus status) {
        return one(item(message, leaseId, status));
    }

    private static AckResult one(AckItem item) {
        return engine.ack.ack(Caller.DEFAULT_TENANT, Names.QUEUE_MODE, List.of(item)).getFirst();
    }

    private static void meet(CyclicBarrier barrier) {
        try {
            barrier.await(30, TimeUnit.SECONDS);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
