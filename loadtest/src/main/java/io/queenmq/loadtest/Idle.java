package io.queenmq.loadtest;

import java.util.Optional;

/** Group I: what lies still must cost nothing, and take little room. */
final class Idle {
    private static final String WRITTEN =
            "select sum(n_tup_ins + n_tup_upd + n_tup_del) from pg_stat_user_tables";
    private static final int QUEUES_MADE_SECONDS = 300;
    private static final String QUEUES =
            "select count(*) from queen_store.queues where name like 'parked-%'";
    private static final int BYTES = 256;

    private Idle() {}

    private interface WhileParked {
        void measure(Callers parked) throws Exception;
    }

    /** Polls parked on a queue each, until their queues are made and nothing moves any more. */
    private static void park(Lab lab, Rig rig, WhileParked measure) throws Exception {
        int polls = lab.plan().pollers();
        try (Callers parked = new Callers(rig.url(), polls, new Latency.Polls())) {
            parked.start(0, polls);
            for (int seconds = 0; rig.server().number(QUEUES) < polls; seconds++) {
                if (seconds == QUEUES_MADE_SECONDS) {
                    throw new IllegalStateException("the queues of the polls are not made");
                }
                parked.goOn(1);
            }
            parked.goOn(Math.max(5, lab.plan().warmup()));
            measure.measure(parked);
        }
    }

    static void parkedPolls(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        park(
                lab,
                rig,
                parked -> {
                    Meter meter = rig.meter();
                    parked.goOn(lab.plan().seconds());
                    Meter.Used used = meter.used();
                    readings.value("cores", used.serverCores());
                    readings.detail("polls that broke", parked.broken());
                    readings.detail("broker, µs per second", used.cpu().broker() / used.seconds());
                    readings.detail(
                            "postgres, µs per second", used.cpu().postgres() / used.seconds());
                });
    }

    static void statementsOfParkedPolls(Lab lab, Readings readings) throws Exception {
        Optional<Rig> counting = lab.countingStatements();
        if (counting.isEmpty()) {
            readings.notMeasured(
                    "no PostgreSQL with pg_stat_statements is installed here; --pg-bin names one");
            return;
        }
        Rig rig = counting.get();
        park(
                lab,
                rig,
                parked -> {
                    rig.server().execute("select pg_stat_statements_reset()");
                    parked.goOn(lab.plan().seconds());
                    double statements =
                            rig.server()
                                    .number(
                                            "select coalesce(sum(calls), 0) from pg_stat_statements"
                                                    + " where query not like"
                                                    + " '%pg_stat_statements%'");
                    readings.value(
                            "statements",
                            statements / lab.plan().pollers() * 60 / lab.plan().seconds());
                });
    }

    static void memoryOfParkedPolls(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        int all = lab.plan().pollers();
        int some = all / 10;
        try (Callers parked = new Callers(rig.url(), all, new Latency.Polls())) {
            parked.start(0, some);
            parked.goOn(Math.max(5, lab.plan().warmup()));
            long before = rig.rssBytes();
            long heapBefore = rig.jvm().liveHeapBytes();
            parked.start(some, all);
            parked.goOn(Math.max(5, lab.plan().warmup()));
            readings.value("bytes", (rig.rssBytes() - before) / (double) (all - some));
            readings.detail(
                    "live heap per poll, bytes",
                    (rig.jvm().liveHeapBytes() - heapBefore) / (double) (all - some));
        }
    }

    static void lanesWithoutPolls(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        String queue = lab.queue(rig);
        Lanes.idle(rig.server(), queue, 0, lab.plan().lanes() / 5);
        Lanes.settle(rig.server());
        try (Callers nobody = new Callers(rig.url(), 0, new Latency.Polls())) {
            nobody.goOn(lab.plan().warmup());
            Meter meter = rig.meter();
            nobody.goOn(lab.plan().seconds());
            readings.value("cores", meter.used().serverCores());
        }
    }

    static void rowsWhileIdle(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        park(
                lab,
                rig,
                parked -> {
                    parked.goOn(Server.REPORTED_AFTER_SECONDS);
                    double before = rig.server().number(WRITTEN);
                    double seconds = Math.max(lab.plan().seconds(), Server.REPORTED_AFTER_SECONDS);
                    parked.goOn(seconds);
                    readings.value("rows", (rig.server().number(WRITTEN) - before) * 60 / seconds);
                });
    }

    /** Each lane made as a push makes it, written once, and read by one group. */
    static void bytesOfIdleLanes(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        String queue = lab.queue(rig);
        int lanes = lab.plan().lanes() / 10;
        double before = rig.server().number(SIZE_OF_LANES);
        Lanes.group(rig.server(), queue, ReadPath.GROUP);
        Lanes.keep(rig, queue, new Lanes.Content(lanes, 1, 1, Payload.Kind.FILLER, BYTES));
        Lanes.cursors(rig.server(), queue, ReadPath.GROUP);
        Lanes.settle(rig.server());
        readings.value("bytes", (rig.server().number(SIZE_OF_LANES) - before) / lanes);
    }

    static final String SIZE_OF_LANES =
            "select pg_total_relation_size('queen_store.partitions')"
                    + " + pg_total_relation_size('queen_store.cursors')";

    static void memoryOfLanes(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        int lanes = lab.plan().lanes() / 10;
        String queue = lab.queue(rig, "{\"dedupWindowSeconds\":0}");
        Lanes.idle(rig.server(), queue, 0, lanes);
        Traffic.Shape shape =
                Lab.shape(
                        queue,
                        "producers=16 push-batch=1 consumers=16 pop-batch=1000 partitions=100"
                                + " auto-ack=1 payload=filler lanes="
                                + lanes);
        // What a broker loads and keeps at its first messages belongs to no lane.
        lab.cycle(rig, Lab.shape(lab.queue(rig), "payload=filler"));
        long before = rig.jvm().liveHeapBytes();
        long known;
        try (Traffic traffic = new Traffic(rig.url(), shape)) {
            traffic.startConsumers();
            traffic.startProducers();
            traffic.runUntil(() -> traffic.ledger().acceptedCount() >= lanes, Plan.nanos(600));
            lab.verify(traffic);
            known = rig.jvm().liveHeapBytes();
        }
        readings.value("lane", Math.max(0, (known - before) / (double) lanes));
        // Another group, which comes once and leaves the other lanes waiting.
        Lanes.group(rig.server(), queue, "later");
        Leased.pop(rig.url(), queue, "later", 1, 1);
        long waiting = rig.jvm().liveHeapBytes();
        readings.value("entry", Math.max(0, (waiting - known) / (double) lanes));
    }

    private static Rig stored(Lab lab, String payload) throws Exception {
        Rig rig = lab.rig();
        Traffic.Shape shape =
                Lab.pushes(
                        lab.queue(rig), "lanes=16 producers=16 push-batch=100 payload=" + payload);
        lab.push(rig, shape, 0, lab.plan().pairSeconds());
        return rig;
    }

    static void bytesAtRest(Lab lab, Readings readings) throws Exception {
        Rig rig = stored(lab, "random");
        Server server = rig.server();
        double messages =
                server.number("select sum(end_offset - base_offset + 1) from queen_store.segments");
        double disk =
                server.number(
                        "select sum(pg_total_relation_size(inhrelid)) from pg_inherits"
                                + " where inhparent = 'queen_store.segments'::regclass");
        readings.value("ratio", disk / (messages * BYTES));
        readings.detail("messages", messages);
    }

    static void keysAgainstFrames(Lab lab, Readings readings) throws Exception {
        Server server = stored(lab, "filler").server();
        readings.value(
                "ratio",
                server.number(
                        "select sum(pg_column_size(keys))::float8 / sum(pg_column_size(frames))"
                                + " from queen_store.segments"));
        readings.detail(
                "keys ÷ frames before compression",
                server.number(
                        "select sum(octet_length(keys))::float8 / sum(octet_length(frames))"
                                + " from queen_store.segments"));
    }
}
