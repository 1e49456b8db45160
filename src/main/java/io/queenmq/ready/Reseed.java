package io.queenmq.ready;

import io.micrometer.core.instrument.Counter;
import io.queenmq.metrics.Metrics;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Reads from the tables, page by page, which lanes of a (queue, group) have work: at the first pop
 * by its own thread as far as the first lanes found, the rest and all later readings by one thread
 * of this class, one after the other: on request, and as floor for every group in use.
 */
final class Reseed implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger(Reseed.class.getName());
    private static final long SWEEP_SECONDS = 30;
    private static final long FAILURE_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(5);

    private final ReadyLanes ready;
    private final LaneSource source;
    private final Counter readings;
    private final Counter failures;
    private final Thread thread;

    /** Guards {@code requested}. */
    private final ReentrantLock requestsLock = new ReentrantLock();

    private final Condition requests = requestsLock.newCondition();
    private final LinkedHashSet<GroupLanes> requested = new LinkedHashSet<>();

    Reseed(ReadyLanes ready, LaneSource source, Metrics metrics) {
        this.ready = ready;
        this.readings =
                metrics.counter(
                        "queen_ready_readings_total",
                        "Times the lanes with work of a group were read from the tables.");
        this.failures =
                metrics.counter(
                        "queen_ready_reading_failures_total",
                        "Readings of lanes with work that failed.");
        this.source = source;
        this.thread = Thread.ofVirtual().name("queen-reseed").start(this::run);
    }

    /** Returns once something ready has been found, or all there is has been read. */
    void awaitFirst(GroupLanes lanes) {
        while (true) {
            CompletableFuture<Void> running = lanes.seeding.get();
            if (running != null && running.isDone()) {
                return;
            }
            if (running != null) {
                // A failed reading is begun again by whoever waited for it.
                running.exceptionally(failure -> null).join();
                continue;
            }
            CompletableFuture<Void> mine = new CompletableFuture<>();
            if (lanes.seeding.compareAndSet(null, mine)) {
                readFirst(lanes, mine);
                return;
            }
        }
    }

    void request(GroupLanes[] groups) {
        requestsLock.lock();
        try {
            requested.addAll(List.of(groups));
            requests.signal();
        } finally {
            requestsLock.unlock();
        }
    }

    void requestAll() {
        request(ready.all().toArray(GroupLanes[]::new));
    }

    @Override
    public void close() {
        thread.interrupt();
    }

    private void readFirst(GroupLanes lanes, CompletableFuture<Void> mine) {
        try {
            lanes.seededNanos = ready.clock.nanos();
            if (readPages(lanes, true)) {
                request(new GroupLanes[] {lanes});
            }
            mine.complete(null);
        } catch (RuntimeException e) {
            lanes.seeding.set(null);
            mine.completeExceptionally(e);
            throw e;
        }
    }

    /** True = stopped at the first ready lanes, there may be more. */
    private boolean readPages(GroupLanes lanes, boolean stopAtReady) {
        LaneSource.@Nullable Found last = null;
        int limit = ready.config.seedPage();
        readings.increment();
        while (true) {
            List<LaneSource.Found> page =
                    source.lanesWithWork(lanes.queueId(), lanes.groupId(), last, limit);
            lanes.found(page);
            if (page.size() < limit) {
                return false;
            }
            if (stopAtReady && lanes.hasReady()) {
                return true;
            }
            last = page.getLast();
        }
    }

    private void run() {
        try {
            while (!Thread.currentThread().isInterrupted()) {
                GroupLanes next = next();
                if (next == null) {
                    tidy();
                } else {
                    read(next);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Nothing that fails here may end the thread: it is the floor under every hint. */
    private void tidy() {
        try {
            ready.sweep();
            requestOverdue();
        } catch (RuntimeException e) {
            failures.increment();
            LOG.log(System.Logger.Level.WARNING, "tidying the ready lanes failed", e);
        }
    }

    /** What fails is read later: whoever asked for it relies on nothing else. */
    private void read(GroupLanes lanes) {
        try {
            lanes.seededNanos = ready.clock.nanos();
            readPages(lanes, false);
        } catch (RuntimeException e) {
            failures.increment();
            LOG.log(
                    System.Logger.Level.WARNING,
                    "reading lanes with work failed queueId="
                            + lanes.queueId()
                            + " groupId="
                            + lanes.groupId()
                            + " cause="
                            + e);
            request(new GroupLanes[] {lanes});
            LockSupport.parkNanos(FAILURE_PAUSE_NANOS);
        }
    }

    private void requestOverdue() {
        long now = ready.clock.nanos();
        long floor = ready.config.floor().toNanos();
        for (GroupLanes lanes : ready.all()) {
            // Spread by up to a tenth, so that brokers do not read in step.
            long spread = ThreadLocalRandom.current().nextLong(Math.max(1, floor / 10));
            if (now - lanes.seededNanos > floor - spread) {
                request(new GroupLanes[] {lanes});
            }
        }
    }

    /** The next request; null = none came for a while. */
    private @Nullable GroupLanes next() throws InterruptedException {
        requestsLock.lockInterruptibly();
        try {
            long left = TimeUnit.SECONDS.toNanos(SWEEP_SECONDS);
            while (requested.isEmpty() && left > 0) {
                left = requests.awaitNanos(left);
            }
            return requested.isEmpty() ? null : requested.removeFirst();
        } finally {
            requestsLock.unlock();
        }
    }
}
