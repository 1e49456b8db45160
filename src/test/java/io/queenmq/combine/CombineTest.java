package io.queenmq.combine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class CombineTest {
    private record Job(String tenant, String queue, String key, int items, int bytes, int number)
            implements Work<String> {
        Job(String key, int number) {
            this("t", "q", key, 1, 100, number);
        }
    }

    /** Calls wait at a gate; what they saw and what failed is on record. */
    private static final class Gated implements Flush<String, Job> {
        final Semaphore gate = new Semaphore(0);
        final LinkedBlockingQueue<List<Job>> started = new LinkedBlockingQueue<>();
        final LinkedBlockingQueue<List<Job>> served = new LinkedBlockingQueue<>();
        final LinkedBlockingQueue<Job> alone = new LinkedBlockingQueue<>();
        final LinkedBlockingQueue<Failure> failures = new LinkedBlockingQueue<>();
        final Map<String, Integer> busyTimes = new ConcurrentHashMap<>();
        volatile String poison = "";

        @Override
        public void together(List<Bundle<String, Job>> bundles) {
            List<Job> jobs = bundles.stream().flatMap(b -> b.works().stream()).toList();
            started.add(jobs);
            gate.acquireUninterruptibly();
            if (jobs.stream().anyMatch(job -> job.key().equals(poison))) {
                throw new QueenException(Failure.INTERNAL, "poisoned");
            }
            for (Bundle<String, Job> bundle : bundles) {
                if (busyTimes.merge(bundle.key(), -1, Integer::sum) >= 0) {
                    bundle.busy();
                }
            }
            served.add(jobs);
        }

        @Override
        public void alone(Bundle<String, Job> bundle) {
            if (busyTimes.merge(bundle.key(), -1, Integer::sum) >= 0) {
                bundle.busy();
            } else {
                alone.addAll(bundle.works());
            }
        }

        @Override
        public void failed(Bundle<String, Job> bundle, QueenException failure) {
            bundle.works().forEach(work -> failures.add(failure.failure()));
        }
    }

    private final Gated flush = new Gated();
    private Combiner<String, Job> combiner =
            combiner(1, CombinerConfig.CALL, CombinerConfig.ROOM, Clock.SYSTEM);

    private Combiner<String, Job> combiner(
            int flushers, CombinerConfig.Call call, CombinerConfig.Room room, Clock clock) {
        Combiner<String, Job> made =
                new Combiner<>(
                        new CombinerConfig("test", flushers, 1, call, room, Duration.ofSeconds(1)),
                        flush,
                        clock);
        made.start();
        return made;
    }

    private void use(int flushers, CombinerConfig.Call call, CombinerConfig.Room room) {
        use(flushers, call, room, Clock.SYSTEM);
    }

    private void use(
            int flushers, CombinerConfig.Call call, CombinerConfig.Room room, Clock clock) {
        combiner.stop(Duration.ZERO);
        combiner = combiner(flushers, call, room, clock);
    }

    /** Time that stands still until a test moves it. */
    private static final class StandingClock implements Clock {
        final AtomicLong nanos = new AtomicLong();

        @Override
        public Instant now() {
            return Instant.EPOCH;
        }

        @Override
        public long nanos() {
            return nanos.get();
        }
    }

    @AfterEach
    void stop() {
        flush.gate.release(1_000_000);
        combiner.stop(Duration.ZERO);
    }

    private void submit(Job... jobs) {
        combiner.submit(List.of(jobs), Clock.SYSTEM.nanos() + TimeUnit.SECONDS.toNanos(20));
    }

    /** Occupies the only flusher, so that what follows has to wait. */
    private void occupy() throws InterruptedException {
        submit(new Job("occupied", 0));
        flush.started.take();
    }

    private List<Job> nextCall() throws InterruptedException {
        flush.gate.release();
        return flush.started.take();
    }

    private static List<String> keys(List<Job> jobs) {
        return jobs.stream().map(Job::key).toList();
    }

    @Test
    void idleFlusherServesALoneWorkAtOnce() throws InterruptedException {
        submit(new Job("a", 1));
        assertEquals(List.of("a"), keys(flush.started.take()));
    }

    @Test
    void whatWaitsIsServedByOneCallInOrder() throws InterruptedException {
        occupy();
        submit(new Job("a", 1));
        submit(new Job("b", 2), new Job("a", 3));
        assertEquals(
                List.of(1, 3, 2), nextCall().stream().map(Job::number).toList(), "a twice, then b");
    }

    @Test
    void keyInFlightIsNotServedTwice() throws InterruptedException {
        use(2, CombinerConfig.CALL, CombinerConfig.ROOM);
        submit(new Job("a", 1));
        flush.started.take();
        submit(new Job("a", 2));
        submit(new Job("b", 3));
        assertEquals(List.of("b"), keys(flush.started.take()), "the other flusher passes a by");
        flush.gate.release(2);
        assertEquals(List.of("a"), keys(flush.started.take()));
    }

    @Test
    void nextCallWaitsUntilItIsMuchLargerThanWhatIsUnderWay() throws InterruptedException {
        use(3, CombinerConfig.CALL, CombinerConfig.ROOM, new StandingClock());
        submit(new Job("a", 1));
        flush.started.take();
        submit(new Job("b", 1));
        submit(new Job("c", 1), new Job("d", 1));
        submit(new Job("e", 1));
        assertEquals(List.of("b", "c", "d", "e"), keys(flush.started.take()));
    }

    @Test
    void fewKeysWaitForCompanyNoLongerThanAShortTime() throws InterruptedException {
        StandingClock clock = new StandingClock();
        use(2, CombinerConfig.CALL, CombinerConfig.ROOM, clock);
        submit(new Job("a", 1), new Job("b", 1), new Job("c", 1));
        flush.started.take();
        submit(new Job("d", 1));
        clock.nanos.set(TimeUnit.MILLISECONDS.toNanos(20));
        assertEquals(List.of("d"), keys(flush.started.take()));
    }

    @Test
    void whatDidNotGetCompanyGoesWhenTheCallsAreDone() throws InterruptedException {
        use(2, CombinerConfig.CALL, CombinerConfig.ROOM, new StandingClock());
        submit(new Job("a", 1), new Job("b", 1), new Job("c", 1));
        flush.started.take();
        submit(new Job("d", 1));
        flush.gate.release();
        assertEquals(List.of("d"), keys(flush.started.take()));
    }

    @Test
    void turnsGoRoundTenantsThenQueues() throws InterruptedException {
        use(1, new CombinerConfig.Call(3, 5_000, 4 << 20, 1 << 20), CombinerConfig.ROOM);
        occupy();
        for (int i = 0; i < 10; i++) {
            submit(new Job("loud", "q1", "l1-" + i, 1, 100, i));
            submit(new Job("loud", "q2", "l2-" + i, 1, 100, i));
        }
        submit(new Job("quiet", "q", "s0", 1, 100, 0));
        assertEquals(List.of("l1-0", "s0", "l2-0"), keys(nextCall()));
        assertEquals(List.of("l1-1", "l2-1", "l1-2"), keys(nextCall()));
    }

    @Test
    void callStaysWithinItsBounds() throws InterruptedException {
        use(1, new CombinerConfig.Call(4, 10, 1_000, 800), CombinerConfig.ROOM);
        occupy();
        for (int i = 0; i < 6; i++) {
            submit(new Job("t", "q", "k" + i, 1, 100, i));
        }
        assertEquals(4, nextCall().size(), "keys");
        submit(new Job("t", "q", "items", 8, 100, 0));
        submit(new Job("t", "q", "bytes", 1, 700, 0));
        submit(new Job("t", "q", "rest", 1, 700, 0));
        assertEquals(List.of("k4", "k5", "items"), keys(nextCall()), "8 + 2 items");
        assertEquals(List.of("bytes"), keys(nextCall()), "700 + 700 bytes would be too many");
        assertEquals(List.of("rest"), keys(nextCall()));
    }

    @Test
    void largeWorkGoesAloneAndHoldsOneFlusherAtMost() throws InterruptedException {
        use(2, new CombinerConfig.Call(100, 5_000, 1_000, 500), CombinerConfig.ROOM);
        submit(
                new Job("t", "q", "large1", 1, 900, 1),
                new Job("t", "q", "large2", 1, 900, 2),
                new Job("t", "q", "large3", 1, 900, 3));
        assertEquals(List.of("large1"), keys(flush.started.take()));
        submit(new Job("small", 4));
        assertEquals(List.of("small"), keys(flush.started.take()));
        assertTrue(flush.started.isEmpty());
        flush.gate.release(2);
        assertEquals(List.of("large2"), keys(flush.started.take()));
        flush.gate.release(1);
        assertEquals(List.of("large3"), keys(flush.started.take()));
    }

    @Test
    void busyKeyGoesAloneAfterThreeTimesAndKeepsItsOrder() throws InterruptedException {
        flush.busyTimes.put("held", 5);
        flush.gate.release(1_000);
        submit(new Job("held", 1));
        submit(new Job("held", 2));
        submit(new Job("free", 3));
        assertEquals(1, flush.alone.take().number());
        assertEquals(2, flush.alone.take().number());
        long together =
                flush.served.stream().flatMap(List::stream).filter(j -> j.number() == 1).count();
        assertEquals(3, together);
    }

    @Test
    void onlyTheGuiltyOneOfAFailedCallFails() throws InterruptedException {
        occupy();
        flush.poison = "bad";
        submit(new Job("a", 1));
        submit(new Job("bad", 2));
        submit(new Job("a", 3));
        submit(new Job("c", 4));
        flush.gate.release(1_000);
        assertEquals(Failure.INTERNAL, flush.failures.take());
        List<Integer> served = new ArrayList<>();
        while (served.size() < 4) {
            flush.served.take().forEach(job -> served.add(job.number()));
        }
        served.sort(null);
        assertEquals(List.of(0, 1, 3, 4), served);
        assertTrue(flush.failures.isEmpty());
    }

    @Test
    void withdrawnWorkIsNeverServed() throws InterruptedException {
        occupy();
        Job job = new Job("a", 1);
        submit(job);
        submit(new Job("b", 2));
        assertTrue(combiner.withdraw(job));
        assertFalse(combiner.withdraw(job));
        assertEquals(List.of("b"), keys(nextCall()));
        assertFalse(combiner.withdraw(new Job("b", 2)), "it is in a call");
    }

    @Test
    void callersWaitForRoomThenAreRefused() throws InterruptedException {
        use(
                1,
                CombinerConfig.CALL,
                new CombinerConfig.Room(2, 1 << 20, 1, 10, Duration.ofMillis(50)));
        occupy();
        submit(new Job("a", 1));
        QueenException refused =
                assertThrows(QueenException.class, () -> submit(new Job("b", 2), new Job("c", 3)));
        assertEquals(Failure.OVERLOADED, refused.failure());
        assertEquals(1, combiner.refused());
        assertEquals(List.of("a"), keys(nextCall()), "nothing of the refused one was accepted");
    }

    @Test
    void roomMadeWakesAWaitingCaller() throws InterruptedException {
        use(
                1,
                CombinerConfig.CALL,
                new CombinerConfig.Room(1, 1 << 20, 1, 10, Duration.ofSeconds(20)));
        occupy();
        Thread caller = Thread.startVirtualThread(() -> submit(new Job("a", 1)));
        assertEquals(List.of("a"), keys(nextCall()));
        caller.join();
    }

    @Test
    void stuckKeyLeavesRoomForOthers() throws InterruptedException {
        use(
                1,
                CombinerConfig.CALL,
                new CombinerConfig.Room(100, 10_000, 40, 10, Duration.ofMillis(20)));
        occupy();
        submit(new Job("stuck", 1));
        submit(new Job("stuck", 2));
        assertThrows(QueenException.class, () -> submit(new Job("stuck", 3)));
        submit(new Job("other", 4));
        assertEquals(List.of("stuck", "stuck", "other"), keys(nextCall()));
    }

    @Test
    void stopFinishesWhatWasAcceptedAndRefusesTheRest() throws InterruptedException {
        occupy();
        submit(new Job("a", 1));
        flush.gate.release(1_000);
        combiner.stop(Duration.ofSeconds(20));
        assertEquals(2, flush.served.size());
        assertEquals(
                Failure.STOPPING,
                assertThrows(QueenException.class, () -> submit(new Job("b", 2))).failure());
    }

    @Test
    void stopFailsWhatIsStillWaitingWhenPatienceEnds() throws InterruptedException {
        occupy();
        submit(new Job("a", 1));
        Thread stopper = Thread.startVirtualThread(() -> combiner.stop(Duration.ZERO));
        assertEquals(Failure.STOPPING, flush.failures.take());
        flush.gate.release(1_000);
        stopper.join();
        assertTrue(flush.started.isEmpty());
    }

    @Test
    void heldKeyIsServedAgainWhenGivenBack() throws InterruptedException {
        LinkedBlockingQueue<Bundle<String, Job>> heldBundles = new LinkedBlockingQueue<>();
        LinkedBlockingQueue<Integer> served = new LinkedBlockingQueue<>();
        AtomicInteger calls = new AtomicInteger();
        Flush<String, Job> holding =
                new Flush<>() {
                    @Override
                    public void together(List<Bundle<String, Job>> bundles) {
                        for (Bundle<String, Job> bundle : bundles) {
                            if (calls.getAndIncrement() == 0) {
                                bundle.hold();
                                heldBundles.add(bundle);
                            } else {
                                bundle.works().forEach(job -> served.add(job.number()));
                            }
                        }
                    }

                    @Override
                    public void alone(Bundle<String, Job> bundle) {
                        throw new IllegalStateException("never busy");
                    }

                    @Override
                    public void failed(Bundle<String, Job> bundle, QueenException failure) {
                        throw new IllegalStateException(failure);
                    }
                };
        Combiner<String, Job> own =
                new Combiner<>(CombinerConfig.named("holding"), holding, Clock.SYSTEM);
        own.start();
        own.submit(List.of(new Job("a", 1)), Long.MAX_VALUE);
        Bundle<String, Job> held = heldBundles.take();
        own.submit(List.of(new Job("a", 2)), Long.MAX_VALUE);
        own.submit(List.of(new Job("b", 3)), Long.MAX_VALUE);
        assertEquals(3, served.take(), "the key held does not delay another");
        held.again();
        assertEquals(1, served.take());
        assertEquals(2, served.take());
        own.stop(Duration.ofSeconds(20));
        assertEquals(0, own.heldItems());
        assertEquals(0, own.heldBytes());
    }

    /**
     * Many threads submit to few keys while keys are busy at random; every work must be served
     * exactly once, in the order of its key, and nothing may stay behind asleep.
     */
    @Test
    void losesNothingUnderContention() throws InterruptedException {
        int producers = 16;
        int each = 2_000;
        CountDownLatch left = new CountDownLatch(producers * each);
        Map<String, Integer> last = new ConcurrentHashMap<>();
        LinkedBlockingQueue<String> disorder = new LinkedBlockingQueue<>();
        Flush<String, Job> random =
                new Flush<>() {
                    private final Random dice = new Random(7);

                    @Override
                    public void together(List<Bundle<String, Job>> bundles) {
                        bundles.forEach(this::serve);
                    }

                    @Override
                    public void alone(Bundle<String, Job> bundle) {
                        serve(bundle);
                    }

                    private void serve(Bundle<String, Job> bundle) {
                        if (dice.nextInt(20) == 0) {
                            bundle.busy();
                            return;
                        }
                        for (Job job : bundle.works()) {
                            String order = job.key() + "/" + job.tenant();
                            if (last.getOrDefault(order, -1) >= job.number()) {
                                disorder.add(order + " " + job.number());
                            }
                            last.put(order, job.number());
                            left.countDown();
                        }
                    }

                    @Override
                    public void failed(Bundle<String, Job> bundle, QueenException failure) {
                        disorder.add(failure.detail());
                    }
                };
        Combiner<String, Job> own =
                new Combiner<>(CombinerConfig.named("contention"), random, Clock.SYSTEM);
        own.start();
        for (int p = 0; p < producers; p++) {
            String tenant = "t" + p;
            Thread.startVirtualThread(
                    () -> {
                        for (int i = 0; i < each; i++) {
                            Job job = new Job(tenant, "q", "k" + i % 5, 1, 10, i);
                            own.submit(List.of(job), Long.MAX_VALUE);
                        }
                    });
        }
        assertTrue(left.await(50, TimeUnit.SECONDS), "left over: " + left.getCount());
        assertEquals(List.of(), List.copyOf(disorder));
        own.stop(Duration.ofSeconds(5));
        assertEquals(0, own.heldItems());
    }
}
