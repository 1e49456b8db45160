package io.queenmq.combine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.metrics.Metrics;
import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What sharing costs where many cannot take effect: calls are counted, not measured. */
@Timeout(60)
class GroupCommitCostTest {
    private static final int CLIENTS = 32;
    private static final int EACH = 40;

    private record Job(boolean refused, AtomicInteger shared, AtomicInteger alone) {
        static Job of(boolean refused) {
            return new Job(refused, new AtomicInteger(), new AtomicInteger());
        }
    }

    /** A refusal undoes a shared call; one by itself has its verdict with the call. */
    private static final class Counting implements GroupCommit.Calls<Job> {
        final AtomicInteger made = new AtomicInteger();

        @Override
        public boolean together(List<Job> jobs) {
            call();
            jobs.forEach(job -> job.shared().incrementAndGet());
            return jobs.stream().noneMatch(Job::refused);
        }

        @Override
        public void alone(Job job) {
            call();
            job.alone().incrementAndGet();
        }

        @Override
        public void patiently(Job job) {
            throw new AssertionError("nothing is held by others");
        }

        private void call() {
            made.incrementAndGet();
            LockSupport.parkNanos(200_000);
        }
    }

    /**
     * Goal: with so many of ten refused, a transaction is in two calls at most, in one and a half
     * on average, and where none is refused sharing saves calls. Method: clients that never rest.
     */
    @ParameterizedTest
    @CsvSource({"0", "1", "5", "9", "10"})
    void nobodyIsCalledMoreThanTwice(int refusedOfTen) {
        Counting calls = new Counting();
        List<Job> jobs = new ArrayList<>();
        for (int i = 0; i < CLIENTS * EACH; i++) {
            jobs.add(Job.of(i % 10 < refusedOfTen));
        }
        try (Metrics metrics = new Metrics()) {
            GroupCommit<Job> group =
                    new GroupCommit<>(
                            new GroupCommit.Config("cost", 2, 16, GroupCommitScene.SHARE, 1),
                            calls,
                            metrics,
                            Clock.SYSTEM);
            AtomicInteger next = new AtomicInteger();
            List<CompletableFuture<Void>> clients = new ArrayList<>();
            for (int i = 0; i < CLIENTS; i++) {
                CompletableFuture<Void> client = new CompletableFuture<>();
                clients.add(client);
                Thread.startVirtualThread(
                        () -> {
                            try {
                                for (int at = next.getAndIncrement();
                                        at < jobs.size();
                                        at = next.getAndIncrement()) {
                                    assertTrue(
                                            group.carryOut(
                                                    jobs.get(at),
                                                    new GroupCommit.Terms(
                                                            "all",
                                                            Set.of(at),
                                                            new GroupCommit.Share(1, 1, 1)),
                                                    Duration.ofSeconds(50)));
                                }
                                client.complete(null);
                            } catch (RuntimeException | Error e) {
                                client.completeExceptionally(e);
                            }
                        });
            }
            clients.forEach(CompletableFuture::join);
        }
        for (Job job : jobs) {
            assertTrue(job.shared().get() <= 1, "shared again");
            assertTrue(job.alone().get() <= 1, "alone twice");
            assertEquals(1, Math.max(job.shared().get(), job.alone().get()), "its outcome");
        }
        double perJob = (double) calls.made.get() / jobs.size();
        if (refusedOfTen == 0) {
            assertTrue(perJob < 0.75, () -> perJob + " calls each");
        } else {
            assertTrue(perJob <= 1.5, () -> perJob + " calls each");
            assertTrue(jobs.stream().anyMatch(job -> job.shared().get() == 1), "nobody shared");
        }
    }
}
