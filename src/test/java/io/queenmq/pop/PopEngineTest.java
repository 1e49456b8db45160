package io.queenmq.pop;

import static io.queenmq.testkit.ConsumeEngine.auto;
import static io.queenmq.testkit.ConsumeEngine.leased;
import static io.queenmq.testkit.ConsumeEngine.messages;
import static io.queenmq.testkit.ConsumeEngine.payloads;
import static io.queenmq.testkit.ConsumeEngine.queueMode;
import static io.queenmq.testkit.ConsumeEngine.request;
import static io.queenmq.testkit.ConsumeEngine.sized;
import static io.queenmq.testkit.ConsumeEngine.starting;
import static io.queenmq.testkit.ConsumeEngine.waiting;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.ack.AckStatus;
import io.queenmq.model.Names;
import io.queenmq.testkit.Await;
import io.queenmq.testkit.ConsumeEngine;
import io.queenmq.testkit.Contract;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class PopEngineTest {
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
    void deliversALaneInOrderUnderALease() {
        engine.push("ordered", "a", "1", "2", "3");
        PopResult result = engine.pop(queueMode("ordered"));
        assertNotNull(result.leaseId());
        assertEquals(List.of("1", "2", "3"), payloads(result));
        assertEquals(1, result.lanes().getFirst().attempt());
        assertEquals("ordered", result.lanes().getFirst().queue());
        assertEquals("a", result.lanes().getFirst().partition());
        assertEquals(
                PopResult.EMPTY, engine.pop(queueMode("ordered")), "one holder per lane and group");
    }

    @Test
    @Contract("pop-first-7")
    void aPopOfAnUnknownQueueMakesItsRowAndPinnedOrDiscoveryDoNot() {
        assertEquals(PopResult.EMPTY, engine.pop(queueMode("made.by.pop")));
        assertEquals(
                1,
                engine.rows("select 1 from queen_store.queues where name = 'made.by.pop'").size());
        engine.pop(request(new PopScope.Partition("not-made", "p"), "g"));
        engine.pop(request(new PopScope.Labels("no-such-label", ""), "g"));
        assertEquals(
                0, engine.rows("select 1 from queen_store.queues where name = 'not-made'").size());
    }

    @Test
    @Contract("model-6")
    void groupsAreIndependent() {
        engine.push("two-groups", "a", "1", "2");
        PopRequest first = request(new PopScope.Queue("two-groups"), "first");
        PopRequest second = request(new PopScope.Queue("two-groups"), "second");
        assertEquals(List.of("1", "2"), payloads(engine.pop(first)));
        PopResult other = engine.pop(second);
        assertEquals(List.of("1", "2"), payloads(other));
        engine.ack(second, other, AckStatus.COMPLETED);
        engine.push("two-groups", "a", "3");
        assertEquals(List.of("3"), payloads(engine.pop(second)));
        assertEquals(PopResult.EMPTY, engine.pop(first));
    }

    @Test
    @Contract("pop-claim-3")
    void aPopOfSeveralLanesFillsTheBudgetLaneByLane() {
        for (String lane : List.of("a", "b", "c")) {
            engine.push("wide", lane, lane + 1, lane + 2, lane + 3, lane + 4);
        }
        PopResult result = engine.pop(sized(queueMode("wide"), 10, 5));
        assertEquals(3, result.lanes().size());
        assertEquals(10, messages(result).size());
        Map<String, List<String>> byLane = new HashMap<>();
        messages(result)
                .forEach(
                        m ->
                                byLane.computeIfAbsent(m.partition(), k -> new ArrayList<>())
                                        .add(m.payload()));
        byLane.forEach(
                (lane, payloads) -> {
                    for (int i = 0; i < payloads.size(); i++) {
                        assertEquals(lane + (i + 1), payloads.get(i));
                    }
                });
        assertEquals(PopResult.EMPTY, engine.pop(sized(queueMode("wide"), 10, 5)));
    }

    @Test
    void autoAckLeavesNoLeaseAndGoesOn() {
        engine.push("auto", "a", "1", "2", "3");
        PopResult first = engine.pop(auto(sized(queueMode("auto"), 2, 1)));
        assertNull(first.leaseId());
        assertEquals(List.of("1", "2"), payloads(first));
        assertEquals(List.of("3"), payloads(engine.pop(auto(queueMode("auto")))));
        assertEquals(PopResult.EMPTY, engine.pop(auto(queueMode("auto"))));
    }

    @Test
    @Contract("pop-claim-2")
    void anExpiredLeaseIsDeliveredAgainToAParkedPollAndCounted() {
        engine.push("expiring", "a", "1");
        engine.pop(leased(queueMode("expiring"), 1));
        PopResult again = engine.pop(waiting(queueMode("expiring"), Duration.ofSeconds(20)));
        assertEquals(List.of("1"), payloads(again));
        assertEquals(2, again.lanes().getFirst().attempt());
    }

    @Test
    @Contract("pop-wait-1")
    void aWriteWakesAParkedPollEvenOfABrandNewLane() throws Exception {
        PopRequest parked = waiting(queueMode("waking"), Duration.ofSeconds(60));
        CompletableFuture<PopResult> answer = park(parked);
        engine.push("waking", "new lane", "1");
        assertEquals(List.of("1"), payloads(answer.get(30, TimeUnit.SECONDS)));
    }

    @Test
    @Contract("pop-first-8")
    void aPinnedPollWaitsForALaneThatDoesNotExistAndGetsTheMessageThatMakesIt() throws Exception {
        PopRequest parked =
                starting(
                        waiting(
                                request(new PopScope.Partition("later", "lane"), "g"),
                                Duration.ofSeconds(60)),
                        new StartAt.Now());
        CompletableFuture<PopResult> answer = park(parked);
        engine.push("later", "another lane", "0");
        engine.push("later", "lane", "1");
        assertEquals(List.of("1"), payloads(answer.get(30, TimeUnit.SECONDS)));
    }

    @Test
    @Contract("pop-wait-1")
    void pinnedPopsServeTheirLaneOnlyAndWakeOnTheRelease() throws Exception {
        engine.push("pinned", "a", "a1", "a2");
        engine.push("pinned", "b", "b1");
        PopRequest pinned = request(new PopScope.Partition("pinned", "a"), Names.QUEUE_MODE);
        PopResult first = engine.pop(sized(pinned, 1, 1));
        assertEquals(List.of("a1"), payloads(first));
        CompletableFuture<PopResult> second = park(waiting(pinned, Duration.ofSeconds(60)));
        engine.ack(pinned, first, AckStatus.COMPLETED);
        assertEquals(List.of("a2"), payloads(second.get(30, TimeUnit.SECONDS)));
    }

    @Test
    void discoveryFindsQueuesByLabelsAndThoseThatAppearWhileItWaits() throws Exception {
        engine.push("disco.one", "a", "1");
        PopRequest discovery = request(new PopScope.Labels("disco", ""), Names.QUEUE_MODE);
        PopResult result = engine.pop(discovery);
        assertEquals("disco.one", result.lanes().getFirst().queue());
        CompletableFuture<PopResult> answer =
                park(
                        starting(
                                waiting(
                                        request(new PopScope.Labels("disco", ""), "late"),
                                        Duration.ofSeconds(60)),
                                new StartAt.Now()));
        engine.push("disco.two", "b", "2");
        assertEquals(List.of("2"), payloads(answer.get(30, TimeUnit.SECONDS)));
    }

    @Test
    void aNewGroupBeginsAtTheEndUnlessAskedOtherwise() {
        engine.push("begin", "a", "old");
        PopRequest fresh = starting(request(new PopScope.Queue("begin"), "new"), new StartAt.Now());
        assertEquals(PopResult.EMPTY, engine.pop(fresh));
        engine.push("begin", "a", "young");
        assertEquals(List.of("young"), payloads(engine.pop(fresh)));
    }

    @Test
    @Contract("pop-claim-9")
    void aClientThatHasGoneTakesNothingAndTheNextGetsTheFirstAttempt() throws Exception {
        AtomicReference<Runnable> onGone = new AtomicReference<>();
        AtomicBoolean gone = new AtomicBoolean();
        CountDownLatch parking = new CountDownLatch(1);
        Client client =
                new Client() {
                    @Override
                    public boolean isGone() {
                        return gone.get();
                    }

                    @Override
                    public void onGone(Runnable action) {
                        onGone.set(action);
                        parking.countDown();
                    }
                };
        CompletableFuture<PopResult> answer =
                CompletableFuture.supplyAsync(
                        () ->
                                engine.pop.pop(
                                        waiting(queueMode("leaving"), Duration.ofMinutes(5)),
                                        client),
                        Executors.newVirtualThreadPerTaskExecutor());
        parking.await();
        gone.set(true);
        onGone.get().run();
        assertEquals(PopResult.EMPTY, answer.get(30, TimeUnit.SECONDS));
        engine.push("leaving", "a", "1");
        PopResult result = engine.pop(queueMode("leaving"));
        assertEquals(1, result.lanes().getFirst().attempt());
    }

    @Test
    @Contract("pop-claim-9")
    void whatIsGivenBackIsAtOnceAnotherOnesFirstAttempt() throws Exception {
        engine.push("back", "a", "1");
        PopResult lost = engine.pop(queueMode("back"));
        CompletableFuture<PopResult> waiter =
                park(waiting(queueMode("back"), Duration.ofSeconds(60)));
        engine.pop.giveBack(lost);
        PopResult result = waiter.get(30, TimeUnit.SECONDS);
        assertEquals(List.of("1"), payloads(result));
        assertEquals(1, result.lanes().getFirst().attempt());
    }

    @Test
    void delayedMessagesWakeTheirPollWhenTheyBecomeVisible() throws Exception {
        engine.rows(
                "select 1 from queen_store.configure_queue(?::uuid, 'delayed', false,"
                        + " '{\"delayed_processing_seconds\": 1}')",
                "00000000-0000-0000-0000-000000000001");
        CompletableFuture<PopResult> waiter =
                park(waiting(queueMode("delayed"), Duration.ofSeconds(60)));
        engine.push("delayed", "a", "1");
        assertEquals(List.of("1"), payloads(waiter.get(30, TimeUnit.SECONDS)));
    }

    private static void configure(String queue, String options) {
        engine.rows(
                "select 1 from queen_store.configure_queue(?::uuid, ?, false, ?::jsonb)",
                "00000000-0000-0000-0000-000000000001",
                queue,
                options);
    }

    @Test
    @Contract("pop-window-2")
    void aWindowWakesItsPollWhenItsTimeIsOver() throws Exception {
        configure("window", "{\"window_buffer_seconds\": 1}");
        CompletableFuture<PopResult> waiter =
                park(waiting(queueMode("window"), Duration.ofSeconds(60)));
        engine.push("window", "a", "1");
        engine.push("window", "a", "2");
        assertEquals(List.of("1", "2"), payloads(waiter.get(30, TimeUnit.SECONDS)));
    }

    @Test
    @Contract("pop-window-2")
    void aWindowWakesItsPollOnceAHundredMessagesAreThere() throws Exception {
        configure("full", "{\"window_buffer_seconds\": 3600}");
        CompletableFuture<PopResult> waiter =
                park(waiting(queueMode("full"), Duration.ofSeconds(60)));
        engine.push("full", "a", "0");
        assertEquals(PopResult.EMPTY, engine.pop(queueMode("full")));
        String[] others = new String[99];
        for (int i = 0; i < others.length; i++) {
            others[i] = "" + (i + 1);
        }
        engine.push("full", "a", others);
        assertEquals(100, messages(waiter.get(30, TimeUnit.SECONDS)).size());
    }

    @Test
    @Contract("pop-window-2")
    void aWindowWakesAPollOfItsLaneAlone() throws Exception {
        configure("window-pinned", "{\"window_buffer_seconds\": 1}");
        CompletableFuture<PopResult> waiter =
                park(
                        waiting(
                                request(new PopScope.Partition("window-pinned", "a"), "g"),
                                Duration.ofSeconds(60)));
        engine.push("window-pinned", "a", "1");
        assertEquals(List.of("1"), payloads(waiter.get(30, TimeUnit.SECONDS)));
    }

    @Test
    @Contract("pop-wait-5")
    void aParkedPollGoesOnWhenItsQueueIsDeletedAndMadeAgain() throws Exception {
        engine.push("phoenix", "a", "1");
        PopResult first = engine.pop(queueMode("phoenix"));
        engine.ack(queueMode("phoenix"), first, AckStatus.COMPLETED);
        int queueId = engine.lane("phoenix", "a").queueId();
        CompletableFuture<PopResult> waiter =
                park(waiting(queueMode("phoenix"), Duration.ofSeconds(60)));
        engine.rows(
                "select queen_store.delete_queue(?::uuid, 'phoenix')",
                "00000000-0000-0000-0000-000000000001");
        engine.groups.queueChanged(queueId);
        engine.names.queueChanged(queueId);
        engine.ready.queueChanged(queueId);
        engine.push("phoenix", "a", "2");
        // Whether the poll or the push made the queue again, it is told of the write once more.
        engine.ready.written(List.of(engine.lane("phoenix", "a")));
        assertEquals(List.of("2"), payloads(waiter.get(30, TimeUnit.SECONDS)));
    }

    @Test
    @Contract("pop-param-1")
    void aLargeAnswerIsReadBehindTheClaimAndCutWhereItGetsTooLarge() {
        String payload = "x".repeat(3 << 20);
        for (int i = 0; i < 8; i++) {
            engine.rows("select status from queen.push('large', 'a', ?)", '"' + payload + '"');
        }
        PopResult first = engine.pop(queueMode("large"));
        assertEquals(5, messages(first).size(), "16 MiB hold five of 3 MiB");
        assertEquals(payload, payloads(first).getFirst());
        engine.ack(queueMode("large"), first, AckStatus.COMPLETED);
        assertEquals(3, messages(engine.pop(queueMode("large"))).size());
    }

    @Test
    @Contract("model-4")
    void manyConsumersSeeEveryLaneInOrderAndNothingTwice() throws Exception {
        int lanes = 12;
        int perLane = 40;
        Map<String, List<Integer>> seen = new ConcurrentHashMap<>();
        for (int lane = 0; lane < lanes; lane++) {
            seen.put("lane" + lane, Collections.synchronizedList(new ArrayList<>()));
        }
        AtomicInteger left = new AtomicInteger(lanes * perLane);
        List<Thread> consumers = new ArrayList<>();
        PopRequest request = waiting(sized(queueMode("busy"), 7, 2), Duration.ofSeconds(2));
        for (int i = 0; i < 16; i++) {
            consumers.add(
                    Thread.ofVirtual()
                            .start(
                                    () -> {
                                        while (left.get() > 0) {
                                            PopResult result = engine.pop(request);
                                            for (var m : messages(result)) {
                                                seen.computeIfPresent(
                                                        m.partition(),
                                                        (lane, numbers) -> {
                                                            numbers.add(
                                                                    Integer.parseInt(m.payload()));
                                                            return numbers;
                                                        });
                                                left.decrementAndGet();
                                            }
                                            if (!result.lanes().isEmpty()) {
                                                engine.ack(request, result, AckStatus.COMPLETED);
                                            }
                                        }
                                    }));
        }
        for (int n = 0; n < perLane; n++) {
            for (int lane = 0; lane < lanes; lane++) {
                engine.push("busy", "lane" + lane, Integer.toString(n));
            }
        }
        for (Thread consumer : consumers) {
            consumer.join();
        }
        List<Integer> expected = new ArrayList<>();
        for (int n = 0; n < perLane; n++) {
            expected.add(n);
        }
        seen.forEach((lane, numbers) -> assertEquals(expected, numbers, lane));
    }

    @Test
    @Contract("model-8")
    void everyPopOfACrowdGetsALaneOfItsOwn() throws Exception {
        int lanes = 64;
        for (int lane = 0; lane < lanes; lane++) {
            engine.store("shared", "lane" + lane, "1");
        }
        engine.pop(sized(queueMode("shared"), 1, 1));
        List<CompletableFuture<PopResult>> answers = new ArrayList<>();
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 1; i < lanes; i++) {
                answers.add(
                        CompletableFuture.supplyAsync(
                                () -> engine.pop(sized(queueMode("shared"), 1, 1)), threads));
            }
        }
        Set<Long> lanesServed = new HashSet<>();
        for (CompletableFuture<PopResult> answer : answers) {
            assertTrue(
                    lanesServed.add(answer.get().lanes().getFirst().partitionNumber()),
                    "a lane was served twice");
        }
    }

    @Test
    @Contract("pop-wait-3")
    void thousandsOfParkedPollsHoldNoConnectionAndAreAllAnswered() throws Exception {
        int polls = 2_000;
        List<CompletableFuture<PopResult>> answers = new ArrayList<>();
        for (int i = 0; i < polls; i++) {
            answers.add(
                    CompletableFuture.supplyAsync(
                            () -> engine.pop(waiting(queueMode("crowd"), Duration.ofSeconds(100))),
                            Executors.newVirtualThreadPerTaskExecutor()));
        }
        awaitPolls(polls);
        engine.push("crowd", "a", "1");
        CompletableFuture.anyOf(answers.toArray(CompletableFuture[]::new))
                .get(30, TimeUnit.SECONDS);
        assertEquals(1, answers.stream().filter(CompletableFuture::isDone).count());
        for (int i = 0; i < polls; i++) {
            engine.push("crowd", "lane" + (i % 50), Integer.toString(i));
            if (i >= 49) {
                break;
            }
        }
        engine.ready.queueChanged(engine.lane("crowd", "a").queueId());
        Await.until(
                "an answer for each lane",
                () -> answers.stream().filter(CompletableFuture::isDone).count() >= 51);
    }

    private static CompletableFuture<PopResult> park(PopRequest request) {
        int before = engine.ready.pollCount();
        CompletableFuture<PopResult> answer =
                CompletableFuture.supplyAsync(
                        () -> engine.pop(request), Executors.newVirtualThreadPerTaskExecutor());
        awaitPolls(before + 1);
        return answer;
    }

    private static void awaitPolls(int count) {
        Await.until(count + " parked polls", () -> engine.ready.pollCount() >= count);
    }
}
