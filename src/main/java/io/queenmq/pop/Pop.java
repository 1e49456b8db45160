package io.queenmq.pop;

import io.queenmq.count.Activities;
import io.queenmq.count.Counts;
import io.queenmq.db.Database;
import io.queenmq.group.Groups;
import io.queenmq.group.StartRule;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Failure;
import io.queenmq.model.Names;
import io.queenmq.model.QueenException;
import io.queenmq.model.UuidMint;
import io.queenmq.ready.Delivery;
import io.queenmq.ready.LaneNames;
import io.queenmq.ready.Poll;
import io.queenmq.ready.ReadyLanes;
import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.BooleanSupplier;

/** The use case of taking messages; called from the thread of the request, which may park here. */
public final class Pop implements AutoCloseable {
    private static final Duration STOP_PATIENCE = Duration.ofSeconds(5);

    /**
     * First contact of others takes no longer than a commit; a pop that may not wait waits so long.
     */
    private static final Duration BUSY_PATIENCE = Duration.ofSeconds(1);

    private final PopConfig config;
    private final Activities activities;
    private final PopProcedures procedures;
    private final Groups groups;
    private final ReadyLanes ready;
    private final LaneNames names;
    private final Claims claims;
    private final HoldMeters holds;
    private final Autopilot autopilot;
    private final BooleanSupplier paused;
    private final Clock clock;

    /**
     * @param counts told what claims have changed, after the commit
     * @param deliveries told what was delivered under a lease, before the answer leaves
     * @param paused whether nothing is to be delivered for now: every pop finds nothing, and one
     *     that waits takes nothing any more
     */
    public Pop(
            PopConfig config,
            Database database,
            Counts counts,
            Groups groups,
            ReadyLanes ready,
            LaneNames names,
            Delivery.Listener deliveries,
            UuidMint mint,
            BooleanSupplier paused,
            Metrics metrics,
            Clock clock) {
        this.config = config;
        this.activities = counts.activities();
        this.procedures = new PopProcedures(database, counts, config.inlineBytes());
        this.groups = groups;
        this.ready = ready;
        this.names = names;
        this.claims =
                new Claims(
                        config,
                        database,
                        procedures,
                        activities,
                        ready,
                        names,
                        deliveries,
                        mint,
                        metrics,
                        clock);
        this.holds = HoldMeters.of(metrics);
        this.autopilot = new Autopilot(config, metrics, clock);
        this.paused = paused;
        this.clock = clock;
    }

    public void start() {
        claims.start();
    }

    /**
     * Takes what is there, or waits for it.
     *
     * @throws QueenException overloaded, database away, deadline, bad request
     */
    public PopResult pop(PopRequest request, Client client) {
        Source source = source(request);
        long begin = clock.nanos();
        long deadline = begin + request.patience().toNanos();
        long busyDeadline = begin + BUSY_PATIENCE.toNanos();
        Poll poll = null;
        int parkedAt = 0;
        try {
            while (true) {
                if (poll != null) {
                    source.leave(poll);
                    poll.rearm();
                }
                // Read before the look: a look that began in time is the last one.
                boolean last =
                        ready.isStopping()
                                || Thread.currentThread().isInterrupted()
                                || clock.nanos() - deadline >= 0;
                if (paused.getAsBoolean()) {
                    return PopResult.paused(request.conflation());
                }
                boolean hindered = false;
                PopResult result = PopResult.EMPTY;
                try {
                    result = look(client, source, last);
                } catch (QueenException e) {
                    if (last || !passes(e)) {
                        throw e;
                    }
                    hindered = true;
                    source.pass();
                }
                if (!result.lanes().isEmpty()) {
                    return source.answer(result);
                }
                if (client.isGone()) {
                    return PopResult.EMPTY;
                }
                if (last && !(source.isBusy() && mayWait(busyDeadline))) {
                    return nothing(source);
                }
                if (poll == null) {
                    poll = ready.open();
                    client.onGone(poll::wake);
                }
                if (parkedAt == 0) {
                    parkedAt = source.queueId();
                    activities.parks(parkedAt);
                }
                if (hindered) {
                    poll.await(Math.min(deadline, clock.nanos() + pauseNanos()));
                } else if (source.park(poll)) {
                    long revisit = source.revisitNanos();
                    poll.await(last ? revisit : Math.min(deadline, revisit));
                }
            }
        } finally {
            if (poll != null) {
                source.leave(poll);
                source.close(poll);
                ready.close(poll);
                activities.leaves(parkedAt);
            }
            source.pass();
            source.end();
        }
    }

    /** Gives a leased result back at once, charging no attempt: its answer could not be written. */
    public void giveBack(PopResult result) {
        claims.giveBack(result);
    }

    /** Answers every parked poll with nothing and parks no further one; the broker is stopping. */
    public void wakeAll() {
        ready.stopPolls();
    }

    @Override
    public void close() {
        wakeAll();
        claims.stop(STOP_PATIENCE);
    }

    /** Tries candidates until one gives something or none is left. */
    private PopResult look(Client client, Source source, boolean last) {
        boolean first = true;
        while (!client.isGone()) {
            Candidates candidates = source.take(config.lanesMax(), first, last);
            if (candidates.isEmpty()) {
                break;
            }
            PopResult result = claims.claim(source.request(), candidates);
            if (!result.lanes().isEmpty()) {
                if (client.isGone()) {
                    claims.giveBack(result);
                    break;
                }
                return result;
            }
            if (candidates.isPinned()) {
                break;
            }
            first = false;
        }
        return PopResult.EMPTY;
    }

    /** Whether a poll that has time left outlives the failure: an outage, or too much to do. */
    private static boolean passes(QueenException failure) {
        return switch (failure.failure()) {
            case DATABASE_AWAY, OUTCOME_UNKNOWN, OVERLOADED, BUSY, DEADLINE -> true;
            case BAD_REQUEST,
                    UNAUTHENTICATED,
                    FORBIDDEN,
                    NOT_FOUND,
                    BODY_TOO_LARGE,
                    QUEUE_ENCRYPTED,
                    DUPLICATE,
                    ACK_REJECTED,
                    PAYLOAD_TOO_LARGE,
                    KV_PRECONDITION,
                    RATE_LIMITED,
                    KV_DISABLED,
                    TIMERS_DISABLED,
                    TIMER_HORIZON_EXCEEDED,
                    FEATURE_GATED,
                    KV_QUOTA_EXCEEDED,
                    TIMERS_QUOTA_EXCEEDED,
                    STOPPING,
                    INTERNAL ->
                    false;
        };
    }

    private boolean mayWait(long untilNanos) {
        return clock.nanos() - untilNanos < 0
                && !ready.isStopping()
                && !Thread.currentThread().isInterrupted();
    }

    /** Half a second to one and a half, so that polls do not come back in step. */
    private static long pauseNanos() {
        return ThreadLocalRandom.current().nextLong(500_000_000L, 1_500_000_000L);
    }

    private PopResult nothing(Source source) {
        if (source.isBusy()) {
            throw new QueenException(
                    Failure.BUSY, "the queue or group is being created by an open transaction");
        }
        activities.poppedNothing(source.queueId());
        return PopResult.EMPTY.with(source.conflation());
    }

    private Source source(PopRequest request) {
        StartRule rule =
                request.group().equals(Names.QUEUE_MODE)
                        ? StartRule.ALL
                        : switch (request.startAt()) {
                            case StartAt.Oldest() -> StartRule.ALL;
                            case StartAt.Now() -> StartRule.NEW;
                            case StartAt.At(var instant) -> StartRule.at(instant);
                        };
        return switch (request.scope()) {
            case PopScope.Queue(String queue) ->
                    new QueueSource(
                            groups,
                            ready,
                            procedures,
                            holds,
                            clock,
                            request,
                            autopilot.pilot(request),
                            config.messagesMax(),
                            queue,
                            rule);
            case PopScope.Partition(String queue, String partition) ->
                    new PinnedSource(
                            groups,
                            ready,
                            names,
                            procedures,
                            clock,
                            request,
                            new LaneNames.Name(request.tenant(), queue, partition),
                            rule);
            case PopScope.Labels labels ->
                    new DiscoverySource(groups, ready, procedures, clock, request, labels, rule);
        };
    }
}
