package io.queenmq.combine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.metrics.Metrics;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import io.queenmq.testkit.Await;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;

/** Transactions whose calls wait at a gate, and who makes them. */
@Timeout(60)
abstract class GroupCommitScene {
    static final Duration LONG = Duration.ofSeconds(50);

    /** The most that a call of several takes. */
    static final GroupCommit.Share SHARE = new GroupCommit.Share(100, 100, 100);

    record Job(String name, String company, Set<String> touches, GroupCommit.Share share) {
        Job(String name, String company, Set<String> touches) {
            this(name, company, touches, new GroupCommit.Share(touches.size(), 1, 1));
        }

        static Job of(String name, String... touches) {
            return new Job(name, "c", Set.of(touches));
        }

        GroupCommit.Terms terms() {
            return new GroupCommit.Terms(company.isEmpty() ? null : company, touches, share);
        }
    }

    /** Calls wait at a gate; which were made is on record. */
    static final class Gated implements GroupCommit.Calls<Job> {
        final Semaphore gate = new Semaphore(0);
        final Semaphore patientGate = new Semaphore(0);
        final LinkedBlockingQueue<String> begun = new LinkedBlockingQueue<>();
        final Map<String, Failure> fails = new ConcurrentHashMap<>();
        volatile String spoiler = "";
        final Set<String> held = ConcurrentHashMap.newKeySet();

        @Override
        public boolean together(List<Job> jobs) {
            enter("together", jobs, gate);
            return jobs.stream().noneMatch(job -> job.name().equals(spoiler));
        }

        @Override
        public void alone(Job job) {
            enter("alone", List.of(job), gate);
            if (held.contains(job.name())) {
                throw new QueenException(Failure.BUSY, "held");
            }
        }

        @Override
        public void patiently(Job job) {
            enter("patiently", List.of(job), patientGate);
        }

        private void enter(String kind, List<Job> jobs, Semaphore at) {
            begun.add(kind + " " + String.join(" ", jobs.stream().map(Job::name).toList()));
            at.acquireUninterruptibly();
            for (Job job : jobs) {
                Failure failure = fails.get(job.name());
                if (failure != null) {
                    throw new QueenException(failure, job.name());
                }
            }
        }
    }

    /** Stands still but when it is moved. */
    static final class Hand implements Clock {
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

    final Metrics metrics = new Metrics();
    final Gated calls = new Gated();
    final Hand still = new Hand();

    @AfterEach
    void stop() {
        metrics.close();
    }

    GroupCommit<Job> group(int callsMax, int members) {
        return group(callsMax, members, Clock.SYSTEM);
    }

    GroupCommit<Job> group(int callsMax, int members, Clock clock) {
        return new GroupCommit<>(
                new GroupCommit.Config("test", callsMax, members, SHARE, 1), calls, metrics, clock);
    }

    static CompletableFuture<Boolean> later(GroupCommit<Job> group, Job job) {
        return later(group, job, LONG);
    }

    static CompletableFuture<Boolean> later(GroupCommit<Job> group, Job job, Duration patience) {
        CompletableFuture<Boolean> outcome = new CompletableFuture<>();
        Thread.startVirtualThread(
                () -> {
                    try {
                        outcome.complete(group.carryOut(job, job.terms(), patience));
                    } catch (RuntimeException e) {
                        outcome.completeExceptionally(e);
                    }
                });
        return outcome;
    }

    /** One is in its call, and these wait behind it in this order. */
    List<CompletableFuture<Boolean>> queue(GroupCommit<Job> group, Job... jobs)
            throws InterruptedException {
        List<CompletableFuture<Boolean>> outcomes = new ArrayList<>();
        outcomes.add(later(group, jobs[0]));
        assertEquals("alone " + jobs[0].name(), calls.begun.take());
        for (int i = 1; i < jobs.length; i++) {
            outcomes.add(later(group, jobs[i]));
            int waiting = i;
            Await.until("it waits", () -> group.waiting() == waiting);
        }
        return outcomes;
    }

    static void assertDone(List<CompletableFuture<Boolean>> outcomes) {
        outcomes.forEach(outcome -> assertTrue(outcome.join()));
    }

    static Failure failure(CompletableFuture<Boolean> outcome) {
        CompletionException thrown = assertThrows(CompletionException.class, outcome::join);
        return assertInstanceOf(QueenException.class, thrown.getCause()).failure();
    }
}
