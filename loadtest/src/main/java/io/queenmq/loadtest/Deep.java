package io.queenmq.loadtest;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What administrators ask of one queue with many lanes, whose messages lie in segments of their own
 * in all epochs that there may be: each route that reads, before and right after the whole queue is
 * sought, then seek and deletion. One caller; of five answers the slowest counts.
 */
final class Deep {
    /** With epoch 0, which holds nothing here. */
    private static final int EPOCHS = 15;

    private static final int ASKED = 5;
    private static final double HOUR_MICROS = 3_600_000_000.0;
    private static final String QUEUE = "deep";
    private static final double WALK_SECONDS = 1_200;
    private static final List<String> GROUPS = List.of("reader", "fresh", "late");

    private final Rig rig;
    private final Readings readings;
    private final String queue;
    private final HttpClient client = HttpClient.newHttpClient();

    private Deep(Rig rig, Readings readings, String queue) {
        this.rig = rig;
        this.readings = readings;
        this.queue = queue;
    }

    /** A new one after the broker was started again. */
    private Server server() {
        return rig.server();
    }

    static void routes(Lab lab, Readings readings) throws Exception {
        Plan plan = lab.plan();
        Rig rig =
                lab.filled(
                        "m12",
                        Map.of("STATS_INTERVAL_MS", "1000"),
                        empty -> {
                            empty.target().configure(QUEUE);
                            Deep seeding = new Deep(empty, readings, QUEUE);
                            seeding.seed(plan.lanes(), Math.max(1, plan.retained() / plan.lanes()));
                            seeding.awaitWalk();
                        });
        Deep deep = new Deep(rig, readings, QUEUE);
        readings.detail("lanes", plan.lanes());
        readings.detail(
                "segments", deep.server().number("select count(*) from queen_store.segments"));
        readings.detail("epochs", deep.server().number("select count(*) from queen_store.epochs"));
        if (!deep.awaitWalk()) {
            readings.notMeasured("no walk over the lanes has ended in time");
            return;
        }
        readings.value("reads", deep.slowest("", deep.reads()));
        String group = "/api/v1/consumer-groups/reader/queues/" + deep.queue;
        double toBeginning = deep.once("POST", group + "/seek", "{\"timestamp\":\"2000-01-01\"}");
        double toMiddle =
                deep.once("POST", group + "/seek", "{\"timestamp\":\"" + deep.middle() + "\"}");
        double afterMiddle = deep.slowest("after seek to the middle ", deep.reads());
        double toEnd = deep.once("POST", group + "/seek", "{\"toEnd\":true}");
        readings.value("seek", Math.max(toBeginning, Math.max(toMiddle, toEnd)));
        readings.value(
                "after seek", Math.max(afterMiddle, deep.slowest("after seek ", deep.reads())));
        double ofGroup = deep.once("DELETE", group, "");
        readings.value(
                "delete",
                Math.max(
                        ofGroup,
                        deep.once("DELETE", "/api/v1/resources/queues/" + deep.queue, "")));
    }

    private void seed(int lanes, int each) {
        int id = Lanes.queueNumber(server(), queue);
        String begin =
                server().query(
                                "select (clock_timestamp() - interval '2 hours')::text",
                                row -> row.getString(1))
                        .getFirst();
        // One after the other, over an hour.
        String apart = "%.3f us".formatted(HOUR_MICROS / ((double) lanes * each));
        server().update(
                        """
                insert into queen_store.partitions
                    (queue_id, name, last_offset, log_start, created_at, last_write_at,
                     last_created_at, oldest_live_at)
                select ?, 'lane-' || n, ? - 1, 0, f.at, l.at, l.at, f.at
                from generate_series(0, ? - 1) n
                cross join lateral (
                    select ?::timestamptz + n * ?::interval as at) f
                cross join lateral (
                    select f.at + ?::bigint * ?::interval as at) l
                """,
                        id,
                        each,
                        lanes,
                        begin,
                        apart,
                        (long) lanes * (each - 1),
                        apart);
        double first =
                server().number(
                                "select min(id) from queen_store.partitions where queue_id = ?",
                                id);
        for (int epoch = 0; epoch < EPOCHS; epoch++) {
            if (epoch > 0) {
                rotate();
            }
            fill((long) first, lanes, each, epoch, begin, apart);
        }
        GROUPS.forEach(group -> Lanes.group(server(), queue, group));
        Lanes.cursors(server(), queue, "reader");
        server().update("update queen_store.cursors set committed = committed / 2");
        server().query(
                        "select queen_store.add_counts(array[?::int], array[0], array[?::bigint],"
                                + " array[?::bigint], null, null, null, null, array[?::bigint], true)",
                        row -> 0,
                        id,
                        lanes,
                        (long) lanes * each,
                        (long) lanes * each * 60);
        server().execute("vacuum (analyze) queen_store.segments");
        Lanes.settle(server());
    }

    /** Lane after lane, then offset after offset, so that every lane goes through all epochs. */
    private void fill(long firstLane, int lanes, int each, int epoch, String begin, String apart) {
        long all = (long) lanes * each;
        server().update(
                        """
                insert into queen_store.segments (
                    epoch, partition_id, base_offset, end_offset, created_at, flush_id, keys,
                    frames)
                select o.epoch, ? + i % ?, i / ?, i / ?,
                       ?::timestamptz + i * ?::interval, i,
                       uuid_send(gen_random_uuid()), f.frames
                from generate_series(?::bigint, ?::bigint) i
                cross join queen_store.encode_frames(
                    array[gen_random_uuid()::text], array['{"n":1}'::bytea], null, null, null) f
                cross join queen_store.epochs o
                where o.state = 'open'
                """,
                        firstLane,
                        lanes,
                        lanes,
                        lanes,
                        begin,
                        apart,
                        all * epoch / EPOCHS,
                        all * (epoch + 1) / EPOCHS - 1);
    }

    private void rotate() {
        server().number(
                        "select queen_store.build_epoch(e.epoch, clock_timestamp())"
                                + " from queen_store.epochs e where e.state = 'open'");
        while (server().number("select queen_store.open_epoch(clock_timestamp())::int") == 0) {
            LockSupport.parkNanos(50_000_000);
        }
        server().number("select queen_store.seal_epochs()");
    }

    /** The counts of the queue and of its groups are proved: what is told is told. */
    private boolean awaitWalk() {
        long until = System.nanoTime() + Plan.nanos(WALK_SECONDS);
        while (server().number(
                                        "select count(*) from queen_store.counts"
                                                + " where walked_at is null or recount_at is not null")
                        > 0
                || server().number("select count(*) from queen_store.counts") < 1 + GROUPS.size()) {
            if (System.nanoTime() > until) {
                return false;
            }
            LockSupport.parkNanos(200_000_000);
        }
        return true;
    }

    /** An instant that every lane has messages before and after. */
    private String middle() {
        return server().query(
                        "select queen_store.utc_text(min(p.oldest_live_at)"
                                + " + (max(p.last_created_at) - min(p.oldest_live_at)) / 2)"
                                + " from queen_store.partitions p",
                        row -> row.getString(1))
                .getFirst();
    }

    private record Route(String method, String path, String body) {}

    private static Route get(String path) {
        return new Route("GET", path, "");
    }

    private List<Route> reads() throws IOException, InterruptedException {
        String lane = "queue=" + queue + "&partition=lane-7&from=2000-01-01T00:00:00Z";
        String message = answer(get("/api/v1/messages?limit=1&" + lane));
        String address =
                found(message, "\"partitionId\":\"([^\"]+)")
                        + "/"
                        + found(message, "\"transactionId\":\"([^\"]+)");
        List<Route> routes = new ArrayList<>();
        for (String path :
                new String[] {
                    "/api/v1/resources/overview",
                    "/api/v1/resources/queues",
                    "/api/v1/resources/queues?stats=cached",
                    "/api/v1/resources/queues/" + queue,
                    "/api/v1/resources/queues/" + queue + "?partitionOffset=100000",
                    "/api/v1/resources/queues/" + queue + "?partitionSearch=99",
                    "/api/v1/resources/queues/" + queue + "?partitionSearch=none",
                    "/api/v1/resources/queues/" + queue + "/depth",
                    "/api/v1/resources/queues/" + queue + "/depth?group=reader",
                    "/api/v1/resources/queues/" + queue + "/depth?group=fresh",
                    "/api/v1/resources/namespaces",
                    "/api/v1/resources/tasks",
                    "/api/v1/status",
                    "/api/v1/status?queue=" + queue,
                    "/api/v1/status/queues",
                    "/api/v1/status/queues/" + queue,
                    "/api/v1/status/analytics",
                    "/api/v1/messages?queue=" + queue,
                    "/api/v1/messages?from=2000-01-01T00:00:00Z&queue=" + queue,
                    "/api/v1/messages?" + lane,
                    "/api/v1/messages?search=none&from=2000-01-01T00:00:00Z&queue=" + queue,
                    "/api/v1/messages?from=2000-01-01T00:00:00Z&to=" + middle() + "&queue=" + queue,
                    "/api/v1/messages/" + address,
                    "/api/v1/dlq?queue=" + queue,
                    "/api/v1/consumer-groups",
                    "/api/v1/consumer-groups/lagging?minLagSeconds=1",
                    "/api/v1/consumer-groups/reader",
                    "/api/v1/consumer-groups/fresh",
                    "/api/v1/traces/names",
                    "/api/v1/analytics/queue-lag",
                    "/api/v1/analytics/queue-ops",
                    "/api/v1/analytics/retention",
                    "/api/v1/analytics/workload",
                    "/api/v1/analytics/dlq-signatures?queue=" + queue,
                    "/api/v1/analytics/partition-liveness",
                    "/api/v1/analytics/system-metrics",
                    "/api/v1/analytics/worker-metrics",
                    "/api/v1/analytics/postgres-stats",
                    "/api/v1/system/storage",
                    "/api/v1/system/jobs",
                    "/api/v1/system/blocked",
                    "/api/v1/system/purges",
                    "/metrics/prometheus"
                }) {
            routes.add(get(path));
        }
        String entry = "{\"entries\":[{\"queue\":\"" + queue + "\"";
        routes.add(new Route("POST", "/api/v1/partitions/changed", entry + "}]}"));
        routes.add(
                new Route(
                        "POST",
                        "/api/v1/partitions/changed",
                        entry + ",\"since\":\"2000-01-01T00:00:00Z\"}]}"));
        routes.add(
                new Route(
                        "POST",
                        "/api/v1/fetch",
                        entry + ",\"partition\":\"lane-7\",\"offset\":0}]}"));
        return routes;
    }

    private static String found(String text, String pattern) {
        Matcher matcher = Pattern.compile(pattern).matcher(text);
        if (!matcher.find()) {
            throw new IllegalStateException("no " + pattern + " in " + text);
        }
        return matcher.group(1);
    }

    private String answer(Route route) throws IOException, InterruptedException {
        HttpRequest.BodyPublisher body =
                route.body().isEmpty()
                        ? HttpRequest.BodyPublishers.noBody()
                        : HttpRequest.BodyPublishers.ofString(route.body());
        HttpResponse<String> response =
                client.send(
                        HttpRequest.newBuilder(URI.create(rig.url() + route.path()))
                                .method(route.method(), body)
                                .timeout(Duration.ofSeconds(60))
                                .build(),
                        HttpResponse.BodyHandlers.ofString());
        if (response.statusCode() != 200) {
            throw new IllegalStateException(
                    route + " answered " + response.statusCode() + " " + response.body());
        }
        return response.body();
    }

    private double millis(Route route) throws IOException, InterruptedException {
        long start = System.nanoTime();
        answer(route);
        return (System.nanoTime() - start) / 1e6;
    }

    /** What changes something is done once. */
    private double once(String method, String path, String body)
            throws IOException, InterruptedException {
        Route route = new Route(method, path, body);
        double millis = millis(route);
        readings.detail(method + " " + path + " " + body + ", ms", Math.round(millis * 10) / 10.0);
        return millis;
    }

    private double slowest(String when, List<Route> routes)
            throws IOException, InterruptedException {
        Map<String, Double> all = new TreeMap<>();
        Cpu cpu = rig.cpu();
        for (Route route : routes) {
            double[] times = new double[ASKED];
            Cpu.Sample before = cpu.sample();
            for (int i = 0; i < ASKED; i++) {
                times[i] = millis(route);
            }
            Cpu.Sample used = cpu.sample().minus(before);
            Arrays.sort(times);
            double worst = times[ASKED - 1];
            all.put(route.method() + " " + route.path() + " " + route.body(), worst);
            readings.detail(
                    when + route.method() + " " + route.path() + ", ms p50 / worst / CPU",
                    "%.1f / %.1f / %.1f"
                            .formatted(
                                    times[ASKED / 2],
                                    worst,
                                    (used.broker() + used.postgres()) / 1e3 / ASKED));
        }
        return all.values().stream().mapToDouble(Double::doubleValue).max().orElseThrow();
    }
}
