package io.queenmq.loadtest;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What experiments work with: brokers of their own, arms in pairs, loads that are verified. */
final class Lab implements AutoCloseable {
    private static final double DRAIN_SECONDS = 300;

    private final Plan plan;
    private final Path launcher;
    private final Path folder;
    private final Optional<Path> binaries;
    private final Optional<Path> kept;
    private final Readings readings;
    private final PrintStream out;
    private final List<Rig> rigs = new ArrayList<>();
    private @Nullable Rig first;
    private int queues;

    /**
     * @param launcher the script that starts a broker
     * @param binaries of an installed PostgreSQL for the databases; empty = the embedded one
     * @param kept where databases that took long to fill are kept from run to run; empty = nowhere
     * @param out for whoever waits
     */
    Lab(
            Plan plan,
            Path launcher,
            Path scratch,
            Optional<Path> binaries,
            Optional<Path> kept,
            Readings readings,
            PrintStream out)
            throws IOException {
        this.plan = plan;
        this.launcher = launcher;
        this.binaries = binaries;
        this.kept = kept;
        this.readings = readings;
        this.out = out;
        Files.createDirectories(scratch);
        this.folder = Files.createTempDirectory(scratch, "queen-bench-");
        // A server that runs as another user has to come through.
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    Plan plan() {
        return plan;
    }

    /** How far a long benchmark has come, for whoever waits. */
    void say(String text) {
        out.println(text);
    }

    /** Where the databases live. */
    Path folder() {
        return folder;
    }

    /** The broker that a benchmark with one is measured on. */
    Rig rig() throws IOException {
        Rig known = first;
        if (known == null) {
            known = another(Map.of());
            first = known;
        }
        return known;
    }

    /** A further broker with a database of its own. */
    Rig another(Map<String, String> environment) throws IOException {
        return start(binaries, environment, Optional.empty());
    }

    /** Fills the database of a broker. */
    interface Seed {
        void fill(Rig rig) throws Exception;
    }

    /**
     * A further broker over a database that was filled, which may be a copy of what a run of the
     * same sizes has kept.
     *
     * @param name of what it is filled with
     */
    Rig filled(String name, Map<String, String> environment, Seed seed) throws Exception {
        if (kept.isPresent() && binaries.isPresent()) {
            throw new IllegalArgumentException("--keep goes with the embedded server alone");
        }
        Optional<Path> folderOfKept =
                kept.map(
                        all ->
                                all.resolve(
                                        "%s-%d-%d".formatted(name, plan.lanes(), plan.retained())));
        Optional<Path> found = folderOfKept.filter(Files::exists);
        readings.detail("database", found.isPresent() ? "kept by an earlier run" : "filled anew");
        Rig rig = start(binaries, environment, found);
        if (found.isEmpty()) {
            seed.fill(rig);
            if (folderOfKept.isPresent()) {
                rig.keep(folderOfKept.get());
            }
        }
        return rig;
    }

    /** A broker over a server that counts statements; empty where none is installed. */
    Optional<Rig> countingStatements() throws IOException {
        return countingStatements(Map.of());
    }

    /** The same, with settings. */
    Optional<Rig> countingStatements(Map<String, String> environment) throws IOException {
        Optional<Path> counting =
                (binaries.isPresent() ? binaries.stream() : Installed.binaries().stream())
                        .filter(OwnServer::hasStatements)
                        .findFirst();
        if (counting.isEmpty()) {
            return Optional.empty();
        }
        Rig rig = start(counting, environment, Optional.empty());
        rig.server().execute("create extension pg_stat_statements");
        return Optional.of(rig);
    }

    private Rig start(
            Optional<Path> server, Map<String, String> environment, Optional<Path> database)
            throws IOException {
        return Rig.start(
                launcher,
                folder.resolve("rig-" + rigs.size()),
                server,
                environment,
                database,
                started -> {
                    synchronized (rigs) {
                        rigs.add(started);
                    }
                });
    }

    /** The broker that was started first, if any was. */
    Optional<Rig> firstRig() {
        return rigs.stream().findFirst();
    }

    /** A fresh queue, configured. */
    String queue(Rig rig, String options) {
        String queue = "bench-" + queues++;
        rig.target().configure(queue, options);
        return queue;
    }

    String queue(Rig rig) {
        return queue(rig, Target.LEASE_OF_A_MINUTE);
    }

    /** An arm of a comparison: one measured value per call. */
    interface Arm {
        double measure() throws Exception;
    }

    /** The ratio of the first arm to the second, in turn, after one pair that is thrown away. */
    Interval ratio(Arm one, Arm other) throws Exception {
        one.measure();
        other.measure();
        double[] first = new double[plan.pairs()];
        double[] second = new double[plan.pairs()];
        for (int pair = 0; pair < plan.pairs(); pair++) {
            first[pair] = one.measure();
            second[pair] = other.measure();
        }
        readings.detail("first arm, pair by pair", list(first));
        readings.detail("second arm, pair by pair", list(second));
        return Interval.ofPairs(first, second);
    }

    private static List<Double> list(double[] values) {
        List<Double> list = new ArrayList<>();
        for (double value : values) {
            list.add(Math.round(value * 1e4) / 1e4);
        }
        return list;
    }

    /** One arm of a pair: pushes alone; then what they stored is read and verified. */
    Window push(Rig rig, Traffic.Shape shape) {
        return push(rig, shape, plan.ramp(), plan.pairSeconds());
    }

    Window push(Rig rig, Traffic.Shape shape, double warmup, double seconds) {
        try (Traffic traffic = new Traffic(rig.url(), shape)) {
            traffic.startProducers();
            Window window = measure(rig, traffic, warmup, seconds);
            traffic.stopProducers();
            traffic.runUntil(traffic::producersDone, Plan.nanos(DRAIN_SECONDS));
            traffic.startConsumers();
            verify(traffic);
            return window;
        }
    }

    /** One arm of a pair: push, pop and ack at once. */
    Window cycle(Rig rig, Traffic.Shape shape) {
        return cycle(rig, shape, plan.ramp(), plan.pairSeconds());
    }

    Window cycle(Rig rig, Traffic.Shape shape, double warmup, double seconds) {
        try (Traffic traffic = new Traffic(rig.url(), shape)) {
            traffic.startConsumers();
            traffic.startProducers();
            Window window = measure(rig, traffic, warmup, seconds);
            verify(traffic);
            return window;
        }
    }

    private Window measure(Rig rig, Traffic traffic, double warmup, double seconds) {
        return Window.measure(
                traffic,
                rig.cpu(),
                Optional.of(rig.server()),
                Plan.nanos(warmup),
                Plan.nanos(seconds));
    }

    /** Reads and acknowledges what was seeded, to the last message. */
    Window drain(Rig rig, Traffic.Shape shape, int messagesPerLane) {
        try (Traffic traffic = new Traffic(rig.url(), shape)) {
            for (int lane = 0; lane < shape.lanes(); lane++) {
                traffic.ledger().accepted(lane, messagesPerLane);
            }
            Window window =
                    Window.measure(
                            traffic,
                            rig.cpu(),
                            Optional.of(rig.server()),
                            t -> {
                                t.startConsumers();
                                t.runUntil(
                                        () -> t.ledger().backlog() <= 0, Plan.nanos(DRAIN_SECONDS));
                            });
            readings.verified(traffic.ledger().verdict());
            return window;
        }
    }

    void verify(Traffic traffic) {
        traffic.drain(Plan.nanos(DRAIN_SECONDS));
        readings.verified(traffic.ledger().verdict());
    }

    static Traffic.Shape shape(String queue, String options) {
        Options parsed = Options.of(options);
        Traffic.Shape shape = Traffic.Shape.of(queue, parsed);
        parsed.checkAllUsed();
        return shape;
    }

    /**
     * The same pushes, popped and acknowledged by few large pops where only pushes are measured.
     */
    static Traffic.Shape pushes(String queue, String options) {
        return shape(
                queue, "consumers=8 pop-batch=1000 partitions=8 backlog=2147483647 " + options);
    }

    @Override
    public void close() {
        List<Rig> all;
        synchronized (rigs) {
            all = List.copyOf(rigs);
            rigs.clear();
        }
        for (Rig rig : all) {
            rig.close();
        }
        Scratch.delete(folder);
    }
}
