package io.queenmq.pop;

import static io.queenmq.testkit.ConsumeEngine.auto;
import static io.queenmq.testkit.ConsumeEngine.payloads;
import static io.queenmq.testkit.ConsumeEngine.queueMode;
import static io.queenmq.testkit.ConsumeEngine.request;
import static io.queenmq.testkit.ConsumeEngine.sized;
import static io.queenmq.testkit.ConsumeEngine.waiting;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.model.Names;
import io.queenmq.ready.Poll;
import io.queenmq.testkit.Await;
import io.queenmq.testkit.ConsumeEngine;
import io.queenmq.testkit.Contract;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Polls of a queue whose under-full batches are held. That one holds is seen from its thread, which
 * is parked although there are messages: any other would have returned them.
 */
@Timeout(120)
class PopHoldTest {
    private static final Duration LONG = Duration.ofMinutes(10);

    /** The longest there is; what ends a hold earlier has to do so well within it. */
    private static final int LONGEST = 60_000;

    private static final int WELL_WITHIN_SECONDS = 40;

    private ConsumeEngine engine;

    @BeforeEach
    void start() {
        engine = new ConsumeEngine();
    }

    @AfterEach
    void stop() {
        engine.close();
    }

    /** A pop on a thread of its own. */
    private final class Poller implements Client {
        private final CompletableFuture<PopResult> result = new CompletableFuture<>();
        private final AtomicBoolean gone = new AtomicBoolean();
        private final AtomicReference<Runnable> onGone = new AtomicReference<>(() -> {});
        private final Thread thread;

        Poller(PopRequest request) {
            thread =
                    Thread.ofPlatform()
                            .start(
                                    () -> {
                                        try {
                                            result.complete(engine.pop.pop(request, this));
                                        } catch (RuntimeException e) {
                                            result.completeExceptionally(e);
                                        }
                                    });
        }

        @Override
        public boolean isGone() {
            return gone.get();
        }

        @Override
        public void onGone(Runnable action) {
            onGone.set(action);
        }

        Poller awaitParked() {
            Await.until(
                    "the poll to park",
                    () -> result.isDone() || LockSupport.getBlocker(thread) instanceof Poll);
            assertFalse(result.isDone(), "it returned");
            return this;
        }

        PopResult soon() throws Exception {
            return result.get(WELL_WITHIN_SECONDS, TimeUnit.SECONDS);
        }

        void leave() {
            gone.set(true);
            onGone.get().run();
        }
    }

    private void hold(String queue, int millis) {
        engine.rows(
                "update queen_store.queues set min_pop_wait_ms = ? where name = ? returning id",
                millis,
                queue);
    }

    private void assertNoLease() {
        assertEquals(
                0,
                engine.rows("select 1 from queen_store.cursors where lease_id is not null").size());
    }

    private static PopRequest batch(String queue, int batch) {
        return waiting(sized(queueMode(queue), batch, 1), LONG);
    }

    @Test
    @Contract({"pop-fill-1", "pop-fill-2"})
    void anUnderFullBatchIsHeldWithoutALeaseUntilItIsFull() throws Exception {
        engine.push("q", "a", "1");
        hold("q", LONGEST);
        Poller poller = new Poller(batch("q", 3)).awaitParked();
        assertNoLease();
        engine.push("q", "a", "2");
        poller.awaitParked();
        engine.push("q", "a", "3", "4");
        assertEquals(List.of("1", "2", "3"), payloads(poller.soon()));
    }

    @Test
    @Contract("pop-fill-1")
    void aFullBatchIsDeliveredAtOnce() throws Exception {
        engine.push("q", "a", "1", "2", "3");
        hold("q", LONGEST);
        assertEquals(List.of("1", "2"), payloads(new Poller(batch("q", 2)).soon()));
    }

    @Test
    @Contract("pop-fill-1")
    void theHoldEndsAfterTheTimeOfTheQueue() throws Exception {
        engine.push("q", "a", "1");
        hold("q", 50);
        assertEquals(List.of("1"), payloads(new Poller(batch("q", 100)).soon()));
    }

    @Test
    @Contract("pop-fill-1")
    void theHoldEndsWithThePatienceOfThePoll() throws Exception {
        engine.push("q", "a", "1");
        hold("q", LONGEST);
        PopRequest request = waiting(batch("q", 100), Duration.ofMillis(50));
        assertEquals(List.of("1"), payloads(new Poller(request).soon()));
    }

    @Test
    @Contract("pop-fill-1")
    void aParkedPollBeginsToHoldWithTheFirstMessage() throws Exception {
        engine.pop(queueMode("q"));
        hold("q", LONGEST);
        engine.groups.everythingChanged();
        Poller poller = new Poller(batch("q", 2)).awaitParked();
        engine.push("q", "a", "1");
        engine.push("q", "b", "1");
        PopRequest several = waiting(sized(queueMode("q"), 2, 0), LONG);
        assertEquals(2, payloads(new Poller(several).soon()).size(), "neither has been taken");
        poller.awaitParked();
    }

    @Test
    @Contract("pop-fill-1")
    void theBatchFillsOverAsManyLanesAsThePollAllows() throws Exception {
        engine.push("q", "a", "1");
        engine.push("q", "b", "2");
        hold("q", LONGEST);
        Poller one = new Poller(waiting(sized(queueMode("q"), 4, 2), LONG)).awaitParked();
        Poller all = new Poller(waiting(sized(queueMode("q"), 4, 0), LONG)).awaitParked();
        engine.push("q", "c", "3", "4");
        assertEquals(Set.of("1", "2", "3", "4"), new TreeSet<>(payloads(all.soon())));
        one.awaitParked();
    }

    @Test
    @Contract("pop-fill-3")
    void whoDoesNotHoldIsServedPastAPollThatDoes() throws Exception {
        engine.push("q", "a", "1");
        hold("q", LONGEST);
        Poller holder = new Poller(batch("q", 3)).awaitParked();
        PopScope queue = new PopScope.Queue("q");
        PopRequest pinned = request(new PopScope.Partition("q", "a"), "pinned");
        assertEquals(
                List.of("1"),
                payloads(engine.pop(waiting(sized(pinned, 3, 1), LONG))),
                "a pop of the partition");
        assertEquals(List.of("1"), payloads(engine.pop(request(queue, "other"))));
        assertEquals(List.of("1"), payloads(engine.pop(auto(sized(queueMode("q"), 3, 1)))));
        holder.awaitParked();
        Poller single = new Poller(auto(batch("q", 1))).awaitParked();
        engine.push("q", "a", "2");
        assertEquals(List.of("2"), payloads(single.soon()), "a batch of one is never under-full");
        holder.awaitParked();
    }

    @Test
    @Contract("pop-fill-3")
    void twoThatHoldDoNotHinderEachOther() throws Exception {
        engine.push("q", "a", "1");
        hold("q", LONGEST);
        Poller first = new Poller(auto(batch("q", 3))).awaitParked();
        Poller second = new Poller(auto(batch("q", 3))).awaitParked();
        engine.push("q", "a", "2", "3", "4", "5", "6");
        Set<String> all = new TreeSet<>(payloads(first.soon()));
        assertEquals(3, all.size());
        all.addAll(payloads(second.soon()));
        assertEquals(Set.of("1", "2", "3", "4", "5", "6"), all);
    }

    @Test
    @Contract("pop-fill-2")
    void aClientThatLeavesMeanwhileTakesNothing() throws Exception {
        engine.push("q", "a", "1");
        hold("q", LONGEST);
        Poller poller = new Poller(batch("q", 3)).awaitParked();
        poller.leave();
        assertTrue(poller.soon().lanes().isEmpty());
        assertNoLease();
        PopResult next = engine.pop(queueMode("q"));
        assertEquals(List.of("1"), payloads(next));
        assertEquals(1, next.lanes().getFirst().attempt());
    }

    @Test
    void aLaneThatComesBackIsCounted() throws Exception {
        // A claim does not place cursors in some lanes while others deliver: each has one already.
        engine.push("q", "a", "0");
        engine.pop(auto(queueMode("q")));
        engine.push("q", "a", "1");
        engine.push("q", "b", "1", "2", "3");
        hold("q", LONGEST);
        engine.groups.everythingChanged();
        PopResult taken = engine.pop(request(new PopScope.Partition("q", "b"), Names.QUEUE_MODE));
        Poller poller = new Poller(waiting(sized(queueMode("q"), 4, 0), LONG)).awaitParked();
        engine.pop.giveBack(taken);
        assertEquals(4, payloads(poller.soon()).size());
    }

    @Test
    void aChangedOptionIsHeededByWhoHolds() throws Exception {
        engine.push("q", "a", "1");
        hold("q", LONGEST);
        Poller poller = new Poller(batch("q", 3)).awaitParked();
        hold("q", 0);
        int queueId = engine.lane("q", "a").queueId();
        engine.groups.queueChanged(queueId);
        engine.ready.queueChanged(queueId);
        assertEquals(List.of("1"), payloads(poller.soon()));
    }
}
