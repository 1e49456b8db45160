package io.queenmq.admin;

import io.queenmq.metrics.Metrics;
import io.queenmq.metrics.ProcessUse;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/**
 * What this process has done and uses, under the names that dashboards of Queen look for. What
 * other rooms measure is shown from there.
 */
final class ProcessMeters {
    private static final String CALLS = "queen_db_call_seconds";

    /** The verbs whose calls are combined, each with the statements that carry it. */
    private static final Map<String, List<String>> STATEMENTS =
            Map.of(
                    "push", List.of("append"),
                    "pop", List.of("claim_leased", "claim_first", "claim_auto"),
                    "ack", List.of("ack_batches", "ack_messages"));

    private final Metrics metrics;

    ProcessMeters(Metrics metrics) {
        this.metrics = metrics;
        metrics.gauge(
                "queen_uptime_seconds",
                "Time since the process began.",
                () -> (double) ProcessUse.uptime().toMillis() / 1000);
        metrics.gauge(
                "queen_process_resident_memory_bytes",
                "Memory of the process that is in the machine's.",
                ProcessUse::residentBytes);
        metrics.gauge(
                "queen_jvm_heap_used_bytes",
                "Heap in use, what is to be collected included.",
                () -> ProcessUse.heap().getUsed());
        messages("push", "queen_push_messages_total", "Messages stored.");
        messages("pop", "queen_pop_messages_total", "Messages delivered.");
        messages("ack", "queen_ack_items_total", "Acknowledgements received.");
    }

    /**
     * @param of the counter of the room whose verb it is
     */
    private void messages(String verb, String of, String description) {
        Supplier<Number> items = () -> metrics.value(of);
        metrics.counterOf("queen_process_" + verb + "_messages_total", description, items);
        metrics.counterOf(
                "queen_batches_fired_total",
                "Calls to the database that carried what several clients asked.",
                () -> batches(verb),
                "op",
                verb);
        metrics.counterOf(
                "queen_batch_items_fired_total",
                "Messages that these calls carried.",
                items,
                "op",
                verb);
        metrics.gauge(
                "queen_fusion_items_per_batch",
                "Messages per call, on average since the process began.",
                () -> metrics.value(of) / Math.max(1, batches(verb)),
                "op",
                verb);
        for (String quantile : List.of("0.5", "0.99")) {
            metrics.gauge(
                    "queen_batch_rtt_milliseconds",
                    "Recent time of these calls, that of the slowest kind.",
                    () -> slowest(verb, Double.parseDouble(quantile)),
                    "op",
                    verb,
                    "quantile",
                    quantile);
        }
    }

    private double batches(String verb) {
        double count = 0;
        for (String statement : statements(verb)) {
            count += metrics.value(CALLS, "statement", statement);
        }
        return count;
    }

    private double slowest(String verb, double percentile) {
        double slowest = 0;
        for (String statement : statements(verb)) {
            slowest = Math.max(slowest, metrics.millis(percentile, CALLS, "statement", statement));
        }
        return slowest;
    }

    private static List<String> statements(String verb) {
        return STATEMENTS.getOrDefault(verb, List.of());
    }

    /** Requests so far, over all verbs. */
    double requests() {
        return total("requests");
    }

    /** Messages so far, over all verbs. */
    double messages() {
        return total("messages");
    }

    private double total(String what) {
        double total = 0;
        for (String verb : STATEMENTS.keySet()) {
            total += metrics.value("queen_process_" + verb + "_" + what + "_total");
        }
        return total;
    }
}
