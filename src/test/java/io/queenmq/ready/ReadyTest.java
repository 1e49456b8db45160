package io.queenmq.ready;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.hint.HintOutbox;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Caller;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import io.queenmq.testkit.Contract;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ReadyTest {
    private static final int QUEUE = 1;
    private static final int GROUP = 1;

    private final Metrics metrics = new Metrics();
    private final List<LaneSource.Found> stored = new ArrayList<>();
    private final AtomicInteger readings = new AtomicInteger();
    private final ReadyLanes ready =
            new ReadyLanes(
                    new ReadyConfig(
                            20_000,
                            Duration.ofMillis(200),
                            Duration.ofMillis(50),
                            Duration.ofSeconds(1),
                            Duration.ofMinutes(10),
                            Duration.ofMinutes(10),
                            10_000),
                    (queueId, groupId, after, limit) -> {
                        readings.incrementAndGet();
                        return List.copyOf(stored);
                    },
                    new HintOutbox(),
                    metrics,
                    Clock.SYSTEM);

    @AfterEach
    void stop() {
        ready.close();
        metrics.close();
    }

    @Test
    void firstUseReadsTheTablesOnce() {
        stored.add(new LaneSource.Found(5, 9, Instant.EPOCH, null));
        GroupLanes lanes = ready.lanes(QUEUE, GROUP, 1);
        assertArrayEquals(new long[] {5}, lanes.take(false, 10));
        ready.lanes(QUEUE, GROUP, 1);
        assertEquals(1, readings.get());
    }

    @Test
    void aLaneWhoseLeaseHasEndedIsReadyAtTheFirstUse() {
        stored.add(new LaneSource.Found(5, 9, Instant.EPOCH, Instant.EPOCH));
        stored.add(new LaneSource.Found(6, 9, Instant.EPOCH, Instant.now().plusSeconds(3600)));
        assertArrayEquals(new long[] {5}, ready.lanes(QUEUE, GROUP, 1).take(false, 10));
    }

    @Test
    void aLaneThatWaitsForItsWindowIsReadyWhenTheMessageHasComeThatFillsIt() {
        GroupLanes lanes = ready.lanes(QUEUE, GROUP, 1);
        write(42, 0);
        lanes.take(false, 1);
        lanes.deferred(42, 0, Instant.now().plusSeconds(3600), 99);
        write(42, 98);
        assertEquals(0, lanes.take(false, 1).length);
        write(42, 99);
        assertArrayEquals(new long[] {42}, lanes.take(false, 1));
    }

    @Test
    void aWindowThatFilledWhileItsClaimWasUnderWayIsNotWaitedFor() {
        GroupLanes lanes = ready.lanes(QUEUE, GROUP, 1);
        write(42, 0);
        lanes.take(false, 1);
        write(42, 99);
        lanes.deferred(42, 0, Instant.now().plusSeconds(3600), 99);
        assertArrayEquals(new long[] {42}, lanes.take(false, 1));
    }

    @Test
    void writesReachEveryGroupInUseAndNoOther() {
        GroupLanes first = ready.lanes(QUEUE, 1, 1);
        GroupLanes second = ready.lanes(QUEUE, 2, 1);
        GroupLanes elsewhere = ready.lanes(2, 1, 1);
        write(42, 0);
        assertArrayEquals(new long[] {42}, first.take(false, 1));
        assertArrayEquals(new long[] {42}, second.take(false, 1));
        assertEquals(0, elsewhere.take(false, 1).length);
    }

    @Test
    void everyWriteIsTakenWhateverTheRaceWithParking() throws Exception {
        int rounds = 20_000;
        // Writes before the first use are found by the reading of the tables, which are empty here.
        ready.lanes(QUEUE, GROUP, 1);
        BlockingQueue<Long> taken = new LinkedBlockingQueue<>();
        List<Thread> consumers = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            consumers.add(Thread.ofVirtual().start(() -> consume(taken)));
        }
        for (long lane = 1; lane <= rounds; lane++) {
            write(lane, 0);
            if (lane % 3 == 0) {
                // Lets the consumers run dry and park, so that the next write meets them there.
                assertTrue(taken.poll(30, TimeUnit.SECONDS) != null);
                assertTrue(taken.poll(30, TimeUnit.SECONDS) != null);
                assertTrue(taken.poll(30, TimeUnit.SECONDS) != null);
            }
        }
        assertTrue(taken.poll(30, TimeUnit.SECONDS) != null);
        assertTrue(taken.poll(30, TimeUnit.SECONDS) != null);
        ready.stopPolls();
        for (Thread consumer : consumers) {
            consumer.join();
        }
    }

    @Test
    void newsOfAQueueOutlivesAnotherWake() {
        Poll poll = ready.open();
        ready.enterDiscovery(Caller.DEFAULT_TENANT, poll);
        poll.wake();
        write(1, 0);
        poll.rearm();
        assertTrue(poll.hasNews());
        assertTrue(poll.takeNews());
        assertFalse(poll.hasNews());
        ready.leaveDiscovery(Caller.DEFAULT_TENANT, poll);
        ready.close(poll);
    }

    @Test
    @Contract("pop-wait-4")
    void wakesAsManyPollsAsLanesAreReadyInTheOrderOfTheirArrival() throws Exception {
        GroupLanes lanes = ready.lanes(QUEUE, GROUP, 1);
        ConcurrentLinkedQueue<Integer> woken = new ConcurrentLinkedQueue<>();
        CountDownLatch two = new CountDownLatch(2);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            int name = i;
            CountDownLatch parked = new CountDownLatch(1);
            threads.add(
                    Thread.ofVirtual()
                            .start(
                                    () -> {
                                        Poll poll = ready.open();
                                        assertTrue(lanes.park(poll));
                                        parked.countDown();
                                        poll.await(Long.MAX_VALUE / 2);
                                        if (!ready.isStopping()) {
                                            assertEquals(
                                                    1, lanes.take(lanes.leave(poll), 1).length);
                                            woken.add(name);
                                        }
                                        two.countDown();
                                        lanes.leave(poll);
                                        lanes.pass();
                                        ready.close(poll);
                                    }));
            parked.await();
        }
        write(1, 0);
        write(2, 0);
        two.await();
        assertEquals(List.of(0, 1), woken.stream().sorted().toList());
        ready.stopPolls();
        for (Thread thread : threads) {
            thread.join();
        }
        assertEquals(2, woken.size());
        assertEquals(0, ready.pollCount());
    }

    @Test
    @Contract("pop-wait-4")
    void aPollThatLeavesAfterItsWakePassesItOn() throws Exception {
        GroupLanes lanes = ready.lanes(QUEUE, GROUP, 1);
        Poll leaving = ready.open();
        assertTrue(lanes.park(leaving));
        CountDownLatch parked = new CountDownLatch(1);
        LinkedBlockingQueue<Long> taken = new LinkedBlockingQueue<>();
        Thread second =
                Thread.ofVirtual()
                        .start(
                                () -> {
                                    Poll poll = ready.open();
                                    lanes.park(poll);
                                    parked.countDown();
                                    poll.await(Long.MAX_VALUE / 2);
                                    taken.add(lanes.take(lanes.leave(poll), 1)[0]);
                                    ready.close(poll);
                                });
        parked.await();
        write(9, 0);
        assertTrue(leaving.isWoken());
        assertEquals(0, lanes.take(false, 1).length, "the lane is the woken poll's");
        lanes.leave(leaving);
        lanes.pass();
        assertEquals(9, taken.poll(30, TimeUnit.SECONDS));
        second.join();
    }

    @Test
    void aHeldLaneWakesAParkedPollWhenItIsDue() {
        GroupLanes lanes = ready.lanes(QUEUE, GROUP, 1);
        write(1, 3);
        assertEquals(1, lanes.take(false, 1).length);
        lanes.held(1, 3, Instant.now().plusSeconds(3_600));
        Poll poll = ready.open();
        assertTrue(lanes.park(poll));
        assertTrue(poll.await(Clock.SYSTEM.nanos() + TimeUnit.SECONDS.toNanos(30)));
        assertArrayEquals(new long[] {1}, lanes.take(lanes.leave(poll), 1));
    }

    @Test
    void thousandsOfPollsParkOnVirtualThreadsAndAllAreAnsweredAtTheStop() throws Exception {
        int polls = 10_000;
        CountDownLatch parked = new CountDownLatch(polls);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < polls; i++) {
            GroupLanes lanes = ready.lanes(i % 100, GROUP, 1);
            threads.add(
                    Thread.ofVirtual()
                            .start(
                                    () -> {
                                        Poll poll = ready.open();
                                        lanes.park(poll);
                                        parked.countDown();
                                        poll.await(Long.MAX_VALUE / 2);
                                        lanes.leave(poll);
                                        lanes.pass();
                                        ready.close(poll);
                                    }));
        }
        parked.await();
        ready.stopPolls();
        for (Thread thread : threads) {
            thread.join();
        }
        assertEquals(0, ready.pollCount());
    }

    @Test
    @Contract("pop-wait-6")
    void refusesThePollBeyondTheBound() {
        List<Poll> polls = new ArrayList<>();
        for (int i = 0; i < 20_000; i++) {
            polls.add(ready.open());
        }
        QueenException refusal = assertThrows(QueenException.class, ready::open);
        assertEquals(Failure.OVERLOADED, refusal.failure());
        polls.forEach(ready::close);
        ready.close(ready.open());
    }

    @Test
    void aPinnedPollByNameIsWokenByTheFirstWriteOfTheLane() {
        Poll poll = ready.open();
        ready.enterNamed(Caller.DEFAULT_TENANT, "orders", "later", poll);
        write(1, 0);
        assertFalse(poll.isWoken());
        ready.written(
                List.of(
                        new LaneWrites.Lane(
                                Caller.DEFAULT_TENANT, QUEUE, "orders", 77, "later", 0)));
        assertTrue(poll.isWoken());
        ready.close(poll);
    }

    @Test
    void aPinnedPollPassesOnAWakeItDoesNotUse() {
        Poll first = ready.open();
        Poll second = ready.open();
        ready.enterPinned(QUEUE, GROUP, 5, first);
        ready.enterPinned(QUEUE, GROUP, 5, second);
        write(5, 0);
        assertTrue(first.isWoken());
        assertFalse(second.isWoken());
        ready.leavePinned(GROUP, 5, first, true);
        assertTrue(second.isWoken());
    }

    @Test
    void discoveryPollsLookAgainOnceForEveryQueueTheyHearOf() {
        Poll poll = ready.open();
        ready.enterDiscovery(Caller.DEFAULT_TENANT, poll);
        write(1, 0);
        assertTrue(poll.isWoken());
        poll.rearm();
        write(1, 1);
        assertFalse(poll.isWoken());
        ready.queueChanged(QUEUE);
        assertTrue(poll.isWoken());
        ready.leaveDiscovery(Caller.DEFAULT_TENANT, poll);
    }

    private void consume(BlockingQueue<Long> taken) {
        GroupLanes lanes = ready.lanes(QUEUE, GROUP, 1);
        Poll poll = ready.open();
        while (!ready.isStopping()) {
            boolean called = lanes.leave(poll);
            poll.rearm();
            for (long lane : lanes.take(called, 1)) {
                lanes.empty(lane, 0);
                taken.add(lane);
            }
            if (lanes.park(poll) && !ready.isStopping()) {
                poll.await(Long.MAX_VALUE / 2);
            }
        }
        lanes.leave(poll);
        lanes.pass();
        ready.close(poll);
    }

    private void write(long lane, long offset) {
        ready.written(
                List.of(
                        new LaneWrites.Lane(
                                Caller.DEFAULT_TENANT, QUEUE, "orders", lane, "p" + lane, offset)));
    }
}
