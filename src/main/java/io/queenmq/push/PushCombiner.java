package io.queenmq.push;

import io.queenmq.cipher.PayloadCipher;
import io.queenmq.combine.Bundle;
import io.queenmq.combine.Combiner;
import io.queenmq.combine.Flush;
import io.queenmq.count.Counts;
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
import io.queenmq.queue.QueueOptions;
import io.queenmq.ready.LaneWrites;
import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;

/**
 * Batches concurrent pushes: a bounded queue per lane, a few flushers that each take all that waits
 * and store it with one call. What a verdict asks for beyond that happens off the flushers, while
 * the lane stays held: reading keys back, making a lane again, settling a lost answer.
 */
final class PushCombiner implements Flush<LaneName, LaneBatch> {
    private static final System.Logger LOG = System.getLogger(PushCombiner.class.getName());

    private final PushConfig config;
    private final PushProcedures procedures;
    private final KeyMemory memory;
    private final KeySearch search;
    private final Settlement settlement;
    private final QueueCatalog catalog;
    private final Counts counts;
    private final LaneWrites writes;
    private final PayloadCipher cipher;
    private final PushMeters meters;
    private final Clock clock;
    private final Combiner<LaneName, LaneBatch> combiner;
    private final ExecutorService aside = Executors.newVirtualThreadPerTaskExecutor();

    /** Of pushes that wait for what is read. */
    private final Semaphore searches;

    /** Of what is read only to be remembered: no push waits for one of these. */
    private final Semaphore hydrations;

    PushCombiner(
            PushConfig config,
            Database database,
            QueueCatalog catalog,
            KeyMemory memory,
            Counts counts,
            LaneWrites writes,
            PayloadCipher cipher,
            ServerWatch servers,
            Metrics metrics,
            Clock clock) {
        this.config = config;
        this.procedures = new PushProcedures(database, memory, servers);
        this.memory = memory;
        this.search = new KeySearch(procedures, memory);
        this.catalog = catalog;
        this.counts = counts;
        this.writes = writes;
        this.cipher = cipher;
        this.meters = new PushMeters(metrics);
        this.clock = clock;
        this.settlement = new Settlement(config, database, procedures, this::answer, meters, clock);
        this.combiner = new Combiner<>(config.combiner(), this, clock);
        this.searches = new Semaphore(config.searchers());
        this.hydrations = new Semaphore(config.hydrators());
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
        List<PushVerdict> verdicts;
        try {
            verdicts = procedures.append(attempts, false);
        } catch (RuntimeException e) {
            undecided(attempts, e);
            return;
        }
        answer(attempts, verdicts);
    }

    @Override
    public void alone(Bundle<LaneName, LaneBatch> bundle) {
        Attempt attempt = Attempt.of(bundle, catalog::lastOffset);
        if (attempt == null) {
            return;
        }
        PushVerdict verdict;
        try {
            verdict = procedures.appendWaiting(attempt, config.lockTimeout().toMillis());
        } catch (RuntimeException e) {
            undecided(List.of(attempt), e);
            return;
        }
        answer(List.of(attempt), List.of(verdict));
    }

    @Override
    public void failed(Bundle<LaneName, LaneBatch> bundle, QueenException failure) {
        bundle.works().forEach(work -> work.refuse(failure));
    }

    /** Nothing took effect, and the combiner sees to it; or the answer was lost on its way. */
    private void undecided(List<Attempt> attempts, RuntimeException failure) {
        if (failure.getCause() instanceof ConnectionLost lost) {
            attempts.forEach(attempt -> attempt.bundle().hold());
            try {
                aside.execute(() -> settlement.settle(attempts, lost.backend()));
            } catch (RejectedExecutionException e) {
                attempts.forEach(attempt -> inDoubt(attempt, e));
            }
        } else if (failure instanceof QueenException) {
            attempts.forEach(Attempt::unsend);
            throw failure;
        } else {
            attempts.forEach(attempt -> inDoubt(attempt, failure));
        }
    }

    /** Our own bug, after the call was sent: whatever was stored, nobody is told that it failed. */
    private static void inDoubt(Attempt attempt, RuntimeException bug) {
        LOG.log(System.Logger.Level.ERROR, "a push could not be answered", bug);
        refuseAll(attempt, new QueenException(Failure.OUTCOME_UNKNOWN, "internal error", bug));
    }

    /** Deals with the verdicts of a call; the bundles are in our hands, in the call or held. */
    private void answer(List<Attempt> attempts, List<PushVerdict> verdicts) {
        try {
            tellWhatIsStored(attempts, verdicts);
        } catch (RuntimeException e) {
            LOG.log(System.Logger.Level.ERROR, "stored messages were not announced", e);
        }
        for (int i = 0; i < attempts.size(); i++) {
            try {
                conclude(attempts.get(i), verdicts.get(i));
            } catch (RuntimeException e) {
                inDoubt(attempts.get(i), e);
            }
        }
    }

    private void conclude(Attempt attempt, PushVerdict verdict) {
        switch (verdict) {
            case PushVerdict.Queued queued -> {
                attempt.queued(queued.baseOffset(), queued.createdMillis());
                attempt.answerDecided();
                if (mayReadBack(attempt)) {
                    aside(attempt, () -> readBack(attempt));
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
                attempt.unsend(LaneBatch.Delay.SEARCH);
                aside(attempt, () -> searchFor(attempt));
            }
            case PushVerdict.Busy() -> {
                meters.busy.increment();
                attempt.unsend(LaneBatch.Delay.HELD);
                attempt.bundle().busy();
            }
            case PushVerdict.UnknownPartition() -> {
                attempt.unsend(LaneBatch.Delay.LANE);
                aside(attempt, () -> provisionAgain(attempt));
            }
        }
    }

    /** Holds a permit when it says yes. */
    private boolean mayReadBack(Attempt attempt) {
        if (!hydrations.tryAcquire()) {
            return false;
        }
        if (memory.wantsHydration(attempt.number(), attempt.windowSeconds())) {
            return true;
        }
        hydrations.release();
        return false;
    }

    /** Before any caller is answered: who pops after that must find what was pushed. */
    void tellWhatIsStored(List<Attempt> attempts, List<PushVerdict> verdicts) {
        List<LaneWrites.Lane> written = new ArrayList<>(attempts.size());
        int messages = 0;
        for (int i = 0; i < attempts.size(); i++) {
            if (verdicts.get(i) instanceof PushVerdict.Queued queued) {
                Attempt attempt = attempts.get(i);
                LaneName lane = attempt.lane();
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
                counts.stored(queued.queueId(), attempt.frames().size(), attempt.bytes());
                counts.activities().named(queued.queueId(), lane.queue());
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

    /** A transaction has stored messages in this queue. */
    void tellTransaction(int queueId) {
        counts.activities().transacted(queueId);
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

    /** Something to do before a lane can go on; its callers hear of it when it fails. */
    private interface Step {
        void run() throws InterruptedException;
    }

    private void aside(Attempt attempt, Step step) {
        attempt.bundle().hold();
        try {
            aside.execute(() -> goOnAfter(attempt, step));
        } catch (RejectedExecutionException e) {
            refuseAll(attempt, new QueenException(Failure.STOPPING, "the broker is stopping", e));
        }
    }

    private void searchFor(Attempt attempt) throws InterruptedException {
        search(attempt, () -> nobodyWaits(attempt));
        attempt.answerDecided();
    }

    /** Reads the lane's keys back for a batch that append found too much to look for. */
    void search(Attempt attempt, BooleanSupplier stop) throws InterruptedException {
        searches.acquire();
        searchPermitted(attempt, stop);
    }

    /** The same until a deadline; also one that has to wait for its turn until then gives up. */
    void search(Attempt attempt, long deadlineNanos) throws InterruptedException {
        if (searches.tryAcquire(deadlineNanos - clock.nanos(), TimeUnit.NANOSECONDS)) {
            searchPermitted(attempt, () -> isPast(deadlineNanos));
        }
    }

    private void searchPermitted(Attempt attempt, BooleanSupplier stop) {
        try {
            // What was read holds for one window only, so it should be the one in force.
            LaneName name = attempt.lane();
            catalog.queue(name.tenant(), name.queue()).map(Queue::id).ifPresent(catalog::forget);
            attempt.renewWindow(options(name).dedupWindowSeconds());
            search.search(attempt, stop);
        } finally {
            searches.release();
        }
    }

    private void readBack(Attempt attempt) {
        try {
            search.readBack(attempt.number(), attempt.windowSeconds());
        } finally {
            hydrations.release();
        }
    }

    private void provisionAgain(Attempt attempt) throws InterruptedException {
        long deadline = clock.nanos() + config.deadline().toNanos();
        makeAgain(attempt, attempt.bundle().works(), deadline);
    }

    /** Looks for the lane that has that name now, or makes it, for all these works. */
    void makeAgain(Attempt attempt, List<LaneBatch> works, long deadlineNanos)
            throws InterruptedException {
        int epoch = memory.epoch();
        LaneName name = attempt.lane();
        catalog.laneGone(name, attempt.number());
        Lane lane = madeAgain(name, deadlineNanos);
        QueueOptions options = options(name);
        if (lane.created()) {
            memory.created(lane.number(), options.dedupWindowSeconds());
        }
        for (LaneBatch work : works) {
            resolve(work, epoch, lane.number(), options);
        }
    }

    private Lane madeAgain(LaneName name, long deadlineNanos) throws InterruptedException {
        LaneRequest request = catalog.requestLanes(List.of(name), deadlineNanos).getFirst();
        try {
            long left = Math.max(0, deadlineNanos - clock.nanos());
            return request.lane().get(left, TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            throw new QueenException(Failure.BUSY, "the lane is being created by another", e);
        } catch (ExecutionException e) {
            throw e.getCause() instanceof QueenException refusal
                    ? new QueenException(refusal.failure(), refusal.detail(), refusal)
                    : new QueenException(Failure.INTERNAL, "internal error", e);
        } finally {
            catalog.withdraw(request);
        }
    }

    private void goOnAfter(Attempt attempt, Step step) {
        try {
            step.run();
            goOn(attempt.bundle());
        } catch (QueenException e) {
            refuseAll(attempt, e);
        } catch (RuntimeException e) {
            LOG.log(System.Logger.Level.ERROR, "a lane could not go on", e);
            refuseAll(attempt, new QueenException(Failure.INTERNAL, "internal error", e));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            refuseAll(attempt, new QueenException(Failure.STOPPING, "the broker is stopping", e));
        }
    }

    private boolean isPast(long deadlineNanos) {
        return clock.nanos() - deadlineNanos >= 0;
    }

    /**
     * Gives a batch the number of its lane, and what its queue wants of it.
     *
     * @throws QueenException the queue is encrypted and there is no key
     */
    void resolve(LaneBatch batch, int epoch, long number, QueueOptions options) {
        if (options.encryptionEnabled()) {
            batch.seal(cipher);
        }
        batch.resolve(epoch, number, options.dedupWindowSeconds());
    }

    QueueOptions options(LaneName name) {
        return catalog.queue(name.tenant(), name.queue())
                .map(Queue::options)
                .orElseThrow(() -> new QueenException(Failure.BUSY, "the queue is being deleted"));
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
