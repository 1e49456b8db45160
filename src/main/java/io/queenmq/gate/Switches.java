package io.queenmq.gate;

import io.queenmq.db.Database;
import io.queenmq.hint.HintOutbox;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import io.queenmq.runtime.Loop;
import java.time.Duration;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The switches as this broker knows them: read at the start, when another broker tells of a change,
 * and now and then in case nobody did. Any thread.
 */
public final class Switches implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger(Switches.class.getName());
    private static final Duration REREAD = Duration.ofSeconds(30);

    private final SwitchProcedures procedures;
    private final HintOutbox outbox;
    private final Loop loop;

    /** Guards what follows. */
    private final ReentrantLock lock = new ReentrantLock();

    /** What was set here and the database did not take. */
    private final Map<Switch, Boolean> ofThisBroker = new EnumMap<>(Switch.class);

    /** Raised when something is set: rows that were read before are no news then. */
    private long revision;

    /** Written under the lock only. */
    private volatile Set<Switch> off = Set.of();

    /** Reads them once, if the database answers. */
    public Switches(Database database, HintOutbox outbox, Metrics metrics, Clock clock) {
        this.procedures = new SwitchProcedures(database);
        this.outbox = outbox;
        for (Switch one : Switch.values()) {
            metrics.gauge(
                    "queen_gate_open",
                    "Whether something is switched on: 1, or 0.",
                    () -> isOn(one) ? 1 : 0,
                    "switch",
                    one.key());
        }
        try {
            read();
        } catch (QueenException e) {
            LOG.log(System.Logger.Level.WARNING, "switches could not be read, all is on", e);
        }
        this.loop = Loop.start("gate", REREAD, this::read, metrics, clock);
    }

    /** Whether it may be used. */
    public boolean isOn(Switch one) {
        return !off.contains(one);
    }

    /** Looks at once what the database says; where it does not answer they stay as they are. */
    public void refresh() {
        try {
            read();
        } catch (QueenException e) {
            LOG.log(System.Logger.Level.DEBUG, "switches could not be read, they stay", e);
        }
    }

    /** Somebody may have changed them. */
    public void changed() {
        loop.wake();
    }

    /**
     * Switches things on and off, here at once and for good if the database takes it.
     *
     * @return whether it did; if not, the others and the next start of this broker do not know
     */
    public boolean set(Map<Switch, Boolean> wanted) {
        holdHere(wanted);
        try {
            procedures.write(wanted);
        } catch (QueenException e) {
            LOG.log(
                    System.Logger.Level.WARNING,
                    "switches are set on this broker alone: the database did not take them",
                    e);
            return false;
        }
        mirrored(wanted);
        outbox.everythingChanged();
        return true;
    }

    private void holdHere(Map<Switch, Boolean> wanted) {
        lock.lock();
        try {
            revision++;
            ofThisBroker.putAll(wanted);
            off = with(off, wanted);
        } finally {
            lock.unlock();
        }
    }

    private void mirrored(Map<Switch, Boolean> written) {
        lock.lock();
        try {
            revision++;
            // Somebody may have set them otherwise since.
            written.forEach(ofThisBroker::remove);
        } finally {
            lock.unlock();
        }
    }

    private static Set<Switch> with(Set<Switch> off, Map<Switch, Boolean> wanted) {
        Set<Switch> next = EnumSet.noneOf(Switch.class);
        next.addAll(off);
        wanted.forEach(
                (one, on) -> {
                    if (on) {
                        next.remove(one);
                    } else {
                        next.add(one);
                    }
                });
        return next;
    }

    private void read() {
        while (!isNews(revision(), procedures.readOff())) {
            // Something was set meanwhile.
        }
    }

    private long revision() {
        lock.lock();
        try {
            return revision;
        } finally {
            lock.unlock();
        }
    }

    private boolean isNews(long asOf, Set<Switch> rows) {
        lock.lock();
        try {
            if (asOf == revision) {
                off = with(rows, ofThisBroker);
            }
            return asOf == revision;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void close() {
        loop.close();
    }
}
