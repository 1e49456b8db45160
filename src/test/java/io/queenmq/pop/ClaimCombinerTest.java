package io.queenmq.pop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.model.Caller;
import io.queenmq.model.Failure;
import io.queenmq.model.Names;
import io.queenmq.model.QueenException;
import io.queenmq.ready.Findings;
import io.queenmq.runtime.Clock;
import io.queenmq.testkit.Await;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ClaimCombinerTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    /** A lane that breaks every call it is in; 0 = none does. */
    private volatile long poison;

    private final List<Integer> calls = new CopyOnWriteArrayList<>();
    private final CountDownLatch entered = new CountDownLatch(1);
    private final CountDownLatch goOn = new CountDownLatch(1);
    private final ClaimCombiner combiner =
            new ClaimCombiner(
                    new PopConfig(10_000, 1 << 20, 1 << 20, 64, 1, 32, AutopilotConfig.DEFAULT),
                    "claim-test",
                    this::claim,
                    Clock.SYSTEM);

    ClaimCombinerTest() {
        combiner.start();
    }

    @AfterEach
    void stop() {
        goOn.countDown();
        combiner.stop(Duration.ofSeconds(5));
    }

    @Test
    void popsThatCameWhileACallWasUnderWayShareTheNext() throws Exception {
        List<CompletableFuture<List<Claim.Outcome>>> answers = submitBehindACall(40);
        goOn.countDown();
        for (int i = 0; i < answers.size(); i++) {
            assertEquals(i + 1, answers.get(i).get().getFirst().lastOffset, "each its own answer");
        }
        assertEquals(List.of(1, 32, 8), calls);
    }

    @Test
    void onlyTheGuiltyPopSeesTheErrorOfACall() throws Exception {
        poison = 13;
        List<CompletableFuture<List<Claim.Outcome>>> answers = submitBehindACall(20);
        goOn.countDown();
        for (int i = 0; i < answers.size(); i++) {
            if (i + 1 == poison) {
                ExecutionException refusal =
                        assertThrows(ExecutionException.class, answers.get(i)::get);
                assertTrue(
                        refusal.getCause() instanceof QueenException failure
                                && failure.failure() == Failure.INTERNAL);
            } else {
                assertEquals(i + 1, answers.get(i).get().getFirst().lastOffset);
            }
        }
    }

    /** A first pop enters its call and stays there until {@code goOn}; the others come then. */
    private List<CompletableFuture<List<Claim.Outcome>>> submitBehindACall(int pops)
            throws InterruptedException {
        var threads = Executors.newVirtualThreadPerTaskExecutor();
        CompletableFuture<List<Claim.Outcome>> first =
                CompletableFuture.supplyAsync(() -> combiner.claim(claimOf(0), PATIENCE), threads);
        assertTrue(entered.await(30, TimeUnit.SECONDS));
        assertTrue(!first.isDone());
        List<CompletableFuture<List<Claim.Outcome>>> answers = new ArrayList<>();
        CountDownLatch asking = new CountDownLatch(pops);
        for (int i = 1; i <= pops; i++) {
            Claim claim = claimOf(i);
            answers.add(
                    CompletableFuture.supplyAsync(
                            () -> {
                                asking.countDown();
                                return combiner.claim(claim, PATIENCE);
                            },
                            threads));
        }
        assertTrue(asking.await(30, TimeUnit.SECONDS));
        Await.until("all pops in the combiner", () -> combiner.waiting() >= pops + 1);
        return answers;
    }

    private List<List<Claim.Outcome>> claim(List<Claim> claims) {
        calls.add(claims.size());
        entered.countDown();
        try {
            goOn.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return claims.stream().map(this::answer).toList();
    }

    private List<Claim.Outcome> answer(Claim claim) {
        long lane = claim.candidates.lanes().getFirst().number();
        if (lane == poison && lane > 0) {
            throw new IllegalStateException("poison");
        }
        return List.of(new Claim.Outcome(Claim.Verdict.EMPTY, null, null, null, 0, 0, lane));
    }

    private static Claim claimOf(long lane) {
        PopRequest request =
                new PopRequest(
                        Caller.DEFAULT_TENANT,
                        new PopScope.Queue("q"),
                        Names.QUEUE_MODE,
                        1,
                        1,
                        false,
                        Duration.ZERO,
                        0,
                        new StartAt.Oldest());
        return new Claim(
                request,
                null,
                1,
                new Candidates(List.of(new Candidates.Lane(lane, 1, 1, Findings.NONE)), null, 1));
    }
}
