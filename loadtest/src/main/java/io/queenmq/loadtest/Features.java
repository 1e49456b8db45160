package io.queenmq.loadtest;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.ToLongFunction;

/** F1, F2 and F5: transactions, keys and timers, each against the same work done otherwise. */
final class Features {
    private static final String GROUP = "loadtest";
    private static final int BYTES = 256;
    private static final int SINGLE = 1;
    private static final int BATCH = 25;
    private static final int STEPS_MIN = 200;
    private static final int STEPS_MAX = 5_000;
    private static final int WARMUP_PAIRS_MAX = 24;
    private static final double STEP_SECONDS_MAX = 60;
    private static final int TIMERS_MIN = 1_000;
    private static final int TIMERS_MAX = 20_000;
    private static final int TIMER_LANES = 64;
    private static final int LOOK_MILLIS = 10;
    private static final long FIRE_SECONDS_MAX = 120;
    private static final int WAITING_TIMERS = 100_000;
    private static final double A_DAY = 86_400;
    private static final int WATCHED_TIMERS = 400;
    private static final double APART_SECONDS = 0.05;
    private static final String SCHEDULE =
            """
            select count(*) filter (where s.status = 'scheduled')
            from (
                select array_agg(v.queue) as queues, array_agg('timer-' || n) as keys,
                       array_agg(v.payload) as payloads,
                       array_agg('lane-' || n % v.lanes) as lanes,
                       array_agg(clock_timestamp()) as times
                from (values (?::text, ?::text, ?::integer)) v (queue, payload, lanes)
                cross join generate_series(1, ?::integer) n
                group by n / 1000) due
            cross join lateral queen.timer_schedule(
                due.queues, due.keys, due.payloads, due.times, due.lanes) s
            """;

    /** Timers of one queue, from a time on, one behind the other at this distance. */
    private static final String SCHEDULE_SPREAD =
            """
            select count(*) filter (where s.status = 'scheduled')
            from (
                select array_agg(v.queue) as queues, array_agg('timer-' || n) as keys,
                       array_agg('1'::text) as payloads, array_agg('lane-' || n % v.lanes) as lanes,
                       array_agg(
                           clock_timestamp() + make_interval(secs => v.from_now + n * v.apart))
                           as times
                from (values (?::text, ?::integer, ?::float8, ?::float8))
                    v (queue, lanes, from_now, apart)
                cross join generate_series(1, ?::integer) n
                group by n / 1000) due
            cross join lateral queen.timer_schedule(
                due.queues, due.keys, due.payloads, due.times, due.lanes) s
            """;

    private static final String STORED =
            "select coalesce(sum(last_offset + 1), 0) from queen_store.partitions where queue_id = ?";
    private static final String PENDING =
            "select count(*) from (select from queen_store.timers limit 1) t";

    private Features() {}

    static void transaction(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        String source = lab.queue(rig);
        String destination = lab.queue(rig);
        int steps = Math.clamp(lab.plan().lanes() / 200, STEPS_MIN, STEPS_MAX);
        int each = 2 * (lab.plan().pairs() + 1 + WARMUP_PAIRS_MAX);
        Lanes.group(rig.server(), source, GROUP);
        Lanes.fill(rig, source, new Lanes.Content(steps, each, each, Payload.Kind.ORDER, BYTES));
        Arms arms = new Arms(lab, source, destination, steps);
        long warm = System.nanoTime() + Plan.nanos(lab.plan().warmup());
        for (int pair = 0; pair < WARMUP_PAIRS_MAX && System.nanoTime() < warm; pair++) {
            arms.together();
            arms.apart();
        }
        arms.forgetCost();
        readings.detail("clients", lab.plan().clients());
        readings.ratio("steps", lab.ratio(arms::together, arms::apart));
        readings.detail("CPU per step, one transaction", arms.cost(true));
        readings.detail("CPU per step, three calls", arms.cost(false));
        expectStored(rig, destination, arms.done());
    }

    /** Both ways to take a step, and what they cost. */
    private static final class Arms {
        private final Lab lab;
        private final String source;
        private final String destination;
        private final int steps;
        private final List<Cpu.Sample> together = new ArrayList<>();
        private final List<Cpu.Sample> apart = new ArrayList<>();
        private long done;

        Arms(Lab lab, String source, String destination, int steps) {
            this.lab = lab;
            this.source = source;
            this.destination = destination;
            this.steps = steps;
        }

        double together() throws IOException {
            return stepsPerSecond(true);
        }

        double apart() throws IOException {
            return stepsPerSecond(false);
        }

        long done() {
            return done;
        }

        void forgetCost() {
            together.clear();
            apart.clear();
        }

        /** Microseconds per step, the median of all runs. */
        String cost(boolean inOne) {
            List<Cpu.Sample> samples = inOne ? together : apart;
            return "broker %d µs, PostgreSQL %d µs, generator %d µs"
                    .formatted(
                            median(samples, Cpu.Sample::broker),
                            median(samples, Cpu.Sample::postgres),
                            median(samples, Cpu.Sample::generator));
        }

        private long median(List<Cpu.Sample> samples, ToLongFunction<Cpu.Sample> part) {
            return samples.stream()
                            .mapToLong(part)
                            .sorted()
                            .skip(samples.size() / 2)
                            .findFirst()
                            .orElseThrow()
                    / steps;
        }

        /** Messages that are leased beforehand, each worked off by one step. */
        private double stepsPerSecond(boolean inOne) throws IOException {
            Rig rig = lab.rig();
            int clients = lab.plan().clients();
            List<Leased.Message> messages =
                    Leased.pop(rig.url(), source, GROUP, steps, 1).batches().stream()
                            .flatMap(List::stream)
                            .toList();
            if (messages.size() != steps) {
                throw new IllegalStateException(messages.size() + " messages instead of " + steps);
            }
            Steps script = new Steps(messages, clients, GROUP, destination, inOne);
            try (Callers callers = new Callers(rig.url(), clients, script)) {
                Cpu.Sample before = rig.cpu().sample();
                long start = System.nanoTime();
                callers.run(STEP_SECONDS_MAX);
                double seconds = (System.nanoTime() - start) / 1e9;
                (inOne ? together : apart).add(rig.cpu().sample().minus(before));
                done += script.done();
                return script.done() / seconds;
            }
        }
    }

    private static void expectStored(Rig rig, String queue, long messages) {
        double stored =
                rig.server()
                        .number(
                                "select sum(last_offset + 1) from queen_store.partitions"
                                        + " where queue_id = ?",
                                Lanes.queueNumber(rig.server(), queue));
        if (stored != messages) {
            throw new IllegalStateException(
                    "%,.0f messages were stored instead of %,d".formatted(stored, messages));
        }
    }

    static void keys(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        try (BareUpsert bare = new BareUpsert(rig.jdbcUrl(), lab.plan().clients())) {
            putsPerSecond(lab, rig, BATCH, lab.plan().warmup());
            bare.run(Plan.nanos(lab.plan().warmup()));
            Lanes.settle(rig.server());
            readings.detail("clients", lab.plan().clients());
            readings.ratio(
                    "single",
                    lab.ratio(
                            () -> putsPerSecond(lab, rig, SINGLE, lab.plan().pairSeconds()),
                            () -> bare.run(Plan.nanos(lab.plan().pairSeconds()))));
            readings.ratio(
                    "batch",
                    lab.ratio(
                            () -> putsPerSecond(lab, rig, BATCH, lab.plan().pairSeconds()),
                            () -> putsPerSecond(lab, rig, SINGLE, lab.plan().pairSeconds())));
        }
    }

    private static double putsPerSecond(Lab lab, Rig rig, int batch, double seconds) {
        puts(lab, rig, batch, lab.plan().ramp());
        long start = System.nanoTime();
        long puts = puts(lab, rig, batch, seconds);
        return puts / ((System.nanoTime() - start) / 1e9);
    }

    private static long puts(Lab lab, Rig rig, int batch, double seconds) {
        int clients = lab.plan().clients();
        try (Callers callers = new Callers(rig.url(), clients, new Puts(batch))) {
            callers.run(seconds);
            return callers.answers() * batch;
        }
    }

    static void timers(Lab lab, Readings readings) throws Exception {
        Rig rig = lab.rig();
        int timers = Math.clamp(lab.plan().retained() / 500, TIMERS_MIN, TIMERS_MAX);
        Traffic.Shape singles =
                Lab.pushes(
                        lab.queue(rig),
                        "lanes=%d producers=%d push-batch=1 payload=filler"
                                .formatted(TIMER_LANES, TIMER_LANES));
        readings.ratio(
                "fires",
                lab.ratio(
                        () -> firesPerSecond(lab, rig, timers),
                        () -> lab.push(rig, singles).pushedPerSecond()));
        readings.detail("timers due at once", timers);
        lateness(lab, rig, readings);
    }

    /**
     * How late timers are that come one by one while very many wait: their delivery by the clock of
     * the server, against the time that they were scheduled for. Scheduled in SQL: the broker has
     * to be told.
     */
    private static void lateness(Lab lab, Rig rig, Readings readings) throws SQLException {
        int waiting = Math.min(WAITING_TIMERS, lab.plan().retained() / 100);
        String asleep = lab.queue(rig);
        String awake = lab.queue(rig);
        schedule(rig, asleep, TIMER_LANES, A_DAY, 0, waiting);
        Lanes.provision(rig.jdbcUrl(), awake, "lane-", 1);
        Lanes.settle(rig.server());
        double first = rig.server().number("select extract(epoch from clock_timestamp()) + 1");
        schedule(rig, awake, 1, 1, APART_SECONDS, WATCHED_TIMERS);
        int queue = Lanes.queueNumber(rig.server(), awake);
        long last = System.nanoTime() + TimeUnit.SECONDS.toNanos(FIRE_SECONDS_MAX);
        while (rig.server().number(STORED, queue) < WATCHED_TIMERS) {
            if (System.nanoTime() > last) {
                throw new IllegalStateException("not all timers fired");
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(LOOK_MILLIS));
        }
        readings.detail("timers pending", waiting);
        readings.value(
                "late p99",
                rig.server()
                        .number(
                                "select 1000 * percentile_disc(0.99) within group (order by"
                                        + " extract(epoch from m.created_at) - ? - (m.\"offset\" + 1) * ?)"
                                        + " from queen.messages m where m.queue = ?",
                                first,
                                APART_SECONDS,
                                awake));
    }

    private static void schedule(
            Rig rig, String queue, int lanes, double fromNow, double apart, int timers) {
        double scheduled =
                rig.server().number(SCHEDULE_SPREAD, queue, lanes, fromNow, apart, timers);
        if (scheduled != timers) {
            throw new IllegalStateException("%,.0f timers were scheduled".formatted(scheduled));
        }
    }

    /** From the moment at which the broker may deliver what has been due for a while. */
    private static double firesPerSecond(Lab lab, Rig rig, int timers) throws SQLException {
        String queue = lab.queue(rig);
        Lanes.provision(rig.jdbcUrl(), queue, "lane-", TIMER_LANES);
        Payload payload = new Payload(Payload.Kind.FILLER, BYTES, Rng.seeded());
        Bytes message = new Bytes(2 * BYTES);
        payload.render(message, 0, 0, 0);
        mayFire(rig, false);
        double scheduled =
                rig.server()
                        .number(
                                SCHEDULE,
                                queue,
                                new String(
                                        message.array(),
                                        0,
                                        message.size(),
                                        StandardCharsets.US_ASCII),
                                TIMER_LANES,
                                timers);
        if (scheduled != timers) {
            throw new IllegalStateException("%,.0f timers were scheduled".formatted(scheduled));
        }
        long start = System.nanoTime();
        mayFire(rig, true);
        long last = start + TimeUnit.SECONDS.toNanos(FIRE_SECONDS_MAX);
        while (rig.server().number(PENDING) > 0) {
            if (System.nanoTime() > last) {
                throw new IllegalStateException("not all timers fired");
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(LOOK_MILLIS));
        }
        double rate = timers / ((System.nanoTime() - start) / 1e9);
        expectStored(rig, queue, timers);
        return rate;
    }

    private static void mayFire(Rig rig, boolean may) {
        String answer =
                rig.target()
                        .call("POST", "/api/v1/system/kv-timers", "{\"timersFire\":" + may + "}");
        if (!answer.startsWith("200 ")) {
            throw new IllegalStateException("the switch answered " + answer);
        }
    }
}
