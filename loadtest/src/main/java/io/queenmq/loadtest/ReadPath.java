package io.queenmq.loadtest;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;

/** Group R: what a pop costs, and how far that depends on what else there is. */
final class ReadPath {
    static final String GROUP = "loadtest";

    private static final int BYTES = 256;
    private static final int ACTIVE = 100;

    /** Functions at the top level whose commit is flushed. */
    private static final String FLUSHED =
            """
            select coalesce(sum(calls), 0)
            from pg_stat_user_functions
            where schemaname = 'queen_store' and funcname in (
                'append', 'append_waiting', 'ack_batches', 'ack_messages', 'claim_auto',
                'claim_first', 'transact', 'ensure_lanes', 'register_group', 'release_lease')
            """;

    private ReadPath() {}

    /** A queue with so many lanes, of which the first hundred are in use. */
    private record Space(Rig rig, String queue) {
        static Space of(Lab lab, Rig rig, int lanes) {
            String queue = lab.queue(rig);
            Lanes.group(rig.server(), queue, GROUP);
            Lanes.idle(rig.server(), queue, 0, Math.max(lanes, ACTIVE));
            Lanes.cursors(rig.server(), queue, GROUP);
            Lanes.settle(rig.server());
            return new Space(rig, queue);
        }

        void fill(int messagesPerLane) throws SQLException {
            Lanes.fill(
                    rig,
                    queue,
                    new Lanes.Content(ACTIVE, messagesPerLane, 1, Payload.Kind.FILLER, BYTES));
        }

        Window popAll(Lab lab, int messagesPerLane) {
            return lab.drain(
                    rig,
                    Lab.shape(queue, "consumers=32 pop-batch=1 payload=filler lanes=" + ACTIVE),
                    messagesPerLane);
        }
    }

    private static int messagesPerLane(Lab lab) {
        return Math.max(5, (int) (lab.plan().pairSeconds() * 30));
    }

    static void popsAmongManyLanes(Lab lab, Readings readings) throws Exception {
        Space many = Space.of(lab, lab.rig(), lab.plan().lanes());
        Space few = Space.of(lab, lab.another(Map.of()), 1_000);
        readings.ratio("cpu", lab.ratio(() -> micros(lab, many), () -> micros(lab, few)));
    }

    private static double micros(Lab lab, Space space) throws SQLException {
        int each = messagesPerLane(lab);
        space.fill(each);
        return micros(space.popAll(lab, each));
    }

    private static double micros(Window window) {
        return window.used().serverMicros() / window.consumed();
    }

    static void buffersAmongManyLanes(Lab lab, Readings readings) throws Exception {
        Space many = Space.of(lab, lab.rig(), lab.plan().lanes());
        Space few = Space.of(lab, lab.another(Map.of()), 1_000);
        readings.ratio("buffers", lab.ratio(() -> buffers(lab, many), () -> buffers(lab, few)));
    }

    private static double buffers(Lab lab, Space space) throws SQLException {
        Server server = space.rig().server();
        int each = messagesPerLane(lab);
        space.fill(each);
        server.awaitReports();
        long before = server.counts().blocks();
        Window window = space.popAll(lab, each);
        server.awaitReports();
        return (server.counts().blocks() - before) / (double) window.consumed();
    }

    static void statements(Lab lab, Readings readings) throws Exception {
        Optional<Rig> counting = lab.countingStatements();
        if (counting.isEmpty()) {
            readings.notMeasured(
                    "no PostgreSQL with pg_stat_statements is installed here; --pg-bin names one");
            return;
        }
        Rig rig = counting.get();
        String queue = lab.queue(rig);
        int lanes = 40;
        int rounds = 2 * lab.plan().pairs();
        Lanes.group(rig.server(), queue, GROUP);
        double statements = 0;
        int served = 0;
        for (int round = 0; round < rounds; round++) {
            Lanes.fill(rig, queue, new Lanes.Content(lanes, 1, 1, Payload.Kind.FILLER, BYTES));
            // The first pop of a group makes its cursors; that happens once in a lane's life.
            rig.server().execute("select pg_stat_statements_reset()");
            Leased leased = Leased.popWide(rig.url(), queue, GROUP, lanes);
            double calls =
                    rig.server()
                            .number(
                                    "select sum(calls) from pg_stat_statements"
                                            + " where query not like '%pg_stat_statements%'");
            int got = leased.batches().stream().mapToInt(List::size).sum();
            leased.ack(batch -> batch);
            if (round > 0 && got == lanes) {
                statements += calls;
                served++;
            }
        }
        if (served == 0) {
            readings.notMeasured("no pop was served from all 40 lanes at once");
            return;
        }
        readings.value("statements", statements / served);
        readings.detail("pops that were counted", served);
    }

    static void wideClaim(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        String queue = lab.queue(rig);
        Lanes.group(rig.server(), queue, GROUP);
        Lanes.fill(rig, queue, new Lanes.Content(40, 1, 1, Payload.Kind.FILLER, BYTES));
        Server server = rig.server();
        server.update(
                """
                insert into queen_store.cursors (partition_id, group_id, generation, committed)
                select p.id, g.id, g.generation, p.last_offset - 1
                from queen_store.partitions p
                join queen_store.groups g on g.queue_id = p.queue_id
                where p.queue_id = ?
                """,
                Lanes.queueNumber(server, queue));
        readings.ratio(
                "ratio",
                lab.ratio(
                        () -> claimMicros(lab, rig, queue, 40),
                        () -> claimMicros(lab, rig, queue, 1)));
    }

    /** Each claim is taken back, so that the next finds the same lanes. */
    private static double claimMicros(Lab lab, Rig rig, String queue, int candidates)
            throws SQLException {
        List<Long> lanes =
                rig.server()
                        .query(
                                "select id from queen_store.partitions"
                                        + " where queue_id = ? order by id limit ?",
                                row -> row.getLong(1),
                                Lanes.queueNumber(rig.server(), queue),
                                candidates);
        int group =
                (int)
                        rig.server()
                                .number(
                                        "select id from queen_store.groups where queue_id = ?",
                                        Lanes.queueNumber(rig.server(), queue));
        long calls = 0;
        try (Connection connection =
                        DriverManager.getConnection(rig.jdbcUrl() + "&prepareThreshold=-1");
                PreparedStatement claim =
                        connection.prepareStatement(
                                "select verdict from queen_store.claim_leased("
                                        + "?, ?, ?, ?, ?, 1048576, ?, ?, ?)")) {
            connection.setAutoCommit(false);
            claim.setArray(1, connection.createArrayOf("uuid", new UUID[] {UUID.randomUUID()}));
            claim.setArray(2, connection.createArrayOf("int4", new Integer[] {candidates}));
            claim.setArray(3, connection.createArrayOf("int4", new Integer[] {candidates}));
            claim.setArray(4, connection.createArrayOf("int4", new Integer[] {60}));
            claim.setArray(5, connection.createArrayOf("bool", new Boolean[] {candidates > 1}));
            claim.setArray(6, connection.createArrayOf("int4", repeated(candidates, 1)));
            claim.setArray(7, connection.createArrayOf("int8", lanes.toArray(Long[]::new)));
            claim.setArray(8, connection.createArrayOf("int4", repeated(candidates, group)));
            Meter meter = rig.meter();
            long until = System.nanoTime() + Plan.nanos(lab.plan().pairSeconds());
            while (System.nanoTime() < until) {
                int leased = 0;
                try (ResultSet rows = claim.executeQuery()) {
                    while (rows.next()) {
                        leased += "leased".equals(rows.getString(1)) ? 1 : 0;
                    }
                }
                if (leased != candidates) {
                    throw new IllegalStateException(leased + " of " + candidates + " were leased");
                }
                connection.rollback();
                calls++;
            }
            return meter.used().cpu().postgres() / (double) calls;
        }
    }

    private static Integer[] repeated(int count, int value) {
        Integer[] values = new Integer[count];
        Arrays.fill(values, value);
        return values;
    }

    private static Window drain(Lab lab, Rig rig, String queue, int lanes, String options)
            throws SQLException {
        int each = Math.max(1, (int) (lab.plan().pairSeconds() * 200_000) / lanes / 1_000) * 1_000;
        Lanes.fill(rig, queue, new Lanes.Content(lanes, each, 1_000, Payload.Kind.FILLER, BYTES));
        return lab.drain(rig, Lab.shape(queue, "payload=filler lanes=" + lanes + options), each);
    }

    static void drainAgainstPush(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        String drained = lab.queue(rig);
        Traffic.Shape push =
                Lab.pushes(lab.queue(rig), "lanes=8 producers=8 push-batch=100 payload=filler");
        readings.ratio(
                "ratio",
                lab.ratio(
                        () -> WritePath.serverMicros(lab.push(rig, push)),
                        () -> micros(drain(lab, rig, drained, 8, " consumers=8 pop-batch=1000"))));
    }

    static void drainOfManyLanes(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        String many = lab.queue(rig);
        String few = lab.queue(rig);
        String options = " consumers=32 pop-batch=1000 partitions=8";
        readings.ratio(
                "ratio",
                lab.ratio(
                        () -> drain(lab, rig, many, 500, options).consumedPerSecond(),
                        () -> drain(lab, rig, few, 8, options).consumedPerSecond()));
    }

    static void readAmplification(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        String queue = lab.queue(rig);
        int each = Math.max(100, (int) (lab.plan().seconds() * 20) / 100 * 100);
        Lanes.fill(rig, queue, new Lanes.Content(8, each, 100, Payload.Kind.RANDOM, BYTES));
        int port = Integer.parseInt(rig.jdbcUrl().replaceAll("^.*:(\\d+)/.*$", "$1"));
        long before = Sockets.bytesSentFrom(port);
        Window window =
                lab.drain(
                        rig,
                        Lab.shape(queue, "lanes=8 consumers=8 pop-batch=1 payload=random"),
                        each);
        long fetched = Sockets.bytesSentFrom(port) - before;
        readings.value("ratio", fetched / (double) (window.consumed() * BYTES));
        readings.detail("bytes from PostgreSQL, answers of acks included", fetched);
    }

    static void commits(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        countFunctions(rig);
        String options = "lanes=8 producers=8 push-batch=1 consumers=8 pop-batch=1 payload=filler";
        Traffic.Shape saturated = Lab.shape(lab.queue(rig), options);
        lab.cycle(rig, saturated, 0, lab.plan().warmup());
        double rate = commitsPerMessage(lab, rig, saturated, readings, "saturated");
        int quarter = Math.max(8, (int) (rate / 4));
        commitsPerMessage(
                lab,
                rig,
                Lab.shape(lab.queue(rig), options + " rate=" + quarter),
                readings,
                "quarter");
    }

    static void countFunctions(Rig rig) {
        rig.server().execute("alter system set track_functions = 'all'");
        rig.server().execute("select pg_reload_conf()");
    }

    private static double commitsPerMessage(
            Lab lab, Rig rig, Traffic.Shape shape, Readings readings, String figure) {
        rig.server().awaitReports();
        double before = rig.server().number(FLUSHED);
        Window window = lab.cycle(rig, shape, 0, lab.plan().seconds());
        rig.server().awaitReports();
        long all = window.traffic().ledger().ackedCount();
        readings.value(figure, (rig.server().number(FLUSHED) - before) / all);
        readings.detail("messages per second, " + figure, window.consumedPerSecond());
        return window.consumedPerSecond();
    }

    /** One of two brokers has a claim that waits for its flush like any other commit. */
    static void unflushedLeases(Lab lab, Readings readings) throws Exception {
        Rig plain = lab.rig();
        Rig flushed = lab.another(Map.of());
        String source =
                flushed.server()
                        .query(
                                "select pg_get_functiondef(oid) from pg_proc"
                                        + " where proname = 'claim_leased'",
                                row -> row.getString(1))
                        .getFirst();
        String changed =
                source.replaceAll("(?m)^\\s*perform set_config\\('synchronous_commit'.*$", "");
        if (changed.equals(source)) {
            readings.notMeasured("claim_leased does not say how it commits");
            return;
        }
        flushed.server().execute(changed);
        String plainQueue = lab.queue(plain);
        String flushedQueue = lab.queue(flushed);
        readings.ratio(
                "ratio",
                lab.ratio(
                        () -> sparse(lab, plain, plainQueue),
                        () -> sparse(lab, flushed, flushedQueue)));
    }

    private static double sparse(Lab lab, Rig rig, String queue) throws SQLException {
        int lanes = 1_000;
        int each = Math.max(1, (int) (lab.plan().pairSeconds() * 2));
        Lanes.fill(rig, queue, new Lanes.Content(lanes, each, 1, Payload.Kind.FILLER, BYTES));
        return lab.drain(
                        rig,
                        Lab.shape(queue, "consumers=32 pop-batch=1 payload=filler lanes=" + lanes),
                        each)
                .consumedPerSecond();
    }

    static void thinPops(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        readings.value("plain", popsPerMessage(lab, rig, 0, readings));
        readings.value("min wait", popsPerMessage(lab, rig, 50, readings));
    }

    private static double popsPerMessage(Lab lab, Rig rig, int minWaitMillis, Readings readings)
            throws Exception {
        int queues = 100;
        String[] names = new String[queues];
        for (int i = 0; i < queues; i++) {
            names[i] =
                    lab.queue(rig, "{\"leaseTime\":60,\"minPopWaitTime\":" + minWaitMillis + "}");
        }
        SparseQueues traffic = new SparseQueues(rig.url(), names, 5);
        traffic.run(lab.plan().ramp());
        long pops = traffic.pops();
        long delivered = traffic.delivered();
        traffic.run(lab.plan().seconds());
        pops = traffic.pops() - pops;
        delivered = traffic.delivered() - delivered;
        readings.detail("messages delivered, min wait " + minWaitMillis + " ms", delivered);
        traffic.close();
        return pops / (double) delivered;
    }
}
