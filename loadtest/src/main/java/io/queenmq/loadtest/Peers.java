package io.queenmq.loadtest;

import java.util.Map;

/** F6 and F7: the same work done by a queue of rows in the same PostgreSQL. */
final class Peers {
    private static final int LANES = 1_000;
    private static final int BYTES = 256;
    private static final int CLIENTS = 16;
    private static final int BATCH = 100;

    private Peers() {}

    static void perCore(Lab lab, Readings readings) throws Exception {
        Rig ours = lab.rig();
        Rig theirs = lab.another(Map.of());
        try (RowsQueue rows = new RowsQueue(theirs, BYTES)) {
            for (Load load : new Load[] {new Load("sparse", 2), new Load("dense", 12)}) {
                int rate = load.perLane() * LANES;
                Traffic.Shape shape =
                        Lab.shape(
                                lab.queue(ours),
                                "push-batch=1 producers=64 consumers=16 pop-batch=100"
                                        + " partitions=100 rate="
                                        + rate
                                        + " lanes="
                                        + LANES);
                readings.ratio(
                        load.name(),
                        lab.ratio(
                                () -> {
                                    Window window = lab.cycle(ours, shape);
                                    return window.consumed() / window.used().serverMicros();
                                },
                                () -> perMicro(lab, theirs, rows, CLIENTS, rate)));
            }
        }
    }

    private record Load(String name, int perLane) {}

    /** Deliveries per microsecond of PostgreSQL: there is no other process. */
    private static double perMicro(Lab lab, Rig rig, RowsQueue rows, int senders, int rate) {
        rows.run(senders, rate, CLIENTS, BATCH, lab.plan().ramp());
        long before = rows.removed();
        Meter meter = rig.meter();
        rows.run(senders, rate, CLIENTS, BATCH, lab.plan().pairSeconds());
        double micros = meter.used().cpu().postgres();
        return Math.max(1, rows.removed() - before) / micros;
    }

    /** Both work off a backlog that is as large at every measurement. */
    static void backlog(Lab lab, Readings readings) throws Exception {
        Rig ours = lab.rig();
        Rig theirs = lab.another(Map.of());
        int standing = lab.plan().retained() / 10;
        int each = Math.max(BATCH, standing / LANES / BATCH * BATCH);
        try (RowsQueue rows = new RowsQueue(theirs, BYTES)) {
            rows.fill(standing);
            Lanes.settle(ours.server());
            readings.ratio(
                    "drain",
                    lab.ratio(
                            () -> {
                                String queue = lab.queue(ours);
                                Lanes.fill(
                                        ours,
                                        queue,
                                        new Lanes.Content(
                                                LANES, each, BATCH, Payload.Kind.ORDER, BYTES));
                                return lab.drain(
                                                ours,
                                                Lab.shape(
                                                        queue,
                                                        "consumers=16 pop-batch=1000 partitions=10"
                                                                + " lanes="
                                                                + LANES),
                                                each)
                                        .consumedPerSecond();
                            },
                            () -> drain(lab, theirs, rows, standing)));
        }
        readings.detail("backlog of each", standing);
    }

    private static double drain(Lab lab, Rig rig, RowsQueue rows, int standing) throws Exception {
        int left = (int) rig.server().number("select count(*) from rows_queue.messages");
        rows.fill(standing - left);
        long before = rows.removed();
        long start = System.nanoTime();
        rows.run(0, 0, CLIENTS, BATCH, lab.plan().pairSeconds());
        return (rows.removed() - before) / ((System.nanoTime() - start) / 1e9);
    }
}
