package io.queenmq.loadtest;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Group W: what a push costs. */
final class WritePath {
    private static final int BYTES = 256;
    private static final int BARE_THREADS = 3;
    private static final String SINGLES = "lanes=64 producers=64 push-batch=1 payload=filler";
    private static final String DEDUP_OFF = "{\"dedupWindowSeconds\":0}";

    private WritePath() {}

    static void shareOfBareAt100(Lab lab, Readings readings) throws Exception {
        shareOfBare(lab, readings, "lanes=16 producers=16 push-batch=100 payload=filler");
    }

    static void shareOfBareAt1(Lab lab, Readings readings) throws Exception {
        shareOfBare(lab, readings, SINGLES);
    }

    /** The bare calls have the shape that the broker's had in the warm-up: as many lanes. */
    private static void shareOfBare(Lab lab, Readings readings, String options) throws Exception {
        Rig rig = lab.rig();
        Traffic.Shape shape = Lab.pushes(lab.queue(rig), options);
        Window warm = lab.push(rig, shape, lab.plan().ramp(), lab.plan().warmup());
        int lanes =
                Math.clamp(
                        Math.round(warm.messagesPerCommit().orElseThrow() / shape.pushBatch()),
                        1,
                        shape.lanes());
        readings.detail("lanes per bare call, as in the broker's", lanes);
        try (BareAppend bare =
                bare(rig, lab.queue(rig), BARE_THREADS, lanes, shape.pushBatch(), shape)) {
            readings.ratio(
                    "share",
                    lab.ratio(
                            () -> postgresMicros(lab, rig, bare),
                            () -> serverMicros(lab.push(rig, shape))));
        }
    }

    private static BareAppend bare(
            Rig rig, String queue, int threads, int lanes, int messages, Traffic.Shape shape) {
        return new BareAppend(
                rig.jdbcUrl(),
                queue,
                new BareAppend.Shape(threads, lanes, messages, shape.payload(), BYTES));
    }

    /** Microseconds of PostgreSQL per message of bare calls. */
    static double postgresMicros(Lab lab, Rig rig, BareAppend bare) {
        Meter meter = rig.meter();
        BareAppend.Result result = bare.run(Plan.nanos(lab.plan().pairSeconds()));
        return meter.used().cpu().postgres() / (double) result.messages();
    }

    /** Microseconds of broker and PostgreSQL per message pushed. */
    static double serverMicros(Window window) {
        return window.used().serverMicros() / window.pushed();
    }

    static void bareAgainstRawInsert(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        BareAppend.Shape shape =
                new BareAppend.Shape(BARE_THREADS, 16, 100, Payload.Kind.FILLER, BYTES);
        try (BareAppend bare = new BareAppend(rig.jdbcUrl(), lab.queue(rig), shape);
                BareAppend raw =
                        new BareAppend(
                                rig.jdbcUrl(),
                                lab.queue(rig),
                                shape,
                                (connection, lanes, messages) ->
                                        new RawInsert(connection, lanes))) {
            readings.ratio(
                    "share",
                    lab.ratio(
                            () -> postgresMicros(lab, rig, raw),
                            () -> postgresMicros(lab, rig, bare)));
        }
    }

    static void bundles(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        Traffic.Shape shape = Lab.pushes("", SINGLES);
        try (BareAppend wide = bare(rig, lab.queue(rig), BARE_THREADS, 64, 1, shape);
                BareAppend narrow = bare(rig, lab.queue(rig), BARE_THREADS, 1, 1, shape)) {
            readings.ratio(
                    "ratio",
                    lab.ratio(
                            () -> postgresMicros(lab, rig, wide),
                            () -> postgresMicros(lab, rig, narrow)));
        }
    }

    static void messagesPerCommit(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        Traffic.Shape shape = Lab.pushes(lab.queue(rig), SINGLES);
        Window window = lab.push(rig, shape, lab.plan().warmup(), lab.plan().seconds());
        readings.value("messages", window.messagesPerCommit().orElseThrow());
        readings.detail("pushes per second", window.pushedPerSecond());
    }

    static void lonePush(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        Traffic.Shape shape =
                Lab.pushes(lab.queue(rig), "lanes=1 producers=1 push-batch=1 payload=filler");
        lab.push(rig, shape, 0, lab.plan().warmup());
        try (BareAppend bare = bare(rig, lab.queue(rig), 1, 1, 1, shape)) {
            readings.ratio(
                    "p50",
                    lab.ratio(
                            () ->
                                    lab.push(rig, shape)
                                            .traffic()
                                            .pushMicros()
                                            .getValueAtPercentile(50),
                            () ->
                                    bare.run(Plan.nanos(lab.plan().pairSeconds()))
                                            .micros()
                                            .getValueAtPercentile(50)));
        }
    }

    static void walOfCycle(Lab lab, Readings readings) throws Exception {
        wal(
                lab,
                readings,
                "{\"leaseTime\":60,\"dedupWindowSeconds\":60,\"retentionEnabled\":true,"
                        + "\"retentionSeconds\":300}",
                "payload=filler");
    }

    static void walOfSingles(Lab lab, Readings readings) throws Exception {
        wal(lab, readings, Target.LEASE_OF_A_MINUTE, FullCycle.SINGLES + " payload=filler");
    }

    private static void wal(Lab lab, Readings readings, String queueOptions, String options)
            throws Exception {
        Rig rig = lab.rig();
        Traffic.Shape shape = Lab.shape(lab.queue(rig, queueOptions), options);
        lab.cycle(rig, shape, 0, lab.plan().warmup());
        rig.server().checkpoint();
        Window window = lab.cycle(rig, shape, 0, lab.plan().seconds());
        Server.Counts counts = window.used().database();
        readings.value("bytes", counts.walBytes() / (double) window.pushed());
        readings.detail(
                "bytes without full pages",
                counts.walBytesWithoutPages() / (double) window.pushed());
        readings.detail("messages per second", window.consumedPerSecond());
    }

    static void walOfPayload(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        Traffic.Shape shape =
                Lab.pushes(lab.queue(rig), "lanes=16 producers=16 push-batch=100 payload=random");
        lab.push(rig, shape, 0, lab.plan().warmup());
        rig.server().checkpoint();
        Window window = lab.push(rig, shape, 0, lab.plan().seconds());
        double payload = (double) window.pushed() * BYTES;
        Server.Counts counts = window.used().database();
        readings.value("ratio", counts.walBytesWithoutPages() / payload);
        readings.detail("ratio with full pages", counts.walBytes() / payload);
    }

    static void dedup(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        String options = "lanes=16 producers=16 push-batch=100 payload=filler";
        Traffic.Shape on = Lab.pushes(lab.queue(rig, window(60)), options);
        Traffic.Shape off = Lab.pushes(lab.queue(rig, DEDUP_OFF), options);
        lab.push(rig, on, 0, lab.plan().warmup());
        readings.ratio(
                "throughput",
                lab.ratio(
                        () -> serverMicros(lab.push(rig, off)),
                        () -> serverMicros(lab.push(rig, on))));
    }

    private static String window(int seconds) {
        return "{\"leaseTime\":60,\"dedupWindowSeconds\":" + seconds + "}";
    }

    /** The memory of keys may grow for one window and not after it. */
    static void dedupOverManyLanes(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        int lanes = lab.plan().lanes() / 10;
        int seconds = (int) Math.max(1, Math.min(60, lab.plan().seconds()));
        String options = "producers=16 push-batch=10 partitions=100 payload=filler lanes=" + lanes;
        Traffic.Shape on = Lab.pushes(lab.queue(rig, window(seconds)), options);
        Traffic.Shape off = Lab.pushes(lab.queue(rig, DEDUP_OFF), options);
        for (Traffic.Shape shape : new Traffic.Shape[] {on, off}) {
            Lanes.idle(rig.server(), shape.queue(), 0, lanes);
        }
        Lanes.settle(rig.server());
        readings.ratio(
                "throughput",
                lab.ratio(
                        () -> serverMicros(lab.push(rig, off)),
                        () -> serverMicros(lab.push(rig, on))));
        lab.push(rig, on, 0, 2 * seconds);
        long before = rig.jvm().liveHeapBytes();
        Window window = lab.push(rig, on, 0, 2 * seconds);
        long after = rig.jvm().liveHeapBytes();
        readings.value("heap", Math.max(0, (after - before) / (double) window.pushed()));
        readings.detail("live heap of the broker, MB", after / 1e6);
    }

    static void duplicates(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        Traffic.Shape unique =
                Lab.pushes(lab.queue(rig), "lanes=16 producers=16 push-batch=100 payload=filler");
        Repeats repeats = new Repeats(lab.queue(rig), 16, 100);
        try (Callers first = new Callers(rig.url(), 16, repeats)) {
            first.run(lab.plan().ramp());
        }
        double[] written = new double[1];
        double[] sent = new double[1];
        Interval ratio =
                lab.ratio(
                        () -> serverMicros(lab.push(rig, unique)),
                        () -> {
                            double before = rowsWritten(rig.server());
                            long already = repeats.duplicates;
                            Meter meter = rig.meter();
                            try (Callers callers = new Callers(rig.url(), 16, repeats)) {
                                callers.run(lab.plan().pairSeconds());
                            }
                            Meter.Used used = meter.used();
                            long messages = repeats.duplicates - already;
                            rig.server().awaitReports();
                            written[0] += rowsWritten(rig.server()) - before;
                            sent[0] += messages;
                            return used.serverMicros() / messages;
                        });
        readings.ratio("throughput", ratio);
        readings.value("rows", written[0] / sent[0]);
    }

    private static double rowsWritten(Server server) {
        return server.number(
                "select sum(n_tup_ins + n_tup_upd + n_tup_del) from pg_stat_user_tables"
                        + " where relname like 'segments%' or relname = 'partitions'");
    }

    /** The same request over and over: everything but the first time is a duplicate. */
    private static final class Repeats implements Callers.Script {
        private static final byte[] DUPLICATE = "duplicate\"".getBytes(StandardCharsets.US_ASCII);

        private final Bytes[] bodies;
        private long duplicates;

        Repeats(String queue, int callers, int batch) {
            Rng rng = Rng.seeded();
            Payload payload = new Payload(Payload.Kind.FILLER, BYTES, rng);
            bodies = new Bytes[callers];
            for (int caller = 0; caller < callers; caller++) {
                Bytes body = new Bytes(batch * 2 * BYTES);
                bodies[caller] = body.add("{\"items\":[");
                for (int i = 0; i < batch; i++) {
                    body.add(i == 0 ? "{\"queue\":\"" : ",{\"queue\":\"").add(queue);
                    body.add("\",\"partition\":\"lane-").number(caller);
                    body.add("\",\"transactionId\":\"").uuid(rng.uuidHigh(), rng.uuidLow());
                    body.add("\",\"payload\":");
                    payload.render(body, caller, i, 0);
                    body.add((byte) '}');
                }
                body.add("]}");
            }
        }

        @Override
        public @Nullable String next(int caller, Bytes body) {
            Bytes stored = bodies[caller];
            body.add(stored.array(), 0, stored.size());
            return "/api/v1/push";
        }

        @Override
        public void answered(int caller, int status, byte[] body, int from, int to) {
            Callers.expect(201, status, body, from, to);
            for (int i = from; i + DUPLICATE.length <= to; i++) {
                if (body[i] == DUPLICATE[0]
                        && Arrays.equals(
                                body, i, i + DUPLICATE.length, DUPLICATE, 0, DUPLICATE.length)) {
                    duplicates++;
                }
            }
        }
    }

    static void newLanes(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        Traffic.Shape existing = Lab.pushes(lab.queue(rig), SINGLES);
        String queue = lab.queue(rig);
        readings.ratio(
                "throughput",
                lab.ratio(
                        () -> serverMicros(lab.push(rig, existing)),
                        () -> {
                            Meter meter = rig.meter();
                            try (Callers callers =
                                    new Callers(rig.url(), 64, new NewLanes(queue))) {
                                callers.run(lab.plan().pairSeconds());
                                return meter.used().serverMicros() / callers.answers();
                            }
                        }));
    }

    /** Every push names a lane that nobody has named before. */
    private record NewLanes(String queue) implements Callers.Script {
        @Override
        public String next(int caller, Bytes body) {
            body.add("{\"items\":[{\"queue\":\"").add(queue).add("\",\"partition\":\"");
            body.add(UUID.randomUUID().toString()).add("\",\"payload\":{\"n\":1}}]}");
            return "/api/v1/push";
        }

        @Override
        public void answered(int caller, int status, byte[] body, int from, int to) {
            Callers.expect(201, status, body, from, to);
        }
    }
}
