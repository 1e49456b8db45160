package io.queenmq.loadtest;

import java.io.IOException;
import java.nio.file.Files;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * A store that grows, measured at each size by the same broker process: the full cycle over some
 * lanes among many, in turn with the same cycle in other stores. So that a machine that becomes
 * slower does not look like growth, one of these is empty and is emptied again before each load.
 */
final class Growth {
    private static final String FULL = "filled";
    private static final String EMPTY = "empty twin";
    private static final int BATCH = 100;
    private static final int COUNTED_ROUNDS_MAX = 4;
    private static final int COUNTED_PER_LANE = 50;
    private static final int RATE_MIN = 2_000;
    private static final int RATE_MAX = 30_000;
    private static final int RATE_OF_SINGLES_MAX = 2_000;
    private static final double RUNS_OUT_SECONDS = 300;

    /** One kind of traffic; the rate is 0 where it is all that they can. */
    private record Load(int batch, int rate) {
        Traffic.Shape shape(String queue) {
            return Lab.shape(
                    queue,
                    (batch == 1 ? FullCycle.SINGLES + " " : "")
                            + "payload=order lanes="
                            + Sediment.ACTIVE
                            + " rate="
                            + rate);
        }
    }

    /** A broker with its database; without a sediment it stays empty. */
    private record Store(String name, Rig rig, String busy, @Nullable Sediment sediment) {
        Optional<Sediment> laid() {
            return Optional.ofNullable(sediment);
        }
    }

    private final Lab lab;
    private final Readings readings;
    private final boolean expiring;
    private final List<Load> loads;
    private final List<Store> stores = new ArrayList<>();
    private final Curve curve = new Curve();
    private long seeded;

    private Growth(Lab lab, Readings readings, boolean expiring) {
        this.lab = lab;
        this.readings = readings;
        this.expiring = expiring;
        int rate = (int) Math.clamp(sizes().first() / RUNS_OUT_SECONDS, RATE_MIN, RATE_MAX);
        this.loads =
                List.of(
                        new Load(BATCH, expiring ? rate : 0),
                        new Load(1, expiring ? Math.min(rate, RATE_OF_SINGLES_MAX) : 0));
    }

    private GrowthSizes sizes() {
        return lab.plan().growth();
    }

    /** Nothing is ever removed. */
    static void keeping(Lab lab, Readings readings) throws Exception {
        new Growth(lab, readings, false).againstEmpty();
    }

    /** Of what was stored before as much expires as comes. */
    static void expiring(Lab lab, Readings readings) throws Exception {
        new Growth(lab, readings, true).againstEmpty();
    }

    /** The same under each rule of rotation, side by side. */
    static void rules(Lab lab, Readings readings) throws Exception {
        new Growth(lab, readings, true).byRule();
    }

    private void againstEmpty() throws Exception {
        if (!enoughSpace(1, 1)) {
            return;
        }
        announce(1, 2);
        Rig twin = lab.another(environment(Map.of()));
        String busy = lab.queue(twin);
        Sediment.prepareEmpty(twin, busy, sizes().twinLanes());
        stores.add(new Store(EMPTY, twin, busy, null));
        stores.add(filled(FULL, Map.of()));
        warmUp();
        for (long size : sizes().steps()) {
            growTo(size);
            for (Load load : loads) {
                List<List<Sample>> samples = inTurn(load);
                compare(size, load, samples.get(1), samples.get(0));
            }
            archive();
        }
    }

    private void byRule() throws Exception {
        List<EpochRule> rules = sizes().rules();
        if (rules.size() < 2) {
            throw new IllegalArgumentException("--epoch-rules wants two or more to compare");
        }
        if (!enoughSpace(rules.size(), 0)) {
            return;
        }
        announce(rules.size(), rules.size());
        for (EpochRule rule : rules) {
            stores.add(filled(rule.name(), rule.environment()));
        }
        warmUp();
        for (long size : sizes().steps()) {
            growTo(size);
            for (Load load : loads) {
                List<List<Sample>> samples = inTurn(load);
                for (int i = 1; i < stores.size(); i++) {
                    ratio(
                            "CPU per message at %s, batch %d, %s ÷ %s"
                                    .formatted(
                                            Curve.label(size),
                                            load.batch(),
                                            stores.get(i).name(),
                                            stores.getFirst().name()),
                            pairs(samples.get(i), samples.getFirst(), Sample::serverMicros));
                }
            }
            archive();
        }
    }

    private Map<String, String> environment(Map<String, String> more) {
        Map<String, String> all = new LinkedHashMap<>(more);
        if (expiring) {
            all.putAll(Maintain.OFTEN);
        }
        return all;
    }

    /**
     * Where nothing expires all lanes are of one queue. Else those in use have one of their own
     * that keeps all, so that what expires is what was stored before.
     */
    private Store filled(String name, Map<String, String> environment) throws IOException {
        Rig rig = lab.another(environment(environment));
        String busy = lab.queue(rig);
        String kept = expiring ? lab.queue(rig, Maintain.keeps(0)) : busy;
        return new Store(
                name,
                rig,
                busy,
                Sediment.prepare(rig, busy, kept, lab.plan().lanes(), sizes().singles()));
    }

    private boolean enoughSpace(int filled, int empty) throws IOException {
        long free = Files.getFileStore(lab.folder()).getUsableSpace();
        long needed =
                GrowthEstimate.bytes(
                        lab.plan(), filled, empty, loads.getFirst().rate(), loads.getLast().rate());
        readings.detail("disk space, free / needed at the most, GB", gigabytes(free, needed));
        if (needed <= free) {
            return true;
        }
        readings.notMeasured(
                ("%,d messages in %,d lanes may take %s GB of the %s GB free in %s: give a larger"
                                + " disk with --scratch or smaller sizes with --growth")
                        .formatted(
                                sizes().last(),
                                lab.plan().lanes(),
                                Gate.number(needed / 1e9),
                                Gate.number(free / 1e9),
                                lab.folder().getParent()));
        return false;
    }

    private static String gigabytes(long free, long needed) {
        return Gate.number(free / 1e9) + " / " + Gate.number(needed / 1e9);
    }

    private void announce(int filled, int all) {
        double minutes = GrowthEstimate.seconds(lab.plan(), filled, all) / 60;
        lab.say(
                "%s messages in %,d lanes, in segments of %d as pushes of %d make them; about %.0f minutes"
                        .formatted(
                                String.join(
                                        ", ", sizes().steps().stream().map(Curve::label).toList()),
                                lab.plan().lanes(),
                                Sediment.BATCH,
                                Sediment.BATCH,
                                minutes));
        readings.detail("share of messages in segments of one", sizes().singles());
    }

    private void warmUp() {
        for (Store store : stores) {
            for (Load load : loads) {
                lab.cycle(store.rig(), load.shape(store.busy()), 0, lab.plan().warmup() / 2);
            }
        }
    }

    private void growTo(long size) {
        long missing = size - seeded;
        for (Store store : stores) {
            if (store.laid().isPresent() && missing > 0) {
                Sediment sediment = store.laid().orElseThrow();
                long start = System.nanoTime();
                sediment.grow(missing, ageing());
                double seconds = (System.nanoTime() - start) / 1e9;
                String text =
                        "%s: %s messages stored in %.0f s"
                                .formatted(store.name(), Curve.label(missing), seconds);
                lab.say(text);
                readings.note(text);
            }
        }
        seeded = size;
    }

    private Optional<Ageing> ageing() {
        return expiring
                ? Optional.of(
                        new Ageing(
                                loads.getFirst().rate(),
                                GrowthEstimate.turnsSeconds(lab.plan(), stores.size()),
                                loads.getLast().rate()))
                : Optional.empty();
    }

    /** Windows of all stores in turn, after one of each that is thrown away; by store. */
    private List<List<Sample>> inTurn(Load load) throws Exception {
        List<CurvePoint.Stand> stands = new ArrayList<>();
        List<List<Sample>> samples = new ArrayList<>();
        List<Double> retained = new ArrayList<>();
        for (Store store : stores) {
            emptied(store);
            stands.add(CurvePoint.Stand.of(store.rig().server()));
            samples.add(new ArrayList<>());
            store.rig().server().checkpoint();
            store.laid().filter(s -> expiring).ifPresent(s -> s.expireFrom(load.batch() == 1));
            retained.add(store.laid().map(Sediment::retained).orElse(0.0));
        }
        long start = System.nanoTime();
        for (int round = -1; round < lab.plan().pairs(); round++) {
            for (int turn = 0; turn < stores.size(); turn++) {
                // Who goes first changes, so that none is always the one that follows.
                int which = Math.floorMod(turn + round, stores.size());
                Sample sample = window(stores.get(which), load);
                if (round >= 0) {
                    samples.get(which).add(sample);
                }
            }
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        for (int i = 0; i < stores.size(); i++) {
            Store store = stores.get(i);
            if (expiring && store.laid().isPresent()) {
                double gone = retained.get(i) - store.laid().orElseThrow().retained();
                readings.detail(
                        "%s at %s, batch %d: messages expired per second; of new ones in its windows"
                                .formatted(store.name(), Curve.label(seeded), load.batch()),
                        Gate.number(gone / seconds) + "; " + load.rate());
                store.laid().orElseThrow().expireNothing();
            }
        }
        List<double[]> buffers = load.batch() == 1 ? buffers() : List.of();
        for (int i = 0; i < stores.size(); i++) {
            curve.add(
                    new CurvePoint(
                            stores.get(i).name(),
                            seeded,
                            load.batch(),
                            samples.get(i).size(),
                            stands.get(i),
                            Sample.median(samples.get(i)),
                            buffers.isEmpty() ? Double.NaN : Sample.median(buffers.get(i))));
        }
        if (!buffers.isEmpty() && !stores.getFirst().laid().isPresent()) {
            verdict("buffers", seeded, Interval.ofPairs(buffers.get(1), buffers.get(0)));
        }
        lab.say(
                "%s messages, batch %d: %s"
                        .formatted(
                                Curve.label(seeded),
                                load.batch(),
                                String.join("; ", summaries(load))));
        return samples;
    }

    private List<String> summaries(Load load) {
        return curve.points().stream()
                .filter(p -> p.retained() == seeded && p.batch() == load.batch())
                .map(
                        p ->
                                "%s %.0f msg/s, %.2f µs, p99 %.1f ms"
                                        .formatted(
                                                p.series(),
                                                p.sample().consumed(),
                                                p.sample().serverMicros(),
                                                p.sample().p99Millis()))
                .toList();
    }

    private Sample window(Store store, Load load) {
        return Sample.of(lab.cycle(store.rig(), load.shape(store.busy())));
    }

    /**
     * What windows leave counts where nothing was stored beforehand: size 0 is to be that. Not
     * before every window, lest the cost of the truncation be measured as well.
     */
    private void emptied(Store store) {
        if (store.laid().isEmpty() || seeded == 0) {
            Sediment.empty(store.rig().server());
        }
    }

    /** Of a pop of one message and its ack, by store and round; counted as R2 counts them. */
    private List<double[]> buffers() throws SQLException {
        List<double[]> counted = new ArrayList<>();
        stores.forEach(this::emptied);
        int rounds = Math.min(COUNTED_ROUNDS_MAX, lab.plan().pairs());
        for (int i = 0; i < stores.size(); i++) {
            counted.add(new double[rounds]);
        }
        for (int round = -1; round < rounds; round++) {
            for (Store store : stores) {
                Lanes.fill(
                        store.rig(),
                        store.busy(),
                        new Lanes.Content(
                                Sediment.ACTIVE,
                                COUNTED_PER_LANE,
                                1,
                                Payload.Kind.ORDER,
                                Sediment.BYTES));
            }
            // Connections that have ended report at once; those that pushed have done so before.
            LockSupport.parkNanos(Plan.nanos(1));
            double[] before = new double[stores.size()];
            double[] pops = new double[stores.size()];
            for (int i = 0; i < stores.size(); i++) {
                before[i] = stores.get(i).rig().server().counts().blocks();
                pops[i] = drained(stores.get(i));
            }
            stores.getFirst().rig().server().awaitReports();
            for (int i = 0; i < stores.size() && round >= 0; i++) {
                double blocks = stores.get(i).rig().server().counts().blocks() - before[i];
                counted.get(i)[round] = blocks / pops[i];
            }
        }
        return counted;
    }

    private double drained(Store store) {
        Traffic.Shape shape =
                Lab.shape(
                        store.busy(),
                        "consumers=32 pop-batch=1 payload=order lanes=" + Sediment.ACTIVE);
        return lab.drain(store.rig(), shape, COUNTED_PER_LANE).consumed();
    }

    private void compare(long size, Load load, List<Sample> full, List<Sample> empty) {
        verdict("cpu " + load.batch(), size, pairs(empty, full, Sample::serverMicros));
        verdict("p99 " + load.batch(), size, pairs(full, empty, Sample::p99Millis));
    }

    private static Interval pairs(
            List<Sample> one, List<Sample> other, ToDoubleFunction<Sample> figure) {
        return Interval.ofPairs(Sample.values(one, figure), Sample.values(other, figure));
    }

    /** Limits hold the first size above zero and the last; the others are told. */
    private void verdict(String figure, long size, Interval ratio) {
        if (size == sizes().first()) {
            readings.ratio(figure + " first", ratio);
        }
        if (size == sizes().last()) {
            readings.ratio(figure + " last", ratio);
        }
        ratio(figure + " at " + Curve.label(size), ratio);
    }

    private void ratio(String name, Interval ratio) {
        readings.detail(
                name,
                "%s (%s to %s)"
                        .formatted(
                                Gate.number(ratio.mean()),
                                Gate.number(ratio.low()),
                                Gate.number(ratio.high())));
    }

    /** After each size, so that a run that fails later keeps what it has seen. */
    private void archive() {
        readings.file("curve.csv", curve.csv());
        readings.file(
                "curve.svg",
                curve.svg(
                        "%s: full cycle over %d of %s lanes while the store grows"
                                .formatted(
                                        readings.id(),
                                        Sediment.ACTIVE,
                                        Curve.label(lab.plan().lanes()))));
    }
}
