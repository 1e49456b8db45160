package io.queenmq.metrics;

import io.micrometer.core.instrument.Counter;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What clients ask of this process: how many requests, and which queues long polls wait for. Told
 * by the routes of messages, shown by those of metrics. Any thread.
 */
public final class Traffic {
    private final Counter pushes;
    private final Counter acks;
    private final Counter pops;
    private final Counter pinnedPops;
    private final Counter otherPops;
    private final ConcurrentHashMap<String, Integer> polls = new ConcurrentHashMap<>();

    public Traffic(Metrics metrics) {
        pushes = requests(metrics, "push");
        pops = requests(metrics, "pop");
        acks = requests(metrics, "ack");
        pinnedPops = metrics.counter("queen_pop_targeted_total", "Pops that name a partition.");
        otherPops = metrics.counter("queen_pop_wildcard_total", "Pops that take what any one has.");
    }

    private static Counter requests(Metrics metrics, String verb) {
        return metrics.counter(
                "queen_process_" + verb + "_requests_total",
                "Requests to " + verb + ", those of transactions not counted.");
    }

    /** A push was asked for. */
    public void pushed() {
        pushes.increment();
    }

    /** A pop was asked for, of one partition or not. */
    public void popped(boolean pinned) {
        pops.increment();
        (pinned ? pinnedPops : otherPops).increment();
    }

    /** An acknowledgement was asked for, of however many messages. */
    public void acknowledged() {
        acks.increment();
    }

    /** A long poll begins to wait; {@link #pollEnds} must follow. */
    public void pollBegins(String queue) {
        polls.merge(queue, 1, Integer::sum);
    }

    public void pollEnds(String queue) {
        polls.computeIfPresent(queue, (name, count) -> count == 1 ? null : count - 1);
    }

    /** The queues that most long polls wait for, each with their number. */
    public List<Map.Entry<String, Integer>> polls(int limit) {
        return polls.entrySet().stream()
                .map(entry -> Map.entry(entry.getKey(), entry.getValue()))
                .sorted(
                        Map.Entry.<String, Integer>comparingByValue(Comparator.reverseOrder())
                                .thenComparing(Map.Entry.comparingByKey()))
                .limit(limit)
                .toList();
    }
}
