package io.queenmq.combine;

import static java.util.stream.Collectors.joining;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.Await;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** When a call begins, beside others that are under way. */
class GroupCommitCompanyTest extends GroupCommitScene {
    @Test
    void besideACallAnotherBeginsWhenItIsWorthItsCost() throws InterruptedException {
        GroupCommit<Job> group = group(4, 64, still);
        Job[] jobs = jobs("j", 8);
        List<CompletableFuture<Boolean>> outcomes = queue(group, jobs);
        outcomes.add(later(group, Job.of("last")));
        assertEquals(
                "together "
                        + Arrays.stream(jobs).skip(1).map(Job::name).collect(joining(" "))
                        + " last",
                calls.begun.take());
        for (int i = 1; i <= 8; i++) {
            outcomes.add(later(group, Job.of("k" + i)));
            int waiting = i;
            Await.until("eight beside nine wait", () -> group.waiting() == waiting);
        }
        outcomes.add(later(group, Job.of("k9")));
        assertEquals(10, calls.begun.take().split(" ", -1).length, "together and nine names");
        outcomes.add(later(group, Job.of("lone")));
        Await.until("it waits", () -> group.waiting() == 1);
        still.nanos.addAndGet(Duration.ofMillis(2).toNanos());
        assertEquals("alone lone", calls.begun.take());
        calls.gate.release(4);
        assertDone(outcomes);
    }

    @Test
    void whoWaitsForCompanyIsInNobodysWay() throws InterruptedException {
        GroupCommit<Job> group = group(4, 64, still);
        List<CompletableFuture<Boolean>> outcomes = queue(group, Job.of("a"), Job.of("b"));
        outcomes.add(later(group, new Job("other", "o", Set.of()), Duration.ZERO));
        assertEquals("alone other", calls.begun.take(), "it may not wait");
        outcomes.add(later(group, new Job("solo", "", Set.of())));
        assertEquals("alone solo", calls.begun.take(), "it would wait for nobody");
        assertEquals(1, group.waiting());
        calls.gate.release(4);
        assertDone(outcomes);
    }

    @Test
    void nobodyWaitsForTheCompanyOfThoseWhoHaveNone() throws InterruptedException {
        GroupCommit<Job> group = group(4, 64, still);
        List<CompletableFuture<Boolean>> outcomes = queue(group, new Job("solo", "", Set.of()));
        outcomes.add(later(group, Job.of("a")));
        assertEquals("alone a", calls.begun.take());
        calls.gate.release(2);
        assertDone(outcomes);
    }

    @Test
    void whereFewMayShareNobodyWaitsForMore() throws InterruptedException {
        GroupCommit<Job> group = group(4, 2, still);
        List<CompletableFuture<Boolean>> outcomes = queue(group, Job.of("a"), Job.of("b"));
        outcomes.add(later(group, Job.of("c")));
        assertEquals("together b c", calls.begun.take());
        calls.gate.release(2);
        assertDone(outcomes);
    }

    private static Job[] jobs(String name, int count) {
        return IntStream.range(0, count).mapToObj(i -> Job.of(name + i)).toArray(Job[]::new);
    }
}
