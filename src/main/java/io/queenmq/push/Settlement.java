package io.queenmq.push;

import io.queenmq.db.Backend;
import io.queenmq.db.ConnectionLost;
import io.queenmq.db.Database;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Finds out what became of lane-batches whose answer was lost with the connection. First the old
 * server process is ended, so that nothing is decided behind our back; then append itself looks for
 * the flush ids under the locks of the lanes, and stores what is not there. Until then the lanes
 * are held, and nobody is told that anything failed.
 */
final class Settlement {
    private static final System.Logger LOG = System.getLogger(Settlement.class.getName());

    private static final long FIRST_PAUSE_MS = 20;
    private static final long PAUSE_MAX_MS = 1_000;
    private static final Duration END_STEP = Duration.ofSeconds(5);

    private final PushConfig config;
    private final Database database;
    private final PushProcedures procedures;
    private final BiConsumer<List<Attempt>, List<PushVerdict>> answer;
    private final PushMeters meters;
    private final Clock clock;

    /**
     * @param answer takes the verdicts of what is decided
     */
    Settlement(
            PushConfig config,
            Database database,
            PushProcedures procedures,
            BiConsumer<List<Attempt>, List<PushVerdict>> answer,
            PushMeters meters,
            Clock clock) {
        this.config = config;
        this.database = database;
        this.procedures = procedures;
        this.answer = answer;
        this.meters = meters;
        this.clock = clock;
    }

    /** Returns when every attempt is decided or nobody waits for it any more. */
    void settle(List<Attempt> attempts, Backend lostBackend) {
        List<Attempt> open = new ArrayList<>(attempts);
        @Nullable Backend backend = lostBackend;
        long pauseMs = FIRST_PAUSE_MS;
        try {
            while (true) {
                giveUpLate(open);
                if (open.isEmpty()) {
                    return;
                }
                try {
                    if (backend == null || database.endBackend(backend, END_STEP)) {
                        backend = null;
                        retry(open);
                    }
                } catch (QueenException e) {
                    if (e.getCause() instanceof ConnectionLost lost) {
                        backend = backend == null ? lost.backend() : backend;
                    }
                }
                if (!open.isEmpty()) {
                    TimeUnit.MILLISECONDS.sleep(pauseMs);
                    pauseMs = Math.min(pauseMs * 2, PAUSE_MAX_MS);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            open.forEach(this::giveUp);
        } catch (RuntimeException e) {
            LOG.log(System.Logger.Level.ERROR, "a lost answer could not be settled", e);
            open.forEach(this::giveUp);
        }
    }

    private void retry(List<Attempt> open) {
        List<PushVerdict> verdicts = procedures.append(open, true);
        List<Attempt> decided = new ArrayList<>();
        List<PushVerdict> decisions = new ArrayList<>();
        for (int i = 0; i < verdicts.size(); i++) {
            if (!(verdicts.get(i) instanceof PushVerdict.Busy)) {
                decided.add(open.get(i));
                decisions.add(verdicts.get(i));
            }
        }
        open.removeAll(decided);
        meters.settled.increment(decided.size());
        answer.accept(decided, decisions);
    }

    private void giveUpLate(List<Attempt> open) {
        long now = clock.nanos() - config.grace().toNanos();
        open.removeIf(
                attempt -> {
                    for (LaneBatch work : attempt.works()) {
                        if (work.deadlineNanos() - now > 0) {
                            return false;
                        }
                    }
                    giveUp(attempt);
                    return true;
                });
    }

    private void giveUp(Attempt attempt) {
        QueenException unknown =
                new QueenException(
                        Failure.OUTCOME_UNKNOWN,
                        "the database connection broke before it answered; the messages may or may"
                                + " not be stored");
        meters.unknown.increment();
        attempt.works().forEach(work -> work.refuse(unknown));
        attempt.bundle().works().removeAll(attempt.works());
        if (attempt.bundle().works().isEmpty()) {
            attempt.bundle().release();
        } else {
            attempt.bundle().again();
        }
    }
}
