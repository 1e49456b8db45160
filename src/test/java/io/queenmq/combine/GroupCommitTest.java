package io.queenmq.combine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import io.queenmq.testkit.Await;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class GroupCommitTest extends GroupCommitScene {
    @Test
    void whoComesWhileACallIsUnderWaySharesTheNext() throws InterruptedException {
        GroupCommit<Job> group = group(1, 9);
        List<CompletableFuture<Boolean>> outcomes =
                queue(group, Job.of("a"), Job.of("b"), Job.of("c"), Job.of("d"));
        calls.gate.release(2);
        assertDone(outcomes);
        assertEquals("together b c d", calls.begun.take());
        assertEquals(2, metrics.value("queen_test_group_calls_total"));
        assertEquals(4, metrics.value("queen_test_group_members_total"));
    }

    @Test
    void aCallHasItsBounds() throws InterruptedException {
        GroupCommit<Job> group = group(1, 2);
        List<CompletableFuture<Boolean>> outcomes =
                queue(group, Job.of("a"), Job.of("b"), Job.of("c"), Job.of("d"));
        calls.gate.release(3);
        assertDone(outcomes);
        assertEquals(List.of("together b c", "alone d"), List.copyOf(calls.begun));
    }

    @Test
    void whoTouchesTheSameNeverSharesACallAndKeepsItsPlace() throws InterruptedException {
        GroupCommit<Job> group = group(1, 9);
        List<CompletableFuture<Boolean>> outcomes =
                queue(
                        group,
                        Job.of("a", "x"),
                        Job.of("b", "x", "y"),
                        Job.of("c", "y", "z"),
                        Job.of("d", "z"),
                        Job.of("e", "w"));
        calls.gate.release(4);
        assertDone(outcomes);
        assertEquals(
                List.of("together b e", "alone c", "alone d"),
                List.copyOf(calls.begun),
                "d would have had to overtake c");
    }

    @Test
    void companiesStayAmongThemselves() throws InterruptedException {
        GroupCommit<Job> group = group(1, 9);
        List<CompletableFuture<Boolean>> outcomes =
                queue(
                        group,
                        Job.of("a"),
                        new Job("b", "one", Set.of()),
                        new Job("c", "other", Set.of()),
                        new Job("d", "one", Set.of()),
                        new Job("e", "", Set.of()),
                        new Job("f", "", Set.of()));
        calls.gate.release(5);
        assertDone(outcomes);
        assertEquals(
                List.of("together b d", "alone c", "alone e", "alone f"), List.copyOf(calls.begun));
    }

    @Test
    void aSharedCallWithoutEffectIsTakenApart() throws InterruptedException {
        GroupCommit<Job> group = group(1, 9);
        calls.spoiler = "c";
        calls.fails.put("c", Failure.ACK_REJECTED);
        List<CompletableFuture<Boolean>> outcomes =
                queue(group, Job.of("a"), Job.of("b", "x"), Job.of("c"), Job.of("d"));
        calls.gate.release(5);
        assertDone(List.of(outcomes.get(0), outcomes.get(1), outcomes.get(3)));
        assertEquals(Failure.ACK_REJECTED, failure(outcomes.get(2)));
        assertEquals(
                List.of("together b c d", "alone b", "alone c", "alone d"),
                List.copyOf(calls.begun));
        assertEquals(1, metrics.value("queen_test_group_apart_total"));
    }

    @Test
    void afterACallWithoutEffectFewerShareTheNext() throws InterruptedException {
        GroupCommit<Job> group = group(1, 9);
        calls.spoiler = "c";
        List<CompletableFuture<Boolean>> first =
                queue(group, Job.of("a"), Job.of("b"), Job.of("c"), Job.of("d"), Job.of("e"));
        calls.gate.release(6);
        assertDone(first);
        calls.begun.clear();
        List<CompletableFuture<Boolean>> second =
                queue(group, Job.of("f"), Job.of("g"), Job.of("h"), Job.of("i"), Job.of("j"));
        calls.gate.release(3);
        assertDone(second);
        assertEquals(
                List.of("together g h i", "alone j"),
                List.copyOf(calls.begun),
                "half of four, and one more with the call of f");
    }

    @Test
    void aFailureOfAllIsTheOutcomeOfAll() throws InterruptedException {
        GroupCommit<Job> group = group(1, 9);
        calls.fails.put("b", Failure.OUTCOME_UNKNOWN);
        List<CompletableFuture<Boolean>> outcomes =
                queue(group, Job.of("a"), Job.of("b"), Job.of("c"));
        calls.gate.release(2);
        assertTrue(outcomes.getFirst().join());
        assertEquals(Failure.OUTCOME_UNKNOWN, failure(outcomes.get(1)));
        assertEquals(Failure.OUTCOME_UNKNOWN, failure(outcomes.get(2)));
        assertEquals(List.of("together b c"), List.copyOf(calls.begun));
    }

    /** The call of several ends with the time of the first whose time is up. */
    @Test
    void whoseTimeIsNotUpHasACallToItself() throws InterruptedException {
        GroupCommit<Job> group = group(1, 9);
        calls.fails.put("b", Failure.DEADLINE);
        List<CompletableFuture<Boolean>> outcomes =
                queue(group, Job.of("a"), Job.of("b"), Job.of("c"));
        calls.gate.release(4);
        assertDone(List.of(outcomes.get(0), outcomes.get(2)));
        assertEquals(Failure.DEADLINE, failure(outcomes.get(1)));
        assertEquals(List.of("together b c", "alone b", "alone c"), List.copyOf(calls.begun));
    }

    @ParameterizedTest
    @CsvSource({"60, 1, 1", "1, 60, 1", "1, 1, 60"})
    void ofEverythingACallOfSeveralTakesOnlySoMuch(int touches, int items, long bytes)
            throws InterruptedException {
        GroupCommit<Job> group = group(1, 9);
        GroupCommit.Share share = new GroupCommit.Share(touches, items, bytes);
        GroupCommit.Share tooMuch = new GroupCommit.Share(2 * touches, 2 * items, 2 * bytes);
        List<CompletableFuture<Boolean>> outcomes =
                queue(
                        group,
                        Job.of("a"),
                        new Job("b", "c", Set.of(), share),
                        new Job("c", "c", Set.of(), share),
                        Job.of("d"),
                        new Job("e", "c", Set.of(), tooMuch));
        calls.gate.release(4);
        assertDone(outcomes);
        assertEquals(List.of("together b d", "alone c", "alone e"), List.copyOf(calls.begun));
    }

    /**
     * Goal: one that waits behind another begins when that one leaves, and not when it or somebody
     * else moves for a reason of its own. Method: {@code c} has stopped looking by itself when
     * {@code d} begins, for that came later.
     */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void whoLeavesLetsThoseBehindItBegin(boolean interrupted) throws InterruptedException {
        GroupCommit<Job> group = group(3, 9);
        List<CompletableFuture<Boolean>> outcomes = queue(group, Job.of("a", "x"));
        CompletableFuture<Failure> left = new CompletableFuture<>();
        Job leaver = Job.of("b", "x", "y");
        Thread waiter =
                Thread.startVirtualThread(
                        () -> {
                            try {
                                group.carryOut(
                                        leaver,
                                        leaver.terms(),
                                        interrupted ? LONG : Duration.ofMillis(500));
                            } catch (QueenException e) {
                                left.complete(e.failure());
                            }
                        });
        Await.until("it waits", () -> group.waiting() == 1);
        outcomes.add(later(group, Job.of("c", "y"), Duration.ofHours(1)));
        Await.until("it waits behind it", () -> group.waiting() == 2);
        outcomes.add(later(group, Job.of("d")));
        assertEquals("alone d", calls.begun.take());
        if (interrupted) {
            waiter.interrupt();
        }
        assertEquals(interrupted ? Failure.STOPPING : Failure.BUSY, left.join());
        assertEquals("alone c", calls.begun.take());
        calls.gate.release(3);
        assertDone(outcomes);
    }

    @Test
    void whoFindsNoRoomInTimeLeaves() throws InterruptedException {
        GroupCommit<Job> group = group(1, 9);
        List<CompletableFuture<Boolean>> outcomes = queue(group, Job.of("a"));
        assertFalse(group.carryOut(Job.of("b"), Job.of("b").terms(), Duration.ZERO));
        assertFalse(group.carryOut(Job.of("c"), Job.of("c").terms(), Duration.ofMillis(1)));
        calls.gate.release(1);
        assertDone(outcomes);
        assertEquals(0, group.waiting());
        assertNull(calls.begun.poll());
    }

    @Test
    void whoNeedNotWaitDoesNotWaitForCompany() throws InterruptedException {
        GroupCommit<Job> group = group(2, 9);
        List<CompletableFuture<Boolean>> outcomes = queue(group, Job.of("a"));
        CompletableFuture<Boolean> hurried = later(group, Job.of("b"), Duration.ZERO);
        assertEquals("alone b", calls.begun.take());
        calls.gate.release(2);
        assertDone(outcomes);
        assertTrue(hurried.join());
    }

    @Test
    void whoWaitsForOthersGivesItsRoomBackAndKeepsWhatItTouches() throws InterruptedException {
        GroupCommit<Job> group = group(1, 9);
        calls.held.add("a");
        CompletableFuture<Boolean> held = later(group, Job.of("a", "x"));
        assertEquals("alone a", calls.begun.take());
        calls.gate.release(1);
        assertEquals("patiently a", calls.begun.take());
        CompletableFuture<Boolean> other = later(group, Job.of("b"));
        assertEquals("alone b", calls.begun.take());
        calls.gate.release(1);
        assertTrue(other.join());
        CompletableFuture<Boolean> same = later(group, Job.of("c", "x"));
        Await.until("it waits", () -> group.waiting() == 1);
        calls.patientGate.release(1);
        calls.gate.release(1);
        assertDone(List.of(held, same));
        assertEquals("alone c", calls.begun.take());
    }

    @Test
    void whatStaysInOtherHandsIsBusyThoughThereIsRoom() throws InterruptedException {
        GroupCommit<Job> group = group(2, 9);
        List<CompletableFuture<Boolean>> outcomes = queue(group, Job.of("a", "x"));
        assertEquals(Failure.BUSY, failure(later(group, Job.of("b", "x"), Duration.ofMillis(1))));
        calls.gate.release(1);
        assertDone(outcomes);
    }

    @Test
    void onlySoManyWaitForOthers() throws InterruptedException {
        GroupCommit<Job> group = group(2, 9);
        calls.held.addAll(List.of("a", "b"));
        CompletableFuture<Boolean> first = later(group, Job.of("a"));
        assertEquals("alone a", calls.begun.take());
        calls.gate.release(1);
        assertEquals("patiently a", calls.begun.take());
        CompletableFuture<Boolean> second = later(group, Job.of("b"));
        assertEquals("alone b", calls.begun.take());
        calls.gate.release(1);
        assertEquals(Failure.BUSY, failure(second));
        calls.patientGate.release(1);
        assertTrue(first.join());
    }

    @Test
    void whoIsInterruptedWhileItWaitsHasDoneNothing() throws InterruptedException {
        GroupCommit<Job> group = group(1, 9);
        List<CompletableFuture<Boolean>> outcomes = queue(group, Job.of("a"));
        CompletableFuture<Failure> outcome = new CompletableFuture<>();
        Thread waiter =
                Thread.startVirtualThread(
                        () -> {
                            Job job = Job.of("b");
                            try {
                                group.carryOut(job, job.terms(), LONG);
                            } catch (QueenException e) {
                                outcome.complete(e.failure());
                            }
                        });
        Await.until("it waits", () -> group.waiting() == 1);
        waiter.interrupt();
        assertEquals(Failure.STOPPING, outcome.join());
        calls.gate.release(1);
        assertDone(outcomes);
        assertEquals(0, group.waiting());
    }

    /**
     * Whatever happens to calls: each job has one outcome, the true one, and no touch is shared.
     */
    @Test
    void everyJobHasItsOutcomeAndNothingIsTouchedTwiceAtOnce() {
        record Hit(int number, List<Integer> touches, AtomicInteger effects) {}
        Set<Integer> touched = ConcurrentHashMap.newKeySet();
        Random chance = new Random(7);
        GroupCommit.Calls<Hit> unruly =
                new GroupCommit.Calls<>() {
                    @Override
                    public boolean together(List<Hit> hits) {
                        return call(hits, 4);
                    }

                    @Override
                    public void alone(Hit hit) {
                        if (!call(List.of(hit), 5)) {
                            throw new QueenException(Failure.BUSY, "busy");
                        }
                    }

                    @Override
                    public void patiently(Hit hit) {
                        if (!call(List.of(hit), 5)) {
                            throw new QueenException(Failure.BUSY, "busy still");
                        }
                    }

                    private boolean call(List<Hit> hits, int one) {
                        for (Hit hit : hits) {
                            for (int touch : hit.touches()) {
                                assertTrue(touched.add(touch), "touched twice");
                            }
                        }
                        LockSupport.parkNanos(1);
                        boolean takesEffect;
                        boolean fails;
                        synchronized (chance) {
                            takesEffect = chance.nextInt(one) > 0;
                            fails = chance.nextInt(9) == 0;
                        }
                        hits.forEach(hit -> touched.removeAll(hit.touches()));
                        if (fails) {
                            throw new QueenException(Failure.DATABASE_AWAY, "away");
                        }
                        if (takesEffect) {
                            hits.forEach(hit -> hit.effects().incrementAndGet());
                        }
                        return takesEffect;
                    }
                };
        GroupCommit<Hit> group =
                new GroupCommit<>(
                        new GroupCommit.Config("unruly", 3, 8, SHARE, 2),
                        unruly,
                        metrics,
                        Clock.SYSTEM);
        List<CompletableFuture<Boolean>> right = new ArrayList<>();
        Random random = new Random(11);
        for (int i = 0; i < 4_000; i++) {
            Hit hit =
                    new Hit(
                            i,
                            random.ints(random.nextInt(4), 0, 12).distinct().boxed().toList(),
                            new AtomicInteger());
            CompletableFuture<Boolean> verdict = new CompletableFuture<>();
            right.add(verdict);
            Thread.startVirtualThread(
                    () -> {
                        int expected = 0;
                        try {
                            boolean begun =
                                    group.carryOut(
                                            hit,
                                            new GroupCommit.Terms(
                                                    hit.number() % 2,
                                                    hit.touches(),
                                                    new GroupCommit.Share(0, 1, 0)),
                                            LONG);
                            expected = begun ? 1 : 0;
                        } catch (QueenException e) {
                            assertTrue(
                                    e.failure() == Failure.BUSY
                                            || e.failure() == Failure.DATABASE_AWAY);
                        } catch (AssertionError | RuntimeException e) {
                            verdict.completeExceptionally(e);
                        }
                        verdict.complete(hit.effects().get() == expected);
                    });
        }
        right.forEach(verdict -> assertTrue(verdict.join(), "an outcome that is not true"));
        assertEquals(0, group.waiting());
        assertEquals(0, group.underWay());
        assertTrue(
                metrics.value("queen_unruly_group_members_total")
                        > metrics.value("queen_unruly_group_calls_total"),
                "calls were shared");
    }
}
