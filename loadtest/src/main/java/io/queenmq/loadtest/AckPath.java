package io.queenmq.loadtest;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** Acks and leases of group R. */
final class AckPath {
    private static final String GROUP = "loadtest";
    private static final int BATCH = 100;

    private AckPath() {}

    static void partialAgainstWhole(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        String queue = lab.queue(rig);
        int lanes = Math.min(500, lab.plan().lanes() / 20);
        int batches = 2 * (lab.plan().pairs() + 1);
        Lanes.group(rig.server(), queue, GROUP);
        Lanes.fill(
                rig,
                queue,
                new Lanes.Content(lanes, BATCH * batches, BATCH, Payload.Kind.FILLER, 256));
        readings.ratio(
                "ratio",
                lab.ratio(
                        () -> ackMicros(rig, queue, lanes, AckPath::most),
                        () -> ackMicros(rig, queue, lanes, batch -> batch)));
    }

    private static List<Leased.Message> most(List<Leased.Message> batch) {
        return batch.subList(0, batch.size() - 1);
    }

    private static List<Leased.Message> last(List<Leased.Message> batch) {
        return batch.subList(batch.size() - 1, batch.size());
    }

    /** Microseconds of broker and PostgreSQL per ack of a part of a leased hundred. */
    private static double ackMicros(
            Rig rig,
            String queue,
            int lanes,
            Function<List<Leased.Message>, List<Leased.Message>> part) {
        Leased leased = Leased.pop(rig.url(), queue, GROUP, lanes, BATCH);
        if (leased.size() == 0) {
            throw new IllegalStateException("nothing was left to pop");
        }
        Meter meter = rig.meter();
        leased.ack(part);
        double micros = meter.used().serverMicros();
        // What is left of a batch is acknowledged too: each round begins with whole batches.
        leased.ack(batch -> part.apply(batch).size() == batch.size() ? List.of() : last(batch));
        return micros / leased.size();
    }

    /** The same lanes but for what lies behind the cursor; rounds are added up. */
    static void partialInDeepLanes(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        int lanes = 8;
        int rounds = Math.max(2, lab.plan().pairs() * 2);
        int toRead = BATCH * rounds * (lab.plan().pairs() + 1);
        String deep = prepare(lab, rig, lanes, lab.plan().retained() / 10, toRead);
        String shallow = prepare(lab, rig, lanes, 1_000, toRead);
        readings.ratio(
                "ratio",
                lab.ratio(
                        () -> ackMicros(rig, deep, lanes, rounds),
                        () -> ackMicros(rig, shallow, lanes, rounds)));
    }

    private static String prepare(Lab lab, Rig rig, int lanes, int behind, int toRead)
            throws Exception {
        String queue = lab.queue(rig);
        Lanes.group(rig.server(), queue, GROUP);
        int all = (behind / 1_000 + 1) * 1_000 + toRead;
        Lanes.fill(
                rig, queue, new Lanes.Content(lanes, all - toRead, 1_000, Payload.Kind.FILLER, 64));
        Lanes.cursors(rig.server(), queue, GROUP);
        Lanes.fill(rig, queue, new Lanes.Content(lanes, toRead, BATCH, Payload.Kind.FILLER, 64));
        return queue;
    }

    private static double ackMicros(Rig rig, String queue, int lanes, int rounds) {
        double micros = 0;
        for (int round = 0; round < rounds; round++) {
            micros += ackMicros(rig, queue, lanes, AckPath::most);
        }
        return micros / rounds;
    }

    static void renewals(Lab lab, Readings readings) throws Exception {
        Renewal many = new Renewal(lab, lab.rig(), lab.plan().lanes());
        Renewal few = new Renewal(lab, lab.another(Map.of()), 1_000);
        readings.ratio(
                "ratio", lab.ratio(() -> many.micros(lab.plan()), () -> few.micros(lab.plan())));
    }

    /** One lease among many cursors, renewed over and over. */
    private static final class Renewal implements Callers.Script {
        private final Rig rig;
        private final String path;

        Renewal(Lab lab, Rig rig, int cursors) throws Exception {
            this.rig = rig;
            String queue = lab.queue(rig);
            Lanes.group(rig.server(), queue, GROUP);
            Lanes.idle(rig.server(), queue, 1, cursors);
            Lanes.cursors(rig.server(), queue, GROUP);
            Lanes.fill(rig, queue, new Lanes.Content(1, 1, 1, Payload.Kind.FILLER, 256));
            Lanes.settle(rig.server());
            Leased leased = Leased.pop(rig.url(), queue, GROUP, 1, 1);
            this.path =
                    "/api/v1/lease/" + leased.batches().getFirst().getFirst().leaseId() + "/extend";
        }

        double micros(Plan plan) {
            Meter meter = rig.meter();
            try (Callers callers = new Callers(rig.url(), 8, this)) {
                callers.run(plan.pairSeconds());
                return meter.used().serverMicros() / callers.answers();
            }
        }

        @Override
        public String next(int caller, Bytes body) {
            body.add("{\"seconds\":60}");
            return path;
        }

        @Override
        public void answered(int caller, int status, byte[] body, int from, int to) {
            Callers.expect(200, status, body, from, to);
            if (!new String(body, from, to - from, StandardCharsets.UTF_8)
                    .contains("\"success\":true")) {
                throw new IllegalStateException("the lease is gone");
            }
        }
    }
}
