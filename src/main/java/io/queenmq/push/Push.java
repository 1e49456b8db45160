package io.queenmq.push;

import io.queenmq.cipher.PayloadCipher;
import io.queenmq.count.Counts;
import io.queenmq.db.Database;
import io.queenmq.dedup.KeyMemory;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Caller;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.model.UuidMint;
import io.queenmq.queue.QueueCatalog;
import io.queenmq.ready.LaneWrites;
import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.util.List;

/**
 * The use case of storing messages; called from the thread of the request, which waits until every
 * lane has its verdict or the deadline has come.
 */
public final class Push {
    private final PushConfig config;
    private final ServerWatch servers;
    private final PushCombiner combiner;
    private final LaneResolver resolver;
    private final QueueCatalog catalog;
    private final KeyMemory memory;
    private final UuidMint mint;
    private final Clock clock;

    /**
     * @param counts told what was stored, after the commit
     * @param writes told of every lane that was written, after the commit
     * @param cipher seals what goes to encrypted queues
     * @param serverChanged run when the database is another server, or the same after a fail-over
     *     or a restore: no number that was read before may be used; must not call the database
     */
    public Push(
            PushConfig config,
            Database database,
            QueueCatalog catalog,
            KeyMemory memory,
            Counts counts,
            LaneWrites writes,
            PayloadCipher cipher,
            Runnable serverChanged,
            UuidMint mint,
            Metrics metrics,
            Clock clock) {
        this.config = config;
        this.catalog = catalog;
        this.memory = memory;
        this.servers = new ServerWatch(memory, serverChanged);
        this.combiner =
                new PushCombiner(
                        config, database, catalog, memory, counts, writes, cipher, servers, metrics,
                        clock);
        this.resolver = new LaneResolver(catalog, memory, combiner, clock);
        this.mint = mint;
        this.clock = clock;
    }

    public void start() {
        combiner.start();
    }

    /** Accepts nothing more and lets what was accepted finish, for at most {@code patience}. */
    public void stop(Duration patience) {
        combiner.stop(patience);
    }

    /**
     * Stores the items, lane by lane, and answers once every lane has its verdict.
     *
     * @return one result per item, in the order of the items
     * @throws QueenException bad request (nothing stored), overloaded or busy (nothing stored),
     *     outcome unknown
     */
    public List<PushResult> push(Caller caller, List<PushItem> items) {
        if (items.isEmpty()) {
            return List.of();
        }
        long deadlineNanos = clock.nanos() + config.deadline().toNanos();
        PushRequest request = new PushRequest(caller, items, mint, deadlineNanos);
        resolver.submit(request.batches(), deadlineNanos);
        await(request, deadlineNanos);
        QueenException refusal = request.refusal();
        if (refusal != null) {
            throw refusal;
        }
        List<PushResult> results = request.results();
        combiner.meters().failed.increment(request.failedCount());
        return results;
    }

    /**
     * Prepares items for a transaction, which stores them by a call of its own; queues and lanes
     * that are missing are made at once, by commits of their own.
     *
     * @throws QueenException bad request, overloaded, busy
     */
    public TransactionPushes enlist(Caller caller, List<PushItem> items, long deadlineNanos) {
        PushRequest request = new PushRequest(caller, items, mint, deadlineNanos);
        resolver.resolve(request.batches(), deadlineNanos);
        return new TransactionPushes(request, combiner, catalog, memory);
    }

    /** Asked about the server by every call that stores what was enlisted. */
    public ServerWatch servers() {
        return servers;
    }

    PushMeters meters() {
        return combiner.meters();
    }

    /**
     * At the deadline what no call has carried yet is given up, which is certain; what is in a call
     * gets a little longer, then it is in doubt.
     */
    private void await(PushRequest request, long deadlineNanos) {
        try {
            if (request.await(deadlineNanos - clock.nanos())) {
                return;
            }
            for (LaneBatch batch : request.batches()) {
                batch.expire(
                        new QueenException(
                                Failure.BUSY,
                                "not stored within %d s: %s"
                                        .formatted(
                                                config.deadline().toSeconds(),
                                                batch.delay().sentence)));
                if (batch.isGivenUp()) {
                    combiner.withdraw(batch);
                }
            }
            if (!request.await(config.grace().toNanos())) {
                throw new QueenException(
                        Failure.OUTCOME_UNKNOWN,
                        "no answer from the database in time; the messages may or may not be"
                                + " stored");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new QueenException(
                    Failure.OUTCOME_UNKNOWN, "interrupted before the database answered", e);
        }
    }
}
