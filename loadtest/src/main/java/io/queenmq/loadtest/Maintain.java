package io.queenmq.loadtest;

import java.sql.SQLException;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;

/** Group M, as far as it measures jobs of the broker: M2 to M6. */
final class Maintain {
    static final Map<String, String> OFTEN = Map.of("RETENTION_INTERVAL", "1000");
    private static final int PATIENCE_SECONDS = 20;
    private static final int BYTES = 256;
    private static final int DUE = 1_000;

    private Maintain() {}

    /** Options of a queue whose messages go at that age; 0 = they stay. */
    static String keeps(int seconds) {
        return "{\"leaseTime\":60,\"retentionEnabled\":"
                + (seconds > 0)
                + ",\"retentionSeconds\":"
                + seconds
                + "}";
    }

    private static double left(Rig rig, String queue) {
        return rig.server()
                .number(
                        "select count(*) from queen_store.partitions"
                                + " where queue_id = ? and last_offset >= log_start",
                        Lanes.queueNumber(rig.server(), queue));
    }

    /** True once nothing of the queue is retained any more. */
    private static boolean awaitGone(Rig rig, String queue, double seconds) {
        long until = System.nanoTime() + Plan.nanos(seconds);
        while (left(rig, queue) > 0) {
            if (System.nanoTime() > until) {
                return false;
            }
            LockSupport.parkNanos(200_000_000);
        }
        return true;
    }

    /** A broker that looks for what is due every second; empty, and said so, if it does not. */
    private static Optional<Rig> withRetention(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.another(OFTEN);
        String queue = lab.queue(rig, keeps(1));
        Lanes.keep(rig, queue, new Lanes.Content(4, 4, 1, Payload.Kind.FILLER, BYTES));
        if (awaitGone(rig, queue, 1 + PATIENCE_SECONDS)) {
            return Optional.of(rig);
        }
        readings.notMeasured(
                "this broker removes nothing by age within " + PATIENCE_SECONDS + " s of its time");
        return Optional.empty();
    }

    static void firstAgainstLastMinute(Lab lab, Readings readings) throws Exception {
        Optional<Rig> found = withRetention(lab, readings);
        if (found.isEmpty()) {
            return;
        }
        Rig rig = found.get();
        double each = lab.plan().longSeconds() / 10;
        int keep = (int) Math.max(1, each / 2);
        Traffic.Shape shape = Lab.shape(lab.queue(rig, keeps(keep)), "payload=order");
        try (Traffic traffic = new Traffic(rig.url(), shape)) {
            traffic.startConsumers();
            traffic.startProducers();
            traffic.run(Plan.nanos(lab.plan().warmup()));
            Window first = minute(rig, traffic, each);
            traffic.run(Plan.nanos(lab.plan().longSeconds() - 2 * each));
            Window last = minute(rig, traffic, each);
            lab.verify(traffic);
            readings.value("ratio", WritePath.serverMicros(first) / WritePath.serverMicros(last));
            readings.detail(
                    "messages per second, last ÷ first",
                    last.consumedPerSecond() / first.consumedPerSecond());
        }
    }

    private static Window minute(Rig rig, Traffic traffic, double seconds) {
        return Window.measure(
                traffic, rig.cpu(), Optional.of(rig.server()), t -> t.run(Plan.nanos(seconds)));
    }

    static void whileRemoving(Lab lab, Readings readings) throws Exception {
        Optional<Rig> found = withRetention(lab, readings);
        if (found.isEmpty()) {
            return;
        }
        Rig rig = found.get();
        Traffic.Shape removing = Lab.shape(lab.queue(rig, keeps(2)), "payload=order");
        Traffic.Shape keeping = Lab.shape(lab.queue(rig, keeps(0)), "payload=order");
        lab.cycle(rig, removing, 0, lab.plan().warmup());
        double[][] p99 = new double[2][lab.plan().pairs() + 1];
        int[] turn = new int[2];
        readings.ratio(
                "throughput",
                lab.ratio(
                        () -> {
                            Window window = lab.cycle(rig, keeping);
                            p99[1][turn[1]++] = p99(window);
                            return WritePath.serverMicros(window);
                        },
                        () -> {
                            Window window = lab.cycle(rig, removing);
                            p99[0][turn[0]++] = p99(window);
                            return WritePath.serverMicros(window);
                        }));
        readings.ratio("p99", Interval.ofPairs(p99[0], p99[1]));
    }

    private static double p99(Window window) {
        return window.traffic().endToEndMicros().getValueAtPercentile(99);
    }

    static void removalAgainstInsertion(Lab lab, Readings readings) throws Exception {
        Optional<Rig> found = withRetention(lab, readings);
        if (found.isEmpty()) {
            return;
        }
        Rig rig = found.get();
        readings.ratio(
                "ratio",
                lab.ratio(
                        () -> {
                            try (BareAppend bare =
                                    new BareAppend(
                                            rig.jdbcUrl(),
                                            lab.queue(rig),
                                            new BareAppend.Shape(
                                                    3, 64, 1, Payload.Kind.FILLER, BYTES))) {
                                return WritePath.postgresMicros(lab, rig, bare);
                            }
                        },
                        () -> {
                            int each = Math.max(10, lab.plan().retained() / 100_000);
                            return removalMicros(lab, rig, DUE, each) / each;
                        }));
    }

    /** Microseconds of PostgreSQL per lane until everything that has become due is gone. */
    private static double removalMicros(Lab lab, Rig rig, int lanes, int messagesPerLane)
            throws SQLException {
        String queue = lab.queue(rig, keeps(0));
        Lanes.keep(
                rig,
                queue,
                new Lanes.Content(lanes, messagesPerLane, 1, Payload.Kind.FILLER, BYTES));
        LockSupport.parkNanos(Plan.nanos(1.5));
        Meter meter = rig.meter();
        rig.target().configure(queue, keeps(1));
        if (!awaitGone(rig, queue, 300)) {
            throw new IllegalStateException("what was due is still there after 300 s");
        }
        return meter.used().cpu().postgres() / (double) lanes;
    }

    static void dueAmongMany(Lab lab, Readings readings) throws Exception {
        Optional<Rig> found = withRetention(lab, readings);
        if (found.isEmpty()) {
            return;
        }
        Rig many = found.get();
        Rig few = lab.another(OFTEN);
        Lanes.idle(many.server(), lab.queue(many, keeps(1)), 0, lab.plan().lanes());
        Lanes.settle(many.server());
        readings.ratio(
                "ratio",
                lab.ratio(
                        () -> removalMicros(lab, many, DUE, 1),
                        () -> removalMicros(lab, few, DUE, 1)));
    }

    /**
     * What the statements of the statistics cost while 200 lanes are written, among a fifth of the
     * many and alone. New queues are walked over once; that has to be over.
     */
    static void statistics(Lab lab, Readings readings) throws Exception {
        Map<String, String> often =
                Map.of("STATS_INTERVAL_MS", "1000", "RETAINED_BYTES_INTERVAL_MS", "86400000");
        Optional<Rig> counting = lab.countingStatements(often);
        if (counting.isEmpty()) {
            readings.notMeasured(
                    "no PostgreSQL with pg_stat_statements is installed here; --pg-bin names one");
            return;
        }
        Rig many = counting.get();
        if (many.server().number("select count(*) from pg_class where relname = 'counts'") == 0) {
            readings.notMeasured("this broker keeps no statistics");
            return;
        }
        Rig few = lab.countingStatements(often).orElseThrow();
        Traffic.Shape among = amongOthers(lab, many, lab.plan().lanes() / 5);
        Traffic.Shape alone = amongOthers(lab, few, 0);
        readings.ratio(
                "ratio",
                lab.ratio(
                        () -> refreshMicros(lab, many, among),
                        () -> refreshMicros(lab, few, alone)));
    }

    private static Traffic.Shape amongOthers(Lab lab, Rig rig, int others) throws Exception {
        String queue = lab.queue(rig);
        if (others > 0) {
            Lanes.idle(rig.server(), queue, 200, others);
            Lanes.settle(rig.server());
        }
        Traffic.Shape shape = Lab.shape(queue, "lanes=200 push-batch=1 rate=200 payload=filler");
        lab.cycle(rig, shape, 0, lab.plan().warmup());
        long until = System.nanoTime() + Plan.nanos(300);
        while (rig.server()
                        .number(
                                "select count(*) from queen_store.counts"
                                        + " where recount_at is not null or walked_at is null")
                > 0) {
            if (System.nanoTime() > until) {
                throw new IllegalStateException("the first walk did not end within 300 s");
            }
            LockSupport.parkNanos(200_000_000);
        }
        return shape;
    }

    /** Of telling and adding up, per adding up, while that traffic runs. */
    private static double refreshMicros(Lab lab, Rig rig, Traffic.Shape shape) throws Exception {
        rig.server().execute("select pg_stat_statements_reset()");
        lab.cycle(rig, shape);
        return rig.server()
                .number(
                        """
                        select 1000 * sum(total_exec_time) / sum(calls) filter (
                                   where query like '%queen_store.fold_counts(%')
                        from pg_stat_statements
                        where toplevel
                          and query ~ 'queen_store\\.(flush_counts|fold_counts|has_counts|uncounted_queue|count_lanes|settle_counts)\\('
                        """);
    }
}
