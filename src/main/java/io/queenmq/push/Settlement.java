package io.queenmq.push;

import io.queenmq.db.Backend;
import io.queenmq.db.Database;
import io.queenmq.db.LostAnswer;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;

/**
 * Finds out what became of lane-batches whose answer was lost with the connection: append itself
 * looks for the flush ids under the locks of the lanes, and stores what is not there. Until then
 * the lanes are held, and nobody is told that anything failed.
 */
final class Settlement {
    private static final System.Logger LOG = System.getLogger(Settlement.class.getName());

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
        try {
            LostAnswer.settle(
                    database,
                    lostBackend,
                    () -> {
                        giveUpLate(open);
                        return open.isEmpty();
                    },
                    () -> retry(open));
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
