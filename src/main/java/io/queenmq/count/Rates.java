package io.queenmq.count;

import io.queenmq.metrics.Metrics;
import io.queenmq.runtime.Clock;
import io.queenmq.runtime.Loop;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.StringJoiner;
import java.util.stream.Stream;

/**
 * Logs how much a broker does, while it does something: a line per interval, one for each of the
 * busiest queues, and another one where it sent somebody away.
 */
public final class Rates implements AutoCloseable {
    private static final Logger LOG = System.getLogger(Rates.class.getName());

    /** A setting bounds them, and so nobody keeps any of them back. */
    private static final Logger QUEUES = System.getLogger(QueueRate.class.getName());

    /** What is counted, and what the line calls it. */
    private record Counted(String meter, String name) {}

    private static final List<Counted> COUNTED =
            List.of(
                    new Counted("queen_process_push_requests_total", "push_s"),
                    new Counted("queen_push_messages_total", "pushed_s"),
                    new Counted("queen_process_pop_requests_total", "pop_s"),
                    new Counted("queen_pop_messages_total", "popped_s"),
                    new Counted("queen_process_ack_requests_total", "ack_s"),
                    new Counted("queen_ack_items_total", "acked_s"),
                    new Counted("queen_transact_commits_total", "txn_s"));

    /** Who was sent away for want of room. */
    private static final List<Counted> REFUSED =
            List.of(
                    new Counted("queen_web_refused_total", "requests"),
                    new Counted("queen_push_refused_requests", "pushes"),
                    new Counted("queen_ready_polls_refused_total", "polls"),
                    new Counted("queen_db_cold_reads_refused_total", "questions"));

    /** How long calls to the database took of late. */
    private static final String CALL_TIME = "queen_batch_rtt_milliseconds";

    private static final double SHORTEST_SECONDS = 1e-3;

    private final Activities activities;
    private final int queueLines;
    private final Metrics metrics;
    private final Clock clock;
    private final Loop loop;

    /** The loop's own. */
    private Map<String, Double> before;

    private Map<String, Double> refusedBefore;
    private long beforeNanos;

    public Rates(ReportConfig config, Activities activities, Metrics metrics, Clock clock) {
        this.activities = activities;
        this.queueLines = config.queueLines();
        this.metrics = metrics;
        this.clock = clock;
        this.before = totals(COUNTED);
        this.refusedBefore = totals(REFUSED);
        this.beforeNanos = clock.nanos();
        this.loop = Loop.start("rates", config.rates(), this::tell, metrics, clock);
    }

    /** All that is looked at. */
    static List<String> meters() {
        return Stream.concat(
                        Stream.of(COUNTED, REFUSED).flatMap(List::stream).map(Counted::meter),
                        Stream.of(CALL_TIME))
                .toList();
    }

    private Map<String, Double> totals(List<Counted> counted) {
        Map<String, Double> totals = new LinkedHashMap<>();
        counted.forEach(one -> totals.put(one.name(), metrics.value(one.meter())));
        return totals;
    }

    private void tell() {
        Map<String, Double> now = totals(COUNTED);
        Map<String, Double> refused = totals(REFUSED);
        long nanos = clock.nanos();
        double seconds = Math.max(SHORTEST_SECONDS, (nanos - beforeNanos) / 1e9);
        List<QueueRate> queues = activities.show();
        line(before, now, seconds)
                .ifPresent(
                        line ->
                                LOG.log(
                                        Level.INFO,
                                        "rates {0}{1} {2} parked={3} pool_active={4}"
                                                + " pool_waiting={5}",
                                        line,
                                        QueueRate.emptyShare(queues),
                                        callTimes(),
                                        whole("queen_ready_polls"),
                                        whole("queen_db_pool_active"),
                                        whole("queen_db_pool_waiting")));
        for (QueueRate rate : QueueRate.busiest(queues, queueLines)) {
            QUEUES.log(Level.INFO, "rates queue={0} {1}", rate.queue(), rate.line(seconds));
        }
        refusals(refusedBefore, refused)
                .ifPresent(
                        line ->
                                LOG.log(
                                        Level.WARNING,
                                        "the broker refuses work for want of room {0}"
                                                + " pool_active={1} pool_waiting={2}",
                                        line,
                                        whole("queen_db_pool_active"),
                                        whole("queen_db_pool_waiting")));
        before = now;
        refusedBefore = refused;
        beforeNanos = nanos;
    }

    /** By verb, the median and what one in a hundred is above. */
    private String callTimes() {
        StringJoiner times = new StringJoiner(" ");
        for (String verb : List.of("push", "pop", "ack")) {
            times.add("p50_" + verb + "_ms=" + callTime(verb, "0.5"));
            times.add("p99_" + verb + "_ms=" + callTime(verb, "0.99"));
        }
        return times.toString();
    }

    private String callTime(String verb, String quantile) {
        return String.format(
                Locale.ROOT, "%.1f", metrics.value(CALL_TIME, "op", verb, "quantile", quantile));
    }

    private String whole(String gauge) {
        return Long.toString((long) metrics.value(gauge));
    }

    /** What went on in between, per second; empty = nothing. */
    static Optional<String> line(
            Map<String, Double> before, Map<String, Double> now, double seconds) {
        StringJoiner line = new StringJoiner(" ");
        boolean any = false;
        for (Map.Entry<String, Double> total : now.entrySet()) {
            double more = total.getValue() - before.getOrDefault(total.getKey(), 0.0);
            any |= more > 0;
            line.add(String.format(Locale.ROOT, "%s=%.1f", total.getKey(), more / seconds));
        }
        return any ? Optional.of(line.toString()) : Optional.empty();
    }

    /** How many were sent away in between, of what; empty = nobody. */
    static Optional<String> refusals(Map<String, Double> before, Map<String, Double> now) {
        StringJoiner line = new StringJoiner(" ");
        now.forEach(
                (name, total) -> {
                    double more = total - before.getOrDefault(name, 0.0);
                    if (more > 0) {
                        line.add(String.format(Locale.ROOT, "%s=%.0f", name, more));
                    }
                });
        return line.length() == 0 ? Optional.empty() : Optional.of(line.toString());
    }

    @Override
    public void close() {
        loop.close();
    }
}
