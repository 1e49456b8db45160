package io.queenmq.combine;

import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * What waits in a {@link Combiner} and whose turn it is: bounded, fair, one call per key. All of it
 * under one lock that is only ever held for a few steps of memory.
 */
final class Backlog<K, W extends Work<K>> {
    /** A key this often busy in a row is tried by patient threads. */
    private static final int BUSY_BEFORE_ALONE = 3;

    private static final long FIRST_REST_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    /** Each key under way is worth waiting for so many in the next call. */
    private static final int COMPANY_KEYS = 4;

    /** So long a key waits for company at most while other calls are under way. */
    private static final long COMPANY_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private final Combiner<K, W> combiner;
    private final CombinerConfig config;
    private final Clock clock;
    private final Admission<K, W> admission;

    /** Guards what follows. */
    private final ReentrantLock state = new ReentrantLock();

    private final Condition forFlushers = state.newCondition();
    private final Condition forPatients = state.newCondition();
    private final Condition emptied = state.newCondition();

    private final Map<K, KeyQueue<K, W>> keys = new HashMap<>();
    private final FairRing<K, W> common = new FairRing<>();
    private final FairRing<K, W> singles = new FairRing<>();
    private final FairRing<K, W> busyKeys = new FairRing<>();
    private final PriorityQueue<KeyQueue<K, W>> resting =
            new PriorityQueue<>(Comparator.comparingLong((KeyQueue<K, W> key) -> key.dueNanos));

    private int idleFlushers;

    /** An idle flusher sleeps no longer than {@link #commonDueNanos}. */
    private boolean watched;

    /** Keys in calls that are under way, those with a call to themselves left out. */
    private int commonInFlight;

    /** When the keys that wait are served, however few they are. */
    private long commonDueNanos;

    private boolean singleInFlight;
    private boolean singlesHadTheirTurn;
    private boolean ended;

    Backlog(Combiner<K, W> combiner, CombinerConfig config, Clock clock) {
        this.combiner = combiner;
        this.config = config;
        this.clock = clock;
        this.admission = new Admission<>(config, clock, state);
    }

    Admission<K, W> admission() {
        return admission;
    }

    void submit(List<W> works, long deadlineNanos) {
        state.lock();
        try {
            admission.enter(works, keys, deadlineNanos);
            for (int i = 0; i < works.size(); i++) {
                W work = works.get(i);
                KeyQueue<K, W> key = keys.get(work.key());
                if (key == null) {
                    key = new KeyQueue<>(work);
                    keys.put(key.key, key);
                }
                key.items += work.items();
                key.bytes += work.bytes();
                key.waiting.addLast(work);
                lineUp(key);
            }
        } finally {
            state.unlock();
        }
    }

    boolean withdraw(W work) {
        state.lock();
        try {
            KeyQueue<K, W> key = keys.get(work.key());
            if (key == null || !key.waiting.remove(work)) {
                return false;
            }
            admission.leave(key, work.items(), work.bytes());
            forgetIfEmpty(key);
            return true;
        } finally {
            state.unlock();
        }
    }

    /** Refuses what comes and waits until nothing is left, or for so long. */
    void drain(Duration patience) {
        state.lock();
        try {
            admission.close();
            long left = patience.toNanos();
            while (!keys.isEmpty() && left > 0) {
                left = emptied.awaitNanos(left);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            state.unlock();
        }
    }

    /** Sends the threads home; returns what nobody will serve any more. */
    List<Bundle<K, W>> end() {
        List<Bundle<K, W>> late = new ArrayList<>();
        state.lock();
        try {
            ended = true;
            for (KeyQueue<K, W> key : keys.values()) {
                if (!key.waiting.isEmpty()) {
                    Bundle<K, W> bundle = new Bundle<>(combiner, key, false);
                    bundle.works.addAll(key.waiting);
                    key.waiting.clear();
                    late.add(bundle);
                }
            }
            forFlushers.signalAll();
            forPatients.signalAll();
        } finally {
            state.unlock();
        }
        return late;
    }

    private void forgetIfEmpty(KeyQueue<K, W> key) {
        if (key.waiting.isEmpty() && !key.inFlight && !key.inLine) {
            keys.remove(key.key);
            if (keys.isEmpty()) {
                emptied.signalAll();
            }
        }
    }

    // -- turns -----------------------------------------------------------------------------------

    /** Puts a key where its next call will find it, unless it is there already or under way. */
    private void lineUp(KeyQueue<K, W> key) {
        if (key.inFlight || key.inLine || key.waiting.isEmpty()) {
            return;
        }
        key.inLine = true;
        if (key.busy >= BUSY_BEFORE_ALONE) {
            resting.add(key);
            forPatients.signal();
        } else {
            if (needsOwnCall(key)) {
                singles.add(key);
            } else {
                if (common.isEmpty()) {
                    commonDueNanos = clock.nanos() + COMPANY_NANOS;
                }
                common.add(key);
            }
            signalFlusher();
        }
    }

    private boolean needsOwnCall(KeyQueue<K, W> key) {
        W head = key.waiting.getFirst();
        return key.suspects > 0
                || head.bytes() > config.call().aloneBytes()
                || head.items() > config.call().items();
    }

    /**
     * A call costs much the same for one key as for many: while others are under way, the next one
     * waits until it is much larger than they are, or for a short time. Calls that are slow for
     * another reason than their number of keys, on a distant server, so still overlap.
     */
    private boolean isCommonDue() {
        return !common.isEmpty()
                && (common.size() >= COMPANY_KEYS * commonInFlight
                        || clock.nanos() - commonDueNanos >= 0);
    }

    private boolean isSingleDue() {
        return !singles.isEmpty() && !singleInFlight;
    }

    /** Wakes a flusher for what is due, or to watch over what is not yet. */
    private void signalFlusher() {
        if (idleFlushers > 0
                && (isSingleDue() || isCommonDue() || (!watched && !common.isEmpty()))) {
            forFlushers.signal();
        }
    }

    /** What a free flusher serves next; empty = the combiner has ended. */
    List<Bundle<K, W>> takeTogether() throws InterruptedException {
        List<Bundle<K, W>> taken = new ArrayList<>();
        state.lock();
        try {
            while (taken.isEmpty() && !ended) {
                boolean commonDue = isCommonDue();
                if (isSingleDue() && !(singlesHadTheirTurn && commonDue)) {
                    singlesHadTheirTurn = true;
                    takeSingle(taken);
                } else if (commonDue) {
                    singlesHadTheirTurn = false;
                    takeCommon(taken);
                } else {
                    awaitWork();
                }
            }
            // What is left behind may find another flusher asleep: one signal can stand for several
            // keys.
            signalFlusher();
            return taken;
        } finally {
            state.unlock();
        }
    }

    private void awaitWork() throws InterruptedException {
        while (!ended && !isSingleDue() && !isCommonDue()) {
            boolean watches = !watched && !common.isEmpty();
            idleFlushers++;
            try {
                if (watches) {
                    watched = true;
                    forFlushers.awaitNanos(commonDueNanos - clock.nanos());
                } else {
                    forFlushers.await();
                }
            } finally {
                idleFlushers--;
                if (watches) {
                    watched = false;
                }
            }
        }
    }

    private void takeCommon(List<Bundle<K, W>> taken) {
        CombinerConfig.Call call = config.call();
        long items = 0;
        long bytes = 0;
        while (taken.size() < call.keys()) {
            KeyQueue<K, W> key = common.peek();
            if (key == null) {
                return;
            }
            W head = key.waiting.peekFirst();
            if (head == null || needsOwnCall(key)) {
                // Its first work was withdrawn since it lined up.
                common.remove();
                stepOut(key);
                continue;
            }
            boolean fits =
                    items + head.items() <= call.items() && bytes + head.bytes() <= call.bytes();
            if (!fits && !taken.isEmpty()) {
                return;
            }
            common.remove();
            Bundle<K, W> bundle =
                    bundle(
                            key,
                            call.items() - items,
                            Math.min(call.aloneBytes(), call.bytes() - bytes));
            bundle.inCommonCall = true;
            commonInFlight++;
            items += bundle.items;
            bytes += bundle.bytes;
            taken.add(bundle);
        }
    }

    private void takeSingle(List<Bundle<K, W>> taken) {
        KeyQueue<K, W> key = singles.peek();
        if (key == null) {
            return;
        }
        singles.remove();
        if (key.waiting.isEmpty()) {
            stepOut(key);
            return;
        }
        singleInFlight = true;
        Bundle<K, W> bundle = bundle(key, 0, 0);
        bundle.ownCall = true;
        taken.add(bundle);
    }

    private void stepOut(KeyQueue<K, W> key) {
        key.inLine = false;
        lineUp(key);
        forgetIfEmpty(key);
    }

    /** The first work of a key, and as many more as stay within the bounds. */
    private Bundle<K, W> bundle(KeyQueue<K, W> key, long itemsMax, long bytesMax) {
        Bundle<K, W> bundle = new Bundle<>(combiner, key, key.suspects > 0);
        key.inLine = false;
        key.inFlight = true;
        W work = key.waiting.removeFirst();
        while (true) {
            bundle.works.add(work);
            bundle.items += work.items();
            bundle.bytes += work.bytes();
            if (bundle.suspect) {
                key.suspects--;
                return bundle;
            }
            W next = key.waiting.peekFirst();
            if (next == null
                    || bundle.items + next.items() > itemsMax
                    || bundle.bytes + next.bytes() > bytesMax) {
                return bundle;
            }
            work = key.waiting.removeFirst();
        }
    }

    /** The busy key whose turn it is; null = the combiner has ended. */
    @Nullable Bundle<K, W> takeAlone() throws InterruptedException {
        state.lock();
        try {
            while (!ended) {
                long now = clock.nanos();
                KeyQueue<K, W> rested = resting.peek();
                while (rested != null && rested.dueNanos - now <= 0) {
                    busyKeys.add(resting.remove());
                    rested = resting.peek();
                }
                KeyQueue<K, W> key = busyKeys.peek();
                if (key != null) {
                    busyKeys.remove();
                    // Another that waits may not know of what is due next: the signal for that one
                    // may have gone to this thread.
                    if (busyKeys.peek() != null || !resting.isEmpty()) {
                        forPatients.signal();
                    }
                    if (!key.waiting.isEmpty()) {
                        return bundle(key, config.call().items(), config.call().aloneBytes());
                    }
                    stepOut(key);
                } else if (rested == null) {
                    forPatients.await();
                } else {
                    forPatients.awaitNanos(rested.dueNanos - now);
                }
            }
            return null;
        } finally {
            state.unlock();
        }
    }

    // -- after a call ----------------------------------------------------------------------------

    /** Frees the keys of a call; returns the bundles that nobody will serve any more. */
    List<Bundle<K, W>> finish(List<Bundle<K, W>> bundles) {
        List<Bundle<K, W>> late = new ArrayList<>(0);
        state.lock();
        try {
            if (bundles.getFirst().ownCall) {
                singleInFlight = false;
            } else if (bundles.getFirst().inCommonCall) {
                commonInFlight -= bundles.size();
            }
            for (int i = 0; i < bundles.size(); i++) {
                Bundle<K, W> bundle = bundles.get(i);
                if (bundle.outcome != Bundle.Outcome.HELD && !putBack(bundle, bundle.outcome)) {
                    late.add(bundle);
                }
            }
        } finally {
            state.unlock();
        }
        return late;
    }

    /** Ends the holding of a key; false = nobody will serve the bundle any more. */
    boolean release(Bundle<K, W> bundle, Bundle.Outcome outcome) {
        state.lock();
        try {
            return putBack(bundle, outcome);
        } finally {
            state.unlock();
        }
    }

    private boolean putBack(Bundle<K, W> bundle, Bundle.Outcome outcome) {
        KeyQueue<K, W> key = bundle.home;
        key.inFlight = false;
        boolean late = ended && outcome != Bundle.Outcome.DONE;
        if (late || outcome == Bundle.Outcome.DONE) {
            key.busy = 0;
            admission.leave(key, bundle.items, bundle.bytes);
        } else {
            long items = bundle.items;
            long bytes = bundle.bytes;
            for (int i = bundle.works.size() - 1; i >= 0; i--) {
                W work = bundle.works.get(i);
                items -= work.items();
                bytes -= work.bytes();
                key.waiting.addFirst(work);
            }
            admission.leave(key, items, bytes);
            if (outcome == Bundle.Outcome.SUSPECT) {
                key.suspects += bundle.works.size();
            } else if (bundle.suspect) {
                key.suspects += bundle.works.size();
            }
            if (outcome == Bundle.Outcome.BUSY) {
                key.busy++;
                key.dueNanos = clock.nanos() + restNanos(key.busy);
            }
        }
        lineUp(key);
        forgetIfEmpty(key);
        return !late;
    }

    private long restNanos(int busy) {
        if (busy <= BUSY_BEFORE_ALONE) {
            return 0;
        }
        int doublings = Math.min(busy - BUSY_BEFORE_ALONE - 1, 20);
        return Math.min(FIRST_REST_NANOS << doublings, config.backOffMax().toNanos());
    }
}
