package io.queenmq.loadtest;

import java.util.Map;

/** Group L, and how soon a parked consumer is woken (R12, R13). */
final class Latency {
    private static final String SINGLES =
            "lanes=64 producers=64 push-batch=1 consumers=32 pop-batch=1 payload=filler";
    private static final int LEASE_SECONDS = 20;
    private static final int POOL = 4 * Runtime.getRuntime().availableProcessors() + 8;

    private Latency() {}

    private static Traffic.Shape at(Lab lab, Rig rig, double rate) {
        return Lab.shape(lab.queue(rig), SINGLES + " rate=" + Math.max(1, (int) rate));
    }

    /** Messages per second, full cycle at batch 1, as fast as answers come. */
    private static double saturation(Lab lab, Rig rig, Readings readings) {
        double rate =
                lab.cycle(
                                rig,
                                Lab.shape(lab.queue(rig), SINGLES),
                                lab.plan().warmup(),
                                lab.plan().seconds())
                        .consumedPerSecond();
        readings.detail("saturated, messages per second", rate);
        return rate;
    }

    private static double endToEnd(Window window, double percentile) {
        return window.traffic().endToEndMicros().getValueAtPercentile(percentile);
    }

    /** Median time of a bare call that stores one message, in microseconds. */
    private static double bareCall(Lab lab, Rig rig) {
        try (BareAppend bare =
                new BareAppend(
                        rig.jdbcUrl(),
                        lab.queue(rig),
                        new BareAppend.Shape(1, 1, 1, Payload.Kind.FILLER, 256))) {
            bare.run(Plan.nanos(lab.plan().ramp()));
            return bare.run(Plan.nanos(lab.plan().pairSeconds())).micros().getValueAtPercentile(50);
        }
    }

    static void halfLoad(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        double commit = bareCall(lab, rig);
        double rate = saturation(lab, rig, readings) / 2;
        Window window = lab.cycle(rig, at(lab, rig, rate), lab.plan().ramp(), lab.plan().seconds());
        readings.value("p50", endToEnd(window, 50) / (2 * commit));
        readings.value("tail", endToEnd(window, 99) / endToEnd(window, 50));
        readings.detail("median of a bare call, µs", commit);
        readings.detail("end to end p50, ms", endToEnd(window, 50) / 1e3);
        readings.detail("end to end p99, ms", endToEnd(window, 99) / 1e3);
    }

    static void nearSaturation(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        double rate = saturation(lab, rig, readings);
        Traffic.Shape high = at(lab, rig, rate * 0.9);
        Traffic.Shape half = at(lab, rig, rate * 0.5);
        readings.ratio(
                "p99",
                lab.ratio(
                        () -> endToEnd(lab.cycle(rig, high), 99),
                        () -> endToEnd(lab.cycle(rig, half), 99)));
    }

    static void overload(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        Traffic.Shape saturated = Lab.shape(lab.queue(rig), SINGLES);
        Traffic.Shape over = at(lab, rig, saturation(lab, rig, readings) * 1.5);
        long[] lost = new long[1];
        readings.ratio(
                "served",
                lab.ratio(
                        () -> {
                            Window window = lab.cycle(rig, over);
                            lost[0] += window.traffic().ledger().verdict().lost();
                            return window.consumedPerSecond();
                        },
                        () -> lab.cycle(rig, saturated).consumedPerSecond()));
        readings.value("lost", (double) lost[0]);
    }

    /** The same total; in one arm a single lane takes a sixth of it. */
    static void hotLane(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        int rate = 2_000;
        int lanes = 1_000;
        int hot = rate * 200 / (lanes - 1 + 200);
        String options =
                "push-batch=1 producers=64 consumers=32 pop-batch=10 payload=filler lanes="
                        + lanes
                        + " rate="
                        + rate;
        Traffic.Shape uniform = Lab.shape(lab.queue(rig), options);
        Traffic.Shape uneven = Lab.shape(lab.queue(rig), options + " hot-rate=" + hot);
        lab.cycle(rig, uniform, 0, lab.plan().warmup());
        readings.ratio(
                "p99",
                lab.ratio(
                        () -> endToEnd(lab.cycle(rig, uneven), 99),
                        () -> endToEnd(lab.cycle(rig, uniform), 99)));
    }

    static void manyPollers(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        String options = "lanes=64 producers=16 push-batch=10 rate=5000 pop-batch=10";
        Traffic.Shape few = Lab.shape(lab.queue(rig), options + " consumers=" + POOL);
        Traffic.Shape many = Lab.shape(lab.queue(rig), options + " consumers=" + 20 * POOL);
        long[] errors = new long[1];
        readings.ratio(
                "p99",
                lab.ratio(
                        () -> {
                            Window window = lab.cycle(rig, many);
                            Traffic traffic = window.traffic();
                            errors[0] += traffic.consumeErrors() + traffic.pushRetries();
                            return endToEnd(window, 99);
                        },
                        () -> endToEnd(lab.cycle(rig, few), 99)));
        readings.value("errors", (double) errors[0] + (rig.brokerAlive() ? 0 : 1));
    }

    static void newLane(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        try (EventLoop loop = new EventLoop()) {
            Wake wake = new Wake(loop, rig.url(), lab.queue(rig));
            int rounds = (int) Math.max(10, lab.plan().seconds() * 5);
            double slowest = wake.run(rounds, round -> "new-" + round).getMaxValue() / 1e3;
            if (wake.arrived() < rounds) {
                readings.note(wake.arrived() + " of " + rounds + " messages arrived");
                slowest = Double.POSITIVE_INFINITY;
            }
            readings.value("millis", slowest);
            readings.detail("rounds", rounds);
        }
    }

    static void killedBroker(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        String queue = lab.queue(rig, "{\"leaseTime\":" + LEASE_SECONDS + "}");
        try (Traffic traffic = new Traffic(rig.url(), Lab.shape(queue, "payload=order"))) {
            traffic.startConsumers();
            traffic.startProducers();
            traffic.run(Plan.nanos(Math.min(20, lab.plan().seconds())));
            long[] accepted = traffic.ledger().acceptedByLane();
            long killedAt = System.nanoTime();
            rig.killBroker();
            rig.startBroker();
            readings.detail("healthy again after, s", secondsSince(killedAt));
            boolean recovered =
                    traffic.runUntil(
                            () -> traffic.ledger().ackedUpTo(accepted),
                            Plan.nanos(10 * LEASE_SECONDS));
            readings.value(
                    "recovery",
                    recovered ? secondsSince(killedAt) / LEASE_SECONDS : Double.POSITIVE_INFINITY);
            lab.verify(traffic);
            readings.value("lost", (double) traffic.ledger().verdict().lost());
            readings.detail("redelivered for a reason", traffic.ledger().verdict().redelivered());
        }
    }

    private static double secondsSince(long nanos) {
        return (System.nanoTime() - nanos) / 1e9;
    }

    static void wake(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        int rounds = (int) Math.max(5, lab.plan().pairSeconds() * 5);
        try (EventLoop loop = new EventLoop()) {
            Wake wake = new Wake(loop, rig.url(), lab.queue(rig));
            readings.ratio(
                    "p50",
                    lab.ratio(
                            () ->
                                    (double)
                                            wake.run(rounds, round -> "lane")
                                                    .getValueAtPercentile(50),
                            () -> bareCall(lab, rig)));
        }
    }

    static void wakeAmongMany(Lab lab, Readings readings) throws Exception {
        int rounds = (int) Math.max(10, lab.plan().pairSeconds() * 5);
        try (Parked many = new Parked(lab, lab.rig(), lab.plan().pollers());
                Parked few = new Parked(lab, lab.another(Map.of()), 10)) {
            readings.ratio("p99", lab.ratio(() -> many.wakeP99(rounds), () -> few.wakeP99(rounds)));
        }
    }

    /** Polls that are parked on a queue each, and one more that is woken. */
    private static final class Parked implements AutoCloseable {
        private final Callers callers;
        private final Wake wake;

        Parked(Lab lab, Rig rig, int polls) {
            this.callers = new Callers(rig.url(), polls, new Polls());
            callers.start(0, polls);
            callers.goOn(Math.max(5, lab.plan().warmup()));
            this.wake = new Wake(callers.loop(), rig.url(), lab.queue(rig));
        }

        double wakeP99(int rounds) {
            return wake.run(rounds, round -> "lane").getValueAtPercentile(99);
        }

        @Override
        public void close() {
            callers.close();
        }
    }

    /** A long poll per caller on a queue of its own. */
    record Polls() implements Callers.Script {
        @Override
        public String next(int caller, Bytes body) {
            return "/api/v1/pop/queue/parked-" + caller + "?batch=10&wait=true&timeout=55000";
        }

        @Override
        public void answered(int caller, int status, byte[] body, int from, int to) {
            Callers.expect(204, status, body, from, to);
        }
    }
}
