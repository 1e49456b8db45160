package io.queenmq.admin;

import io.queenmq.insight.TrafficReads;
import io.queenmq.insight.TrafficReads.Rate;
import io.queenmq.insight.TrafficReads.Totals;
import io.queenmq.metrics.MetricsText;
import java.util.List;
import java.util.function.ToLongFunction;

/** The families that all brokers show alike: what the database knows of all of them. */
final class ClusterMetrics {
    private static final String QUEUE = "queue";
    private static final String PER_MINUTE = "_per_minute";

    private final TrafficReads reads;

    ClusterMetrics(TrafficReads reads) {
        this.reads = reads;
    }

    void addTo(MetricsText text) {
        Totals totals = reads.totals();
        List<Rate> rates = reads.rates();
        total(text, "push_requests", "Requests to push.", totals.pushRequests());
        total(text, "push_messages", "Messages stored.", totals.pushMessages());
        total(text, "pop_requests", "Requests to pop.", totals.popRequests());
        total(text, "pop_messages", "Messages delivered.", totals.popMessages());
        total(text, "ack_requests", "Requests to acknowledge.", totals.ackRequests());
        total(text, "ack_messages", "Acknowledgements received.", totals.ackMessages());
        total(text, "transactions", "Transactions committed.", totals.transactions());
        total(text, "db_errors", "Calls whose connection broke.", totals.databaseErrors());
        total(text, "dlq", "Messages given up.", totals.deadLetters());
        String acks = "queen_cluster_ack_total";
        text.counter(acks, "Acknowledgements by all brokers since the beginning.");
        text.sample(
                acks,
                totals.ackMessages() - totals.ackFailed(),
                "scope",
                "cluster",
                "result",
                "success");
        text.sample(acks, totals.ackFailed(), "scope", "cluster", "result", "failed");
        queues(text, "push_requests", rates, Rate::pushRequests);
        queues(text, "push_messages", rates, Rate::pushMessages);
        queues(text, "pop_messages", rates, Rate::popMessages);
        queues(text, "pop_empty", rates, Rate::emptyPops);
        queues(text, "transactions", rates, Rate::transactions);
        queues(text, "conflated", rates, Rate::conflated);
        acks(text, rates);
        lags(text, rates);
        String parked = "queen_queue_parked_consumers";
        text.gauge(parked, "Pops that wait at all brokers, of the queues with most messages.");
        String age = "queen_queue_metrics_age_seconds";
        rates.forEach(rate -> text.sample(parked, rate.parked(), QUEUE, rate.queue()));
        text.gauge(age, "How long ago the minute ended that these are of.");
        rates.forEach(rate -> text.sample(age, rate.ageSeconds(), QUEUE, rate.queue()));
    }

    private static void total(MetricsText text, String name, String help, long value) {
        String family = "queen_cluster_" + name + "_total";
        text.counter(family, help + " By all brokers since the beginning.");
        text.sample(family, value, "scope", "cluster");
    }

    private static void queues(
            MetricsText text, String name, List<Rate> rates, ToLongFunction<Rate> value) {
        String family = "queen_queue_" + name + PER_MINUTE;
        text.gauge(family, "In the last minute told, of the queues with most messages.");
        rates.forEach(rate -> text.sample(family, value.applyAsLong(rate), QUEUE, rate.queue()));
    }

    private static void acks(MetricsText text, List<Rate> rates) {
        String family = "queen_queue_ack" + PER_MINUTE;
        text.gauge(family, "Acknowledgements in the last minute told.");
        for (Rate rate : rates) {
            text.sample(family, rate.acks(), QUEUE, rate.queue(), "result", "success");
            text.sample(family, rate.failedAcks(), QUEUE, rate.queue(), "result", "failed");
        }
    }

    private static void lags(MetricsText text, List<Rate> rates) {
        String family = "queen_queue_pop_lag_milliseconds";
        text.gauge(family, "Age of messages at delivery in the last minute told.");
        for (Rate rate : rates) {
            Double average = rate.lagMillis();
            Long most = rate.lagMillisMax();
            if (average != null && most != null) {
                text.sample(family, average, QUEUE, rate.queue(), "stat", "avg");
                text.sample(family, most, QUEUE, rate.queue(), "stat", "max");
            }
        }
    }
}
