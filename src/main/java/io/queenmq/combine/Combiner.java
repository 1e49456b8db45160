package io.queenmq.combine;

import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Turns many concurrent small requests into few calls: an idle combiner serves a lone work at once;
 * while calls are under way, the next one takes all that waits, up to the bounds of a call, as soon
 * as that is several times as many keys as they hold together, or has waited a short time.
 *
 * <ul>
 *   <li>A key is in at most one call at a time, its works in the order they came.
 *   <li>Turns go round tenants, then their queues, then keys by age.
 *   <li>A work over the bounds of a call has one to itself, and such calls hold one flusher at
 *       most.
 *   <li>A key that somebody else holds ({@link Bundle#busy}) goes back with its works in order;
 *       after three times it is tried by a patient thread, then rests between tries, longer each
 *       time. It delays only itself.
 *   <li>When a call fails for a reason that one participant may have caused, each of them is tried
 *       by itself, once.
 *   <li>What waits is bounded; callers wait for room, then are refused.
 * </ul>
 *
 * <p>Callers submit from their own threads and learn the outcome from their {@link Work}. A caller
 * that gives up asks {@link #withdraw}: yes means that nothing was or will be done for its work.
 *
 * <pre>{@code
 * Combiner<Lane, AckWork> acks =
 *         new Combiner<>(CombinerConfig.named("ack"), new AckFlush(procedures), clock);
 * acks.start();
 * acks.submit(List.of(work), deadlineNanos);
 * work.await(deadlineNanos);
 * }</pre>
 */
public final class Combiner<K, W extends Work<K>> {
    private static final System.Logger LOG = System.getLogger(Combiner.class.getName());

    private final CombinerConfig config;
    private final Flush<K, W> flush;
    private final Backlog<K, W> backlog;
    private final List<Thread> threads = new ArrayList<>();

    public Combiner(CombinerConfig config, Flush<K, W> flush, Clock clock) {
        this.config = config;
        this.flush = flush;
        this.backlog = new Backlog<>(this, config, clock);
    }

    public void start() {
        for (int i = 1; i <= config.flushers(); i++) {
            launch(config.name() + "-flusher-" + i, this::flushLoop);
        }
        for (int i = 1; i <= config.patients(); i++) {
            launch(config.name() + "-patient-" + i, this::patientLoop);
        }
    }

    private void launch(String name, Runnable loop) {
        threads.add(Thread.ofPlatform().name("queen-" + name).daemon().start(loop));
    }

    /**
     * Accepts all works or none. Waits for room, no longer than the configured patience and not
     * past the deadline.
     *
     * @throws QueenException {@code OVERLOADED}, {@code STOPPING}: none was accepted
     */
    public void submit(List<W> works, long deadlineNanos) {
        backlog.submit(works, deadlineNanos);
    }

    /** True: the work was still waiting, and now is forgotten. False: it is in a call, or done. */
    public boolean withdraw(W work) {
        return backlog.withdraw(work);
    }

    /**
     * Accepts nothing more, lets what was accepted finish for at most {@code patience}, fails what
     * is still waiting then, and returns once the threads have ended.
     */
    public void stop(Duration patience) {
        backlog.drain(patience);
        failAll(backlog.end());
        try {
            for (Thread thread : threads) {
                thread.join(Duration.ofSeconds(5));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Items waiting or under way. */
    public long heldItems() {
        return backlog.admission().heldItems();
    }

    /** Bytes waiting or under way. */
    public long heldBytes() {
        return backlog.admission().heldBytes();
    }

    /** Submissions refused for want of room. */
    public long refused() {
        return backlog.admission().refused();
    }

    private void flushLoop() {
        try {
            List<Bundle<K, W>> bundles = backlog.takeTogether();
            while (!bundles.isEmpty()) {
                try {
                    flush.together(bundles);
                } catch (RuntimeException | Error e) {
                    blame(bundles, refusal(e));
                }
                failAll(backlog.finish(bundles));
                bundles = backlog.takeTogether();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void patientLoop() {
        try {
            Bundle<K, W> bundle = backlog.takeAlone();
            while (bundle != null) {
                try {
                    flush.alone(bundle);
                } catch (RuntimeException | Error e) {
                    fail(bundle, refusal(e));
                }
                failAll(backlog.finish(List.of(bundle)));
                bundle = backlog.takeAlone();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** A held bundle is seen to. */
    void release(Bundle<K, W> bundle, Bundle.Outcome outcome) {
        if (!backlog.release(bundle, outcome)) {
            fail(bundle, Admission.stopped());
        }
    }

    private QueenException refusal(Throwable thrown) {
        if (thrown instanceof QueenException refusal) {
            return refusal;
        }
        LOG.log(
                System.Logger.Level.ERROR,
                "a call of combiner " + config.name() + " broke",
                thrown);
        return new QueenException(Failure.INTERNAL, "internal error", thrown);
    }

    /**
     * A call failed: unless nobody in it can be the reason, each participant gets one try alone.
     */
    private void blame(List<Bundle<K, W>> bundles, QueenException failure) {
        boolean nobody = Blame.isNobodys(failure.failure());
        boolean one = bundles.size() == 1 && bundles.getFirst().works.size() == 1;
        for (Bundle<K, W> bundle : bundles) {
            if (nobody || one) {
                fail(bundle, failure);
            } else {
                bundle.outcome = Bundle.Outcome.SUSPECT;
            }
        }
    }

    private void fail(Bundle<K, W> bundle, QueenException failure) {
        bundle.outcome = Bundle.Outcome.DONE;
        try {
            flush.failed(bundle, failure);
        } catch (RuntimeException e) {
            LOG.log(System.Logger.Level.ERROR, "a failed call could not be answered", e);
        }
    }

    private void failAll(List<Bundle<K, W>> late) {
        for (Bundle<K, W> bundle : late) {
            fail(bundle, Admission.stopped());
        }
    }
}
