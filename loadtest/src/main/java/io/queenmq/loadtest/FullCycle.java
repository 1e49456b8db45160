package io.queenmq.loadtest;

import java.util.Map;

/** The whole life of a message: push, pop, ack, with deduplication on. */
final class FullCycle {
    /** Batch 1 both ways, as many clients as it takes. */
    static final String SINGLES = "producers=64 push-batch=1 consumers=32 pop-batch=1";

    private static final int BYTES = 256;
    private static final int BARE_THREADS = 3;

    private FullCycle() {}

    static void p1(Lab lab, Readings readings) throws Exception {
        batches(lab, readings, Payload.Kind.FILLER);
    }

    static void p3(Lab lab, Readings readings) throws Exception {
        batches(lab, readings, Payload.Kind.ORDER);
    }

    private static void batches(Lab lab, Readings readings, Payload.Kind payload) throws Exception {
        Rig rig = lab.rig();
        Traffic.Shape shape = Lab.shape(lab.queue(rig), "payload=" + payload.optionName());
        lab.cycle(rig, shape, 0, lab.plan().warmup());
        try (BareAppend bare =
                new BareAppend(
                        rig.jdbcUrl(),
                        lab.queue(rig),
                        new BareAppend.Shape(BARE_THREADS, 16, 100, payload, BYTES))) {
            readings.ratio(
                    "share",
                    lab.ratio(
                            () -> lab.cycle(rig, shape).consumedPerSecond(),
                            () -> bare.run(Plan.nanos(lab.plan().pairSeconds())).perSecond()));
        }
        long allocated = rig.jvm().allocatedBytes();
        Window window = lab.cycle(rig, shape, lab.plan().ramp(), lab.plan().seconds());
        allocated = rig.jvm().allocatedBytes() - allocated;
        report(readings, window);
        readings.value("micros", window.used().serverMicros() / window.pushed());
        readings.detail(
                "bytes allocated by the broker per message, ramp and drain included",
                allocated / (double) window.traffic().ledger().acceptedCount());
    }

    static void singles(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        Traffic.Shape shape = Lab.shape(lab.queue(rig), SINGLES);
        report(readings, lab.cycle(rig, shape, lab.plan().warmup(), lab.plan().seconds()));
    }

    private static void report(Readings readings, Window window) {
        readings.value("rate", window.consumedPerSecond());
        Meter.Used used = window.used();
        Map.of(
                        "broker", used.cpu().broker(),
                        "postgres", used.cpu().postgres(),
                        "generator", used.cpu().generator())
                .forEach(
                        (process, micros) ->
                                readings.detail(
                                        "µs per message, " + process,
                                        micros / (double) window.pushed()));
        readings.detail("messages per commit", window.messagesPerCommit().orElseThrow());
        readings.detail(
                "end to end p50, ms",
                window.traffic().endToEndMicros().getValueAtPercentile(50) / 1e3);
        readings.detail(
                "end to end p99, ms",
                window.traffic().endToEndMicros().getValueAtPercentile(99) / 1e3);
    }

    static void singlePushes(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        Traffic.Shape shape = Lab.pushes(lab.queue(rig), "lanes=64 producers=64 push-batch=1");
        lab.push(rig, shape, 0, lab.plan().warmup());
        try (BareAppend bare =
                new BareAppend(
                        rig.jdbcUrl(),
                        lab.queue(rig),
                        new BareAppend.Shape(BARE_THREADS, 64, 1, Payload.Kind.ORDER, BYTES))) {
            readings.ratio(
                    "share",
                    lab.ratio(
                            () -> lab.push(rig, shape).pushedPerSecond(),
                            () -> bare.run(Plan.nanos(lab.plan().pairSeconds())).perSecond()));
        }
        readings.value(
                "rate",
                lab.push(rig, shape, lab.plan().ramp(), lab.plan().seconds()).pushedPerSecond());
    }

    static void shareOfAutoAck(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        Traffic.Shape leased = Lab.shape(lab.queue(rig), "payload=filler");
        Traffic.Shape auto = Lab.shape(lab.queue(rig), "payload=filler auto-ack=1");
        lab.cycle(rig, leased, 0, lab.plan().warmup());
        readings.ratio(
                "throughput",
                lab.ratio(
                        () -> WritePath.serverMicros(lab.cycle(rig, auto)),
                        () -> WritePath.serverMicros(lab.cycle(rig, leased))));
    }

    static void brokerAgainstDatabase(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        Meter.Used batches = used(lab, rig, "payload=filler");
        Meter.Used singles = used(lab, rig, SINGLES + " payload=filler");
        readings.value("batch 100", batches.cpu().broker() / (double) batches.cpu().postgres());
        readings.value("batch 1", singles.cpu().broker() / (double) singles.cpu().postgres());
    }

    private static Meter.Used used(Lab lab, Rig rig, String options) throws Exception {
        Traffic.Shape shape = Lab.shape(lab.queue(rig), options);
        return lab.cycle(rig, shape, lab.plan().warmup(), lab.plan().seconds()).used();
    }

    static void singlesAgainstBatches(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        Traffic.Shape batches = Lab.shape(lab.queue(rig), "payload=filler");
        Traffic.Shape singles = Lab.shape(lab.queue(rig), SINGLES + " payload=filler");
        lab.cycle(rig, singles, 0, lab.plan().warmup());
        readings.ratio(
                "ratio",
                lab.ratio(
                        () -> brokerMicros(lab.cycle(rig, singles)),
                        () -> brokerMicros(lab.cycle(rig, batches))));
    }

    private static double brokerMicros(Window window) {
        return window.used().cpu().broker() / (double) window.pushed();
    }

    static void pauses(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        Traffic.Shape shape = Lab.shape(lab.queue(rig), "payload=order");
        lab.cycle(rig, shape, 0, lab.plan().warmup());
        double before = rig.jvm().pausedSeconds();
        long start = System.nanoTime();
        Window window = lab.cycle(rig, shape, 0, lab.plan().seconds());
        double seconds = (System.nanoTime() - start) / 1e9;
        double paused = rig.jvm().pausedSeconds() - before;
        readings.value("share", paused / seconds);
        readings.detail(
                "end to end p99.9, ms",
                window.traffic().endToEndMicros().getValueAtPercentile(99.9) / 1e3);
    }
}
