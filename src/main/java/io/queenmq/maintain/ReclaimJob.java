package io.queenmq.maintain;

import io.queenmq.db.Database;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.ByteSize;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/**
 * The job of the epochs with another idea of what is worth it: until enough is free the open epoch
 * has had its share, and the oldest is emptied whatever it holds. Every step is one of the usual
 * job.
 */
final class ReclaimJob implements Job {
    static final String NAME = "epochs";

    private static final EpochConfig USUAL = EpochConfig.DEFAULT;
    private static final int EVERYTHING = 100;

    /** Between two looks at what has not come further. */
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    /**
     * What is wanted.
     *
     * @param patience without progress for so long it ends
     * @param lastEpoch later ones are left alone; 0 = than the one that is open in the beginning
     * @param progress told whenever an epoch has come further
     */
    record Order(long bytes, Duration patience, int lastEpoch, Consumer<String> progress) {}

    /** Says what there is to do for so many bytes, with epochs up to a number. */
    @FunctionalInterface
    interface Planner {
        ReclaimPlan plan(long bytes, int lastEpoch);
    }

    private final Order order;
    private final ReclaimProcedures procedures;
    private final Planner planner;
    private final Clock clock;
    private final Epochs rotating;
    private final Epochs emptying;
    private final Epochs finishing;

    /** Largest size that was seen of each epoch, and the one that 0 had in the beginning. */
    private final Map<Integer, Long> sizes = new TreeMap<>();

    private final Map<Integer, String> states = new TreeMap<>();
    private ReclaimPlan plan = new ReclaimPlan(List.of());
    private int checkedForDisk;

    /** 0 = not looked yet. */
    private int lastEpoch;

    private long freedBytes;
    private String signature = "";
    private long furtherNanos;
    private int steps;
    private boolean over;
    private Optional<String> stoppedBy = Optional.empty();

    ReclaimJob(
            Order order,
            ReclaimProcedures procedures,
            Planner planner,
            Database database,
            Metrics metrics,
            Clock clock) {
        this.order = order;
        this.lastEpoch = order.lastEpoch();
        this.procedures = procedures;
        this.planner = planner;
        this.clock = clock;
        this.rotating =
                epochs(
                        config(1, 1, Duration.ZERO, Integer.MAX_VALUE, EVERYTHING),
                        database,
                        metrics);
        this.emptying =
                epochs(
                        config(
                                USUAL.rowsMax(),
                                USUAL.bytesMax(),
                                USUAL.ageMax(),
                                USUAL.epochsMax(),
                                EVERYTHING),
                        database,
                        metrics);
        this.finishing = epochs(USUAL, database, metrics);
    }

    private static EpochConfig config(
            long rowsMax, long bytesMax, Duration ageMax, int epochsMax, int livePercent) {
        return new EpochConfig(
                USUAL.period(),
                rowsMax,
                bytesMax,
                ageMax,
                epochsMax,
                livePercent,
                USUAL.readMax(),
                USUAL.moveMax(),
                USUAL.moveBytesMax());
    }

    private static Epochs epochs(EpochConfig config, Database database, Metrics metrics) {
        return new Epochs(config, new EpochProcedures(database, config), metrics);
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Duration period() {
        return USUAL.period();
    }

    @Override
    public boolean hasWork() {
        return !over;
    }

    /** Whether there is nothing more that it can do. */
    boolean isOver() {
        return over;
    }

    /** How often it was its turn. */
    int steps() {
        return steps;
    }

    long freedBytes() {
        return freedBytes;
    }

    Optional<String> stoppedBy() {
        return stoppedBy;
    }

    @Override
    public boolean step() {
        steps++;
        try {
            return reclaimed();
        } catch (QueenException e) {
            if (e.failure() == Failure.STOPPING) {
                throw e;
            }
            return end(Optional.of("the database: " + e.getMessage()));
        }
    }

    private boolean reclaimed() {
        List<ReclaimProcedures.Standing> epochs = procedures.epochs();
        boolean further = look(epochs);
        if (freedBytes >= order.bytes()) {
            return end(Optional.empty());
        }
        if (further) {
            furtherNanos = clock.nanos();
        } else if (clock.nanos() - furtherNanos > order.patience().toNanos()) {
            return end(Optional.of(whoIsInTheWay(epochs)));
        } else {
            LockSupport.parkNanos(PAUSE_NANOS);
        }
        if (epochs.stream().noneMatch(e -> e.epoch() > 0 && plan.goesTo(e.epoch()))) {
            plan = planner.plan(order.bytes() - freedBytes, lastEpoch);
            if (plan.isEmpty()) {
                return end(Optional.of("a retention: what is left is alive"));
            }
        }
        Optional<String> full = survivorsHaveNoRoom(epochs);
        if (full.isPresent()) {
            return end(full);
        }
        chosen(epochs).step();
        return true;
    }

    private String whoIsInTheWay(List<ReclaimProcedures.Standing> epochs) {
        return epochs.stream()
                .flatMap(epoch -> epoch.waitsFor().stream())
                .findFirst()
                .or(procedures::laneHolder)
                .or(procedures::oldestTransaction)
                .orElse(
                        "a transaction that the server hides from this role: grant"
                                + " pg_read_all_stats to it");
    }

    private boolean end(Optional<String> why) {
        over = true;
        stoppedBy = why;
        return false;
    }

    /** Takes the sizes and states down; returns whether something has changed. */
    private boolean look(List<ReclaimProcedures.Standing> epochs) {
        String before = signature;
        // Of the newest ones too, whose sizes change with every append: only states count there.
        signature =
                epochs.stream()
                        .map(e -> e.epoch() + " " + (isAtRest(e) ? e.progress() : e.state()))
                        .collect(Collectors.joining(", "));
        long now = 0;
        for (ReclaimProcedures.Standing epoch : epochs) {
            if (epoch.epoch() == 0) {
                sizes.putIfAbsent(0, epoch.bytes());
                now -= Math.max(0, epoch.bytes() - sizes.get(0));
            } else {
                sizes.merge(epoch.epoch(), epoch.bytes(), Math::max);
                now -= epoch.bytes();
            }
        }
        for (Map.Entry<Integer, Long> size : sizes.entrySet()) {
            now += size.getKey() == 0 ? 0 : size.getValue();
        }
        freedBytes = now;
        if (lastEpoch == 0) {
            lastEpoch =
                    epochs.stream()
                            .filter(e -> e.state().equals("open"))
                            .mapToInt(ReclaimProcedures.Standing::epoch)
                            .findFirst()
                            .orElseThrow();
        }
        tell(epochs);
        return !signature.equals(before);
    }

    private static boolean isAtRest(ReclaimProcedures.Standing epoch) {
        return epoch.epoch() > 0 && !epoch.state().equals("open") && !epoch.state().equals("built");
    }

    private void tell(List<ReclaimProcedures.Standing> epochs) {
        boolean first = states.isEmpty();
        for (ReclaimProcedures.Standing epoch : epochs) {
            String known = states.put(epoch.epoch(), epoch.state());
            if (!first && !epoch.state().equals(known)) {
                order.progress().accept("epoch %d is %s".formatted(epoch.epoch(), epoch.state()));
            }
        }
        List<Integer> gone =
                states.keySet().stream()
                        .filter(number -> epochs.stream().noneMatch(e -> e.epoch() == number))
                        .toList();
        for (int number : gone) {
            states.remove(number);
            order.progress()
                    .accept(
                            "epoch %d is gone, %s free"
                                    .formatted(number, new ByteSize(freedBytes)));
        }
    }

    /** They are copied, and logged once more, before the table they leave is dropped. */
    private Optional<String> survivorsHaveNoRoom(List<ReclaimProcedures.Standing> epochs) {
        Optional<ReclaimPlan.Step> next =
                epochs.stream()
                        .filter(e -> e.epoch() > 0 && !e.state().equals("empty"))
                        .findFirst()
                        .flatMap(
                                oldest ->
                                        plan.steps().stream()
                                                .filter(step -> step.epoch() == oldest.epoch())
                                                .findFirst());
        if (next.isEmpty() || next.get().epoch() == checkedForDisk) {
            return Optional.empty();
        }
        checkedForDisk = next.get().epoch();
        return noRoom(next.get(), procedures.usableDiskBytes());
    }

    /** Why an epoch cannot be emptied; empty = it can, or the disk is not seen from here. */
    static Optional<String> noRoom(ReclaimPlan.Step step, OptionalLong usable) {
        long needed = 2 * step.survivorBytes();
        return usable.isPresent() && usable.getAsLong() < needed
                ? Optional.of(
                        "the disk: what is alive in epoch %d takes %s while it moves, and %s are free"
                                .formatted(
                                        step.epoch(),
                                        new ByteSize(needed),
                                        new ByteSize(usable.getAsLong())))
                : Optional.empty();
    }

    /** Beyond the plan nothing is emptied that the usual job would not empty. */
    private Epochs chosen(List<ReclaimProcedures.Standing> epochs) {
        if (epochs.stream().anyMatch(e -> e.state().equals("open") && plan.closes(e.epoch()))) {
            return rotating;
        }
        return epochs.stream()
                        .filter(e -> e.epoch() > 0 && !e.state().equals("empty"))
                        .findFirst()
                        .filter(oldest -> plan.goesTo(oldest.epoch()))
                        .isPresent()
                ? emptying
                : finishing;
    }
}
