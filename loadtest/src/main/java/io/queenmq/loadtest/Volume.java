package io.queenmq.loadtest;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;

/** Group M, as far as it needs no job of the broker, and memory over time. */
final class Volume {
    private static final int BYTES = 256;
    private static final int BUSY_LANES = 200;

    private Volume() {}

    /** Messages one by one in segments of their own: the most rows that they can be. */
    static void retained(Lab lab, Readings readings) throws Exception {
        Rig full = lab.rig();
        Rig empty = lab.another(Map.of());
        int lanes = Math.clamp(lab.plan().retained() / 10, BUSY_LANES, lab.plan().lanes());
        String kept = prepare(lab, full, lanes);
        Lanes.keep(
                full,
                kept,
                new Lanes.Content(
                        lanes,
                        Math.max(1, lab.plan().retained() / lanes),
                        1,
                        Payload.Kind.FILLER,
                        BYTES));
        full.server()
                .update(
                        "update queen_store.cursors c set committed = p.last_offset"
                                + " from queen_store.partitions p where p.id = c.partition_id");
        Lanes.settle(full.server());
        String fresh = prepare(lab, empty, BUSY_LANES);
        readings.detail(
                "messages retained",
                full.server().number("select count(*) from queen_store.segments"));
        compare(lab, readings, "batch 100", "payload=filler", full, kept, empty, fresh);
        compare(
                lab,
                readings,
                "batch 1",
                FullCycle.SINGLES + " payload=filler",
                full,
                kept,
                empty,
                fresh);
    }

    private static String prepare(Lab lab, Rig rig, int lanes) {
        String queue = lab.queue(rig);
        Lanes.group(rig.server(), queue, ReadPath.GROUP);
        Lanes.idle(rig.server(), queue, 0, lanes);
        Lanes.cursors(rig.server(), queue, ReadPath.GROUP);
        return queue;
    }

    private static void compare(
            Lab lab,
            Readings readings,
            String figure,
            String options,
            Rig full,
            String kept,
            Rig empty,
            String fresh)
            throws Exception {
        String busy = options + " lanes=" + BUSY_LANES;
        readings.ratio(
                figure,
                lab.ratio(
                        () -> WritePath.serverMicros(lab.cycle(empty, Lab.shape(fresh, busy))),
                        () -> WritePath.serverMicros(lab.cycle(full, Lab.shape(kept, busy)))));
    }

    static void heapOnly(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        Traffic.Shape shape = Lab.shape(lab.queue(rig), FullCycle.SINGLES + " payload=filler");
        lab.cycle(rig, shape, lab.plan().warmup(), lab.plan().seconds());
        rig.server().awaitReports();
        for (String table : new String[] {"partitions", "cursors"}) {
            readings.value(
                    table,
                    rig.server()
                            .number(
                                    "select n_tup_hot_upd::float8 / nullif(n_tup_upd, 0)"
                                            + " from pg_stat_user_tables"
                                            + " where schemaname = 'queen_store' and relname = ?",
                                    table));
        }
    }

    private static final String UPDATES =
            "select sum(n_tup_upd) from pg_stat_user_tables"
                    + " where schemaname = 'queen_store' and relname in ('partitions', 'cursors')";

    static void bloat(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        int lanes = lab.plan().lanes() / 100;
        String queue = prepare(lab, rig, lanes);
        Lanes.settle(rig.server());
        double fresh = rig.server().number(Idle.SIZE_OF_LANES);
        Traffic.Shape shape =
                Lab.shape(queue, FullCycle.SINGLES + " payload=filler lanes=" + lanes);
        while (rig.server().number(UPDATES) < lab.plan().retained()) {
            lab.cycle(rig, shape, 0, lab.plan().seconds());
        }
        readings.value("ratio", rig.server().number(Idle.SIZE_OF_LANES) / fresh);
        readings.detail("updates", rig.server().number(UPDATES));
    }

    static void stalls(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        Window window = longCycle(lab, rig);
        double slowest = window.traffic().pushMicros().getMaxValue();
        double median = window.traffic().pushMicros().getValueAtPercentile(50);
        readings.value("ratio", slowest / median);
        readings.detail("push p50, ms", median / 1e3);
        readings.detail("slowest push, ms", slowest / 1e3);
    }

    static void memoryOverTime(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        Traffic.Shape shape = Lab.shape(lab.queue(rig), "payload=order");
        lab.cycle(rig, shape, 0, lab.plan().warmup());
        long before = rig.rssBytes();
        lab.cycle(rig, shape, 0, lab.plan().longSeconds());
        readings.value("ratio", rig.rssBytes() / (double) before);
        readings.detail("at the start, MB", before / 1e6);
    }

    private static Window longCycle(Lab lab, Rig rig) {
        return lab.cycle(
                rig,
                Lab.shape(lab.queue(rig), "payload=order"),
                lab.plan().warmup(),
                lab.plan().longSeconds());
    }

    /**
     * While somebody reads all tables, whoever wants one for himself has to wait, and is seen
     * waiting however short he would have held it.
     */
    static void secondBoot(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        lab.cycle(rig, Lab.shape(lab.queue(rig), "payload=filler"));
        try (Connection reader = DriverManager.getConnection(rig.jdbcUrl());
                Statement lock = reader.createStatement();
                Server watcher = new Server(rig.jdbcUrl())) {
            reader.setAutoCommit(false);
            for (String table :
                    watcher.query(
                            "select oid::regclass::text from pg_class"
                                    + " where relnamespace = 'queen_store'::regnamespace"
                                    + " and relkind in ('r', 'p')",
                            row -> row.getString(1))) {
                lock.execute("lock table " + table + " in access share mode");
            }
            AtomicBoolean booting = new AtomicBoolean(true);
            long[] wanted = new long[1];
            Thread watch = new Thread(() -> wanted[0] = watch(watcher, booting), "watch");
            watch.start();
            Meter meter = rig.meter();
            long start = System.nanoTime();
            try {
                rig.passThroughSecondBroker();
            } catch (IllegalStateException e) {
                readings.note("the second broker did not come up while all tables were read");
            }
            double cpu = meter.used().cpu().postgres() / 1e6;
            double seconds = (System.nanoTime() - start) / 1e9;
            booting.set(false);
            watch.join();
            readings.value("locks", (double) wanted[0]);
            readings.value("apply", cpu);
            readings.detail("start to stop of the second broker, s", seconds);
            reader.rollback();
        }
    }

    private static long watch(Server watcher, AtomicBoolean booting) {
        double most = 0;
        while (booting.get()) {
            most =
                    Math.max(
                            most,
                            watcher.number(
                                    "select count(*) from pg_locks l"
                                            + " join pg_class c on c.oid = l.relation"
                                            + " where l.mode = 'AccessExclusiveLock'"
                                            + " and c.relkind in ('r', 'p') and c.relnamespace ="
                                            + " 'queen_store'::regnamespace"));
            LockSupport.parkNanos(20_000_000);
        }
        return (long) most;
    }

    static void genericPlans(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        int lanes = lab.plan().lanes() / 5;
        String queue = lab.queue(rig);
        Lanes.group(rig.server(), queue, ReadPath.GROUP);
        Lanes.idle(rig.server(), queue, 0, lanes);
        Lanes.keep(rig, queue, new Lanes.Content(100, 100, 10, Payload.Kind.FILLER, BYTES));
        Lanes.cursors(rig.server(), queue, ReadPath.GROUP);
        rig.server()
                .update(
                        "update queen_store.cursors set committed = committed - 50"
                                + " where committed > 50");
        Lanes.settle(rig.server());
        double worst = 0;
        for (Plans.Candidate candidate : Plans.candidates(rig, queue)) {
            double generic = buffers(rig, candidate, "force_generic_plan");
            double custom = buffers(rig, candidate, "force_custom_plan");
            readings.detail(
                    candidate.name() + ", buffers generic / custom", generic + " / " + custom);
            worst = Math.max(worst, generic / Math.max(1, custom));
        }
        readings.value("worst", worst);
    }

    private static double buffers(Rig rig, Plans.Candidate candidate, String mode)
            throws SQLException {
        try (Connection connection = DriverManager.getConnection(rig.jdbcUrl())) {
            return candidate.buffers(connection, mode);
        }
    }
}
