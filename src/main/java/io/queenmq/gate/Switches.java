package io.queenmq.gate;

import io.queenmq.db.Database;
import io.queenmq.hint.HintOutbox;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import io.queenmq.runtime.Loop;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;

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
        off = next;
        try {
            procedures.write(wanted);
        } catch (QueenException e) {
            LOG.log(
                    System.Logger.Level.WARNING,
                    "switches are set on this broker alone: the database did not take them",
                    e);
            return false;
        }
        outbox.everythingChanged();
        return true;
    }

    private void read() {
        off = procedures.readOff();
    }

    @Override
    public void close() {
        loop.close();
    }
}
