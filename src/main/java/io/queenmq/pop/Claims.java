package io.queenmq.pop;

import io.micrometer.core.instrument.Counter;
import io.queenmq.count.Activities;
import io.queenmq.db.ConnectionLost;
import io.queenmq.db.Database;
import io.queenmq.db.LostAnswer;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.QueenException;
import io.queenmq.model.UuidMint;
import io.queenmq.ready.Delivery;
import io.queenmq.ready.Findings;
import io.queenmq.ready.LaneNames;
import io.queenmq.ready.ReadyLanes;
import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * One try of one pop: claims candidate lanes, tells the ready lanes what was found, and reads what
 * the claim did not bring along. Threads of pops.
 */
final class Claims {
    private static final System.Logger LOG = System.getLogger(Claims.class.getName());

    /** Longer than the time limit of a statement: a claim is given up by the database, not here. */
    private static final Duration PATIENCE = Duration.ofSeconds(40);

    /** Of a database that stays away longer the leases run out by themselves. */
    private static final Duration TAKE_BACK_PATIENCE = Duration.ofSeconds(5);

    /** Segments read by one statement: at most that many MiB, but for messages over one. */
    private static final int SEGMENTS_PER_READ = 8;

    /** A lane that gave something. */
    private record Taken(Candidates.Lane lane, Claim.Outcome outcome) {}

    private final PopConfig config;
    private final Database database;
    private final PopProcedures procedures;
    private final Activities activities;
    private final ReadyLanes ready;
    private final LaneNames names;
    private final Delivery.Listener deliveries;
    private final UuidMint mint;
    private final Clock clock;
    private final ClaimCombiner leased;
    private final ClaimCombiner auto;
    private final ClaimCombiner first;
    private final Counter messages;
    private final Counter claims;
    private final Counter fruitless;
    private final Counter givenBack;
    private final Counter takenBack;
    private final Counter shortened;

    Claims(
            PopConfig config,
            Database database,
            PopProcedures procedures,
            Activities activities,
            ReadyLanes ready,
            LaneNames names,
            Delivery.Listener deliveries,
            UuidMint mint,
            Metrics metrics,
            Clock clock) {
        this.config = config;
        this.database = database;
        this.procedures = procedures;
        this.activities = activities;
        this.ready = ready;
        this.names = names;
        this.deliveries = deliveries;
        this.mint = mint;
        this.clock = clock;
        this.claims = metrics.counter("queen_pop_claims_total", "Tries of pops to claim lanes.");
        this.fruitless =
                metrics.counter("queen_pop_fruitless_total", "Tries of pops that took nothing.");
        this.messages = metrics.counter("queen_pop_messages_total", "Messages delivered.");
        this.givenBack =
                metrics.counter(
                        "queen_pop_given_back_total",
                        "Lanes given back at once because the client had gone.");
        this.takenBack =
                metrics.counter(
                        "queen_pop_taken_back_total",
                        "Claims whose answer was lost, and whose lanes were given back.");
        this.shortened =
                metrics.counter(
                        "queen_pop_shortened_total",
                        "Claims given back and repeated because their answer was too large.");
        metrics.gauge(
                "queen_pop_waiting_lanes",
                "Lanes whose claim waits or is under way.",
                this::waiting);
        this.leased = new ClaimCombiner(config, "claim", procedures::claimLeased, clock);
        this.auto = new ClaimCombiner(config, "claim-auto", procedures::claimAuto, clock);
        this.first = new ClaimCombiner(config, "claim-first", procedures::claimFirst, clock);
    }

    private long waiting() {
        return leased.waiting() + auto.waiting() + first.waiting();
    }

    void start() {
        leased.start();
        auto.start();
        first.start();
    }

    void stop(Duration patience) {
        leased.stop(patience);
        auto.stop(patience);
        first.stop(patience);
    }

    /** What the candidates give; each of them goes back to where it was taken from. */
    PopResult claim(PopRequest request, Candidates candidates) {
        int budget = Math.clamp(request.batch(), 1, config.messagesMax());
        claims.increment();
        if (request.autoAck()) {
            lookUpNames(candidates.lanes());
        }
        List<Taken> taken = tryClaim(request, candidates, budget);
        if (taken.isEmpty()) {
            fruitless.increment();
            return PopResult.EMPTY;
        }
        UUID lease = taken.getFirst().outcome().leaseId;
        return lease == null
                ? result(null, taken)
                : deliver(request, candidates.limit(), lease, taken);
    }

    /** Before the commit, so that a look-up that fails loses nothing. */
    private void lookUpNames(List<Candidates.Lane> lanes) {
        try {
            names.of(lanes.stream().map(Candidates.Lane::number).toList());
        } catch (RuntimeException e) {
            // Not looked at, and not to be forgotten.
            lanes.forEach(lane -> lane.home().busy(lane.number()));
            throw e;
        }
    }

    /** Fills in the frames; a lease covers what it delivers and no more. */
    private PopResult deliver(PopRequest request, int limit, UUID lease, List<Taken> taken) {
        try {
            int fitting = readFrames(taken);
            if (fitting == 0) {
                return leasedResult(request, lease, taken);
            }
            shortened.increment();
            release(lease, taken);
            List<Taken> less = tryClaim(request, retake(taken, limit), fitting);
            Set<Long> again = numbers(less).collect(Collectors.toSet());
            offerAgain(
                    taken.stream().filter(lane -> !again.contains(lane.lane().number())).toList());
            UUID next = less.isEmpty() ? null : less.getFirst().outcome().leaseId;
            return next == null ? PopResult.EMPTY : deliver(request, limit, next, less);
        } catch (RuntimeException e) {
            // Nobody will hear of this lease: better given back than waited out.
            releaseQuietly(lease, taken);
            throw e;
        }
    }

    /** Gives back what a client did not get. */
    void giveBack(PopResult result) {
        UUID lease = result.leaseId();
        if (lease == null || result.lanes().isEmpty()) {
            return;
        }
        givenBack.increment(result.lanes().size());
        List<Long> lanes = result.lanes().stream().map(PopResult.Lane::partitionNumber).toList();
        List<Integer> groups = result.lanes().stream().map(PopResult.Lane::groupId).toList();
        procedures.release(lease, lanes, groups);
        Map<Long, LaneNames.Named> named = names.of(lanes);
        for (int i = 0; i < lanes.size(); i++) {
            LaneNames.Named lane = named.get(lanes.get(i));
            if (lane != null) {
                offerAgain(lane.queueId(), groups.get(i), lanes.get(i));
            }
        }
    }

    private List<Taken> tryClaim(PopRequest request, Candidates candidates, int budget) {
        UUID lease = request.autoAck() ? null : mint.mint();
        List<Taken> taken = new ArrayList<>();
        List<Candidates.Lane> unplaced = new ArrayList<>();
        run(
                request.autoAck() ? auto : leased,
                new Claim(request, lease, budget, candidates),
                taken,
                unplaced);
        if (unplaced.isEmpty()) {
            return taken;
        }
        if (!taken.isEmpty()) {
            unplaced.forEach(lane -> lane.home().untouched(lane.number()));
            return taken;
        }
        run(
                first,
                new Claim(
                        request,
                        lease,
                        budget,
                        new Candidates(
                                List.copyOf(unplaced), candidates.rule(), candidates.limit())),
                taken,
                new ArrayList<>());
        return taken;
    }

    private void run(
            ClaimCombiner combiner,
            Claim claim,
            List<Taken> taken,
            List<Candidates.Lane> unplaced) {
        List<Candidates.Lane> lanes = claim.candidates.lanes();
        List<Claim.Outcome> outcomes;
        try {
            outcomes = combiner.claim(claim, PATIENCE);
        } catch (RuntimeException e) {
            boolean back = false;
            try {
                back = takeBack(claim, e);
            } finally {
                lanes.forEach(lane -> lane.home().busy(lane.number()));
            }
            if (back) {
                lanes.forEach(lane -> offerAgain(lane.queueId(), lane.groupId(), lane.number()));
            }
            throw e;
        }
        // From the last: those not looked at go back to the head one by one.
        for (int i = lanes.size() - 1; i >= 0; i--) {
            Candidates.Lane lane = lanes.get(i);
            Claim.Outcome outcome = outcomes.get(i);
            if (outcome.verdict == Claim.Verdict.NO_CURSOR && !combiner.equals(first)) {
                unplaced.addFirst(lane);
                continue;
            }
            checkIn(lane.home(), lane.number(), outcome);
            if (!outcome.runs.isEmpty()) {
                taken.addFirst(new Taken(lane, outcome));
            }
        }
    }

    /**
     * If the connection broke under way, lanes may be leased for an answer that nobody will give:
     * the lease is ours to name, whoever knows of it or not.
     *
     * @return whether it was such a failure, and no lane is leased any more
     */
    private boolean takeBack(Claim claim, RuntimeException failure) {
        UUID lease = claim.mintedLease;
        if (lease == null
                || !(failure.getCause() instanceof QueenException told
                        && told.getCause() instanceof ConnectionLost lost)) {
            return false;
        }
        List<Candidates.Lane> lanes = claim.candidates.lanes();
        AtomicBoolean back = new AtomicBoolean();
        long last = clock.nanos() + TAKE_BACK_PATIENCE.toNanos();
        try {
            LostAnswer.settle(
                    database,
                    lost.backend(),
                    () -> back.get() || clock.nanos() - last >= 0,
                    () -> {
                        procedures.release(
                                lease,
                                lanes.stream().map(Candidates.Lane::number).toList(),
                                lanes.stream().map(Candidates.Lane::groupId).toList());
                        back.set(true);
                    });
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (back.get()) {
            takenBack.increment();
        }
        return back.get();
    }

    private static void checkIn(Findings home, long lane, Claim.Outcome outcome) {
        switch (outcome.verdict) {
            case LEASED -> {
                if (outcome.leaseExpiresAt == null) {
                    home.busy(lane);
                } else {
                    home.leased(lane, outcome.lastOffset, outcome.leaseExpiresAt);
                }
            }
            case HELD -> {
                if (outcome.leaseExpiresAt == null) {
                    home.busy(lane);
                } else {
                    home.held(lane, outcome.lastOffset, outcome.leaseExpiresAt);
                }
            }
            case SERVED -> home.served(lane, outcome.batchEnd, outcome.lastOffset);
            case EMPTY -> {
                if (outcome.visibleAt == null) {
                    home.empty(lane, outcome.lastOffset);
                } else {
                    long fullAt = outcome.batchEnd > 0 ? outcome.batchEnd : Long.MAX_VALUE;
                    home.deferred(lane, outcome.lastOffset, outcome.visibleAt, fullAt);
                }
            }
            case BUSY -> home.busy(lane);
            case SPARE -> home.untouched(lane);
            case NO_CURSOR, UNKNOWN_PARTITION -> home.gone(lane);
        }
    }

    /**
     * Reads the frames that the claim left out.
     *
     * @return 0 = all there; else how many messages fit into one answer, at least 1
     */
    private int readFrames(List<Taken> taken) {
        long bytes = 0;
        int fitting = 0;
        List<Claim.Run> runs = new ArrayList<>();
        List<Long> lanes = new ArrayList<>();
        for (Taken lane : taken) {
            for (Claim.Run run : lane.outcome().runs) {
                runs.add(run);
                lanes.add(lane.lane().number());
            }
        }
        for (int i = 0; i < runs.size(); i++) {
            Claim.Run run = runs.get(i);
            if (run.frames == null) {
                readSome(runs, lanes, i);
            }
            if (run.frames != null) {
                bytes += run.frames.length;
            }
            if (bytes > config.bytesMax() && i > 0) {
                return fitting;
            }
            fitting += run.count;
        }
        return 0;
    }

    private void readSome(List<Claim.Run> runs, List<Long> lanes, int from) {
        List<Integer> wanted = new ArrayList<>();
        for (int i = from; i < runs.size() && wanted.size() < SEGMENTS_PER_READ; i++) {
            if (runs.get(i).frames == null) {
                wanted.add(i);
            }
        }
        byte[] @Nullable [] frames =
                procedures.readFrames(
                        wanted.stream().map(lanes::get).toList(),
                        wanted.stream().map(i -> runs.get(i).baseOffset).toList());
        for (int i = 0; i < frames.length; i++) {
            runs.get(wanted.get(i)).frames = frames[i];
        }
    }

    private PopResult leasedResult(PopRequest request, UUID lease, List<Taken> taken) {
        PopResult result = result(lease, taken);
        for (Taken lane : taken) {
            Claim.Outcome outcome = lane.outcome();
            if (outcome.leaseExpiresAt != null) {
                deliveries.delivered(
                        new Delivery(
                                request.tenant(),
                                lane.lane().queueId(),
                                lane.lane().groupId(),
                                request.group(),
                                lane.lane().number(),
                                lease,
                                outcome.leaseExpiresAt,
                                outcome.batchEnd,
                                outcome.runs.stream()
                                        .map(
                                                run ->
                                                        new Delivery.Keys(
                                                                run.keys, run.first, run.count))
                                        .toList()));
            }
        }
        return result;
    }

    private PopResult result(@Nullable UUID lease, List<Taken> taken) {
        Map<Long, LaneNames.Named> named = names.of(numbers(taken).toList());
        List<PopResult.Lane> lanes = new ArrayList<>(taken.size());
        long count = 0;
        long nowMillis = clock.now().toEpochMilli();
        Set<Integer> queues = new HashSet<>();
        for (Taken lane : taken) {
            LaneNames.Named name = named.get(lane.lane().number());
            if (name == null) {
                // Its queue was deleted behind the claim.
                continue;
            }
            List<PopResult.Batch> batches = new ArrayList<>(lane.outcome().runs.size());
            for (Claim.Run run : lane.outcome().runs) {
                if (run.frames != null) {
                    batches.add(
                            new PopResult.Batch(
                                    run.baseOffset,
                                    run.first,
                                    run.count,
                                    run.createdAt,
                                    run.keys,
                                    run.frames));
                    count += run.count;
                    activities.delivered(
                            lane.lane().queueId(),
                            run.count,
                            nowMillis - run.createdAt.toEpochMilli(),
                            lease == null);
                }
            }
            if (!batches.isEmpty()) {
                queues.add(lane.lane().queueId());
                activities.named(lane.lane().queueId(), name.name().queue());
                lanes.add(
                        new PopResult.Lane(
                                name.name().queue(),
                                name.name().partition(),
                                lane.lane().number(),
                                lane.lane().groupId(),
                                Math.max(1, lane.outcome().attempt),
                                batches));
            }
        }
        messages.increment((double) count);
        queues.forEach(activities::popped);
        return lanes.isEmpty() ? PopResult.EMPTY : new PopResult(lease, lanes);
    }

    private void release(UUID lease, List<Taken> taken) {
        procedures.release(
                lease,
                numbers(taken).toList(),
                taken.stream().map(lane -> lane.lane().groupId()).toList());
    }

    private void releaseQuietly(UUID lease, List<Taken> taken) {
        try {
            release(lease, taken);
        } catch (QueenException e) {
            // The lease runs out by itself.
            LOG.log(System.Logger.Level.DEBUG, "a lease could not be given back", e);
        }
        offerAgain(taken);
    }

    private static Stream<Long> numbers(List<Taken> taken) {
        return taken.stream().map(lane -> lane.lane().number());
    }

    /** The same lanes, which have been checked in as held. */
    private static Candidates retake(List<Taken> taken, int limit) {
        List<Candidates.Lane> lanes = new ArrayList<>(taken.size());
        for (Taken one : taken) {
            Candidates.Lane lane = one.lane();
            lanes.add(
                    new Candidates.Lane(
                            lane.number(), lane.queueId(), lane.groupId(), Findings.NONE));
        }
        return new Candidates(lanes, null, limit);
    }

    private void offerAgain(List<Taken> taken) {
        for (Taken one : taken) {
            Candidates.Lane lane = one.lane();
            offerAgain(lane.queueId(), lane.groupId(), lane.number());
        }
    }

    private void offerAgain(int queueId, int groupId, long lane) {
        ready.freed(queueId, groupId, lane, -1, 0);
    }
}
