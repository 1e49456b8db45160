package io.queenmq.push;

import io.queenmq.combine.Bundle;
import io.queenmq.combine.Combiner;
import io.queenmq.combine.Flush;
import io.queenmq.db.ConnectionLost;
import io.queenmq.db.Database;
import io.queenmq.dedup.KeyMemory;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.queue.Lane;
import io.queenmq.queue.LaneName;
import io.queenmq.queue.LaneRequest;
import io.queenmq.queue.Queue;
import io.queenmq.queue.QueueCatalog;
import io.queenmq.ready.LaneWrites;
import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Batches concurrent pushes: a bounded queue per lane, a few flushers that each take all that waits
 * and store it with one call. What a verdict asks for beyond that happens off the flushers, while
 * the lane stays held: reading keys back, making a lane again, settling a lost answer.
 */
final class PushCombiner implements Flush<LaneName, LaneBatch> {
    private final PushConfig config;
    private final PushProcedures procedures;
    private final KeyMemory memory;
    private final KeySearch search;
    private final Settlement settlement;
    private final QueueCatalog catalog;
    private final LaneWrites writes;
    private final PushMeters meters;
    private final Clock clock;
    private final Combiner<LaneName, LaneBatch> combiner;
    private final ExecutorService aside = Executors.newVirtualThreadPerTaskExecutor();
    private final Semaphore searches;

    PushCombiner(
            PushConfig config,
            Database database,
            QueueCatalog catalog,
            KeyMemory memory,
            LaneWrites writes,
            Metrics metrics,
            Clock clock) {
        this.config = config;
        this.procedures = new PushProcedures(database, memory);
        this.memory = memory;
        this.search = new KeySearch(procedures, memory);
        this.catalog = catalog;
        this.writes = writes;
        this.meters = new PushMeters(metrics);
        this.clock = clock;
        this.settlement = new Settlement(config, database, procedures, this::answer, meters, clock);
        this.combiner = new Combiner<>(config.combiner(), this, clock);
        this.searches = new Semaphore(config.hydrators());
        PushMeters.gauges(metrics, combiner, memory);
    }

    void start() {
        combiner.start();
    }

    void stop(Duration patience) {
        combiner.stop(patience);
        aside.shutdownNow();
    }

    void submit(List<LaneBatch> batches, long deadlineNanos) {
        combiner.submit(batches, deadlineNanos);
    }

    void withdraw(LaneBatch batch) {
        combiner.withdraw(batch);
    }

    PushMeters meters() {
        return meters;
    }

    @Override
    public void together(List<Bundle<LaneName, LaneBatch>> bundles) {
        List<Attempt> attempts = new ArrayList<>(bundles.size());
        for (int i = 0; i < bundles.size(); i++) {
            Attempt attempt = Attempt.of(bundles.get(i), catalog::lastOffset);
            if (attempt != null) {
                attempts.add(attempt);
            }
        }
        if (attempts.isEmpty()) {
            return;
        }
        try {
            answer(attempts, procedures.append(attempts, false));
        } catch (QueenException e) {
            undecided(attempts, e);
        }
    }

    @Override
    public void alone(Bundle<LaneName, LaneBatch> bundle) {
        Attempt attempt = Attempt.of(bundle, catalog::lastOffset);
        if (attempt == null) {
            return;
        }
        List<Attempt> attempts = List.of(attempt);
        try {
            long lockTimeoutMs = config.lockTimeout().toMillis();
            answer(attempts, List.of(procedures.appendWaiting(attempt, lockTimeoutMs)));
        } catch (QueenException e) {
            undecided(attempts, e);
        }
    }

    @Override
    public void failed(Bundle<LaneName, LaneBatch> bundle, QueenException failure) {
        bundle.works().forEach(work -> work.refuse(failure));
    }

    /** Either nothing took effect, and the combiner sees to it, or the answer was lost. */
    private void undecided(List<Attempt> attempts, QueenException failure) {
        if (failure.getCause() instanceof ConnectionLost lost) {
            attempts.forEach(attempt -> attempt.bundle().hold());
            aside.execute(() -> settlement.settle(attempts, lost.backend()));
        } else {
            attempts.forEach(Attempt::unsend);
            throw failure;
        }
    }

    /** Deals with the verdicts of a call; the bundles are in our hands, in the call or held. */
    private void answer(List<Attempt> attempts, List<PushVerdict> verdicts) {
        tellWhatIsStored(attempts, verdicts);
        for (int i = 0; i < attempts.size(); i++) {
            Attempt attempt = attempts.get(i);
            switch (verdicts.get(i)) {
                case PushVerdict.Queued queued -> {
                    attempt.queued(queued.baseOffset(), queued.createdMillis());
                    attempt.answerDecided();
                    if (memory.wantsHydration(attempt.number(), attempt.windowSeconds())) {
                        attempt.bundle().hold();
                        aside.execute(() -> readBack(attempt));
                    } else {
                        goOn(attempt.bundle());
                    }
                }
                case PushVerdict.Duplicates(int[] positions, UUID[] originals) -> {
                    meters.duplicates.increment(positions.length);
                    attempt.duplicates(positions, originals);
                    attempt.answerDecided();
                    goOn(attempt.bundle());
                }
                case PushVerdict.Cold() -> {
                    meters.cold.increment();
                    attempt.unsend();
                    attempt.bundle().hold();
                    aside.execute(() -> searchFor(attempt));
                }
                case PushVerdict.Busy() -> {
                    meters.busy.increment();
                    attempt.unsend();
                    attempt.bundle().busy();
                }
                case PushVerdict.UnknownPartition() -> {
                    attempt.unsend();
                    attempt.bundle().hold();
                    aside.execute(() -> provisionAgain(attempt));
                }
            }
        }
    }

    /** Before any caller is answered: who pops after that must find what was pushed. */
    private void tellWhatIsStored(List<Attempt> attempts, List<PushVerdict> verdicts) {
        List<LaneWrites.Lane> written = new ArrayList<>(attempts.size());
        int messages = 0;
        for (int i = 0; i < attempts.size(); i++) {
            if (verdicts.get(i) instanceof PushVerdict.Queued queued) {
                Attempt attempt = attempts.get(i);
                LaneName lane = attempt.bundle().key();
                long number = attempt.number();
                long last = queued.baseOffset() + attempt.frames().size() - 1;
                memory.stored(
                        attempt.epoch(),
                        number,
                        attempt.windowSeconds(),
                        queued.baseOffset(),
                        queued.createdMillis(),
                        attempt.segments());
                catalog.wrote(number, last);
                messages += attempt.frames().size();
                written.add(
                        new LaneWrites.Lane(
                                lane.tenant(),
                                queued.queueId(),
                                lane.queue(),
                                number,
                                lane.partition(),
                                last));
            }
        }
        if (!written.isEmpty()) {
            meters.commits.increment();
            meters.messages.increment(messages);
            meters.flushLanes.record(written.size());
            meters.flushMessages.record(messages);
            writes.written(written);
        }
    }

    /** What is left of a bundle is served next. */
    private static void goOn(Bundle<LaneName, LaneBatch> bundle) {
        if (bundle.works().isEmpty()) {
            bundle.release();
        } else {
            bundle.again();
        }
    }

    // -- aside, the lane held --------------------------------------------------------------------

    private void searchFor(Attempt attempt) {
        aside(
                attempt,
                () -> {
                    search.search(attempt, () -> nobodyWaits(attempt));
                    attempt.answerDecided();
                });
    }

    private void readBack(Attempt attempt) {
        aside(
                attempt,
                () -> search.readBack(attempt.number(), attempt.windowSeconds(), () -> false));
    }

    private void aside(Attempt attempt, Runnable step) {
        try {
            searches.acquire();
            try {
                step.run();
            } finally {
                searches.release();
            }
            goOn(attempt.bundle());
        } catch (QueenException e) {
            refuseAll(attempt, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            refuseAll(attempt, new QueenException(Failure.STOPPING, "the broker is stopping", e));
        }
    }

    private void provisionAgain(Attempt attempt) {
        LaneName name = attempt.bundle().key();
        catalog.laneGone(name, attempt.number());
        long deadline = clock.nanos() + config.deadline().toNanos();
        LaneRequest request = null;
        try {
            request = catalog.requestLanes(List.of(name), deadline).getFirst();
            Lane lane = request.lane().get(config.deadline().toNanos(), TimeUnit.NANOSECONDS);
            int window = windowSeconds(name);
            if (lane.created()) {
                memory.created(lane.number(), window);
            }
            attempt.bundle().works().forEach(work -> work.resolve(lane.number(), window));
            goOn(attempt.bundle());
        } catch (QueenException e) {
            refuseAll(attempt, e);
        } catch (ExecutionException e) {
            refuseAll(
                    attempt,
                    e.getCause() instanceof QueenException cause
                            ? cause
                            : new QueenException(Failure.INTERNAL, "internal error", e));
        } catch (TimeoutException e) {
            catalog.withdraw(request);
            refuseAll(attempt, new QueenException(Failure.BUSY, "the lane is being created", e));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            refuseAll(attempt, new QueenException(Failure.STOPPING, "the broker is stopping", e));
        }
    }

    int windowSeconds(LaneName name) {
        return catalog.queue(name.tenant(), name.queue())
                .map(Queue::options)
                .orElseThrow(() -> new QueenException(Failure.BUSY, "the queue is being deleted"))
                .dedupWindowSeconds();
    }

    private static boolean nobodyWaits(Attempt attempt) {
        return attempt.works().stream().allMatch(LaneBatch::isGivenUp);
    }

    private static void refuseAll(Attempt attempt, QueenException failure) {
        attempt.works().forEach(work -> work.refuse(failure));
        attempt.bundle().works().removeAll(attempt.works());
        goOn(attempt.bundle());
    }
}
