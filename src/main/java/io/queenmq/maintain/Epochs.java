package io.queenmq.maintain;

import io.micrometer.core.instrument.Counter;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import java.time.Duration;

/**
 * Leads the tables of the log through their lives: a new one when the open one has had its share,
 * out with the oldest when nothing in it is alive, what little is alive moved out of its way. What
 * comes next is always read from the catalogue, so it does not matter who did the step before, nor
 * whether that broker was killed.
 */
final class Epochs implements Job {
    /** After so many tries in vain a held lane is waited for. */
    private static final int TRIES_BEFORE_WAITING = 3;

    private final EpochConfig config;
    private final EpochProcedures procedures;
    private final Counter moved;
    private final Counter movedBytes;
    private final Counter removed;
    private final Counter dropped;
    private final Counter delays;
    private int heldInARow;

    Epochs(EpochConfig config, EpochProcedures procedures, Metrics metrics) {
        this.config = config;
        this.procedures = procedures;
        this.moved =
                metrics.counter(
                        "queen_maintain_segments_moved_total",
                        "Segments that outlived their epoch and moved to epoch 0.");
        this.movedBytes =
                metrics.counter(
                        "queen_maintain_segments_moved_bytes_total",
                        "Bytes of these, as they are stored.");
        this.removed =
                metrics.counter(
                        "queen_maintain_segments_removed_total",
                        "Dead segments deleted from epoch 0.");
        this.dropped =
                metrics.counter(
                        "queen_maintain_epochs_dropped_total",
                        "Epochs whose table, all dead, was dropped.");
        this.delays =
                metrics.counter(
                        "queen_maintain_epoch_delays_total",
                        "Steps of epochs that had to wait for somebody's lock; queen.epochs says"
                                + " whose.");
    }

    @Override
    public String name() {
        return "epochs";
    }

    @Override
    public Duration period() {
        return config.period();
    }

    @Override
    public boolean hasWork() {
        return !procedures.work().isEmpty();
    }

    @Override
    public boolean step() {
        boolean more = false;
        for (EpochProcedures.Work work : procedures.work()) {
            more |= attempt(work);
        }
        return more;
    }

    /** Whether there is more to do now. */
    private boolean attempt(EpochProcedures.Work work) {
        try {
            return run(work);
        } catch (QueenException e) {
            if (e.failure() != Failure.BUSY) {
                throw e;
            }
            delays.increment();
            return false;
        }
    }

    private boolean run(EpochProcedures.Work work) {
        return switch (work.step()) {
            case BUILD -> procedures.build(work.epoch());
            case OPEN -> procedures.open();
            case SEAL -> procedures.seal();
            case DETACH -> detach(work.epoch(), false);
            case FINALIZE -> detach(work.epoch(), true);
            case DROP -> drop(work.epoch());
            case EVACUATE -> evacuate(work.epoch());
            case SWEEP -> sweep();
        };
    }

    private boolean detach(int epoch, boolean interrupted) {
        boolean detached = procedures.detach(epoch, interrupted);
        if (!detached) {
            delays.increment();
        }
        return detached;
    }

    private boolean drop(int epoch) {
        boolean wasThere = procedures.drop(epoch);
        if (wasThere) {
            dropped.increment();
        }
        return wasThere;
    }

    private boolean evacuate(int epoch) {
        EpochProcedures.Evacuated step =
                procedures.evacuate(epoch, heldInARow >= TRIES_BEFORE_WAITING);
        moved.increment((double) step.rows());
        movedBytes.increment((double) step.bytes());
        heldInARow = step.held() && step.rows() == 0 ? heldInARow + 1 : 0;
        if (step.held()) {
            delays.increment();
        }
        return true;
    }

    private boolean sweep() {
        EpochProcedures.Swept step = procedures.sweep();
        removed.increment((double) step.rows());
        return !step.done();
    }
}
