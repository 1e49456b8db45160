package io.queenmq.metrics;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Timer;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

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
    private final Timer pushTime;
    private final Timer popTime;
    private final Timer ackTime;
    private final ConcurrentHashMap<String, Integer> polls = new ConcurrentHashMap<>();

    public Traffic(Metrics metrics) {
        pushes = requests(metrics, "push");
        pops = requests(metrics, "pop");
        acks = requests(metrics, "ack");
        pinnedPops = metrics.counter("queen_pop_targeted_total", "Pops that name a partition.");
        otherPops = metrics.counter("queen_pop_wildcard_total", "Pops that take what any one has.");
        pushTime = time(metrics, "push");
        popTime = time(metrics, "pop");
        ackTime = time(metrics, "ack");
    }

    private static Timer time(Metrics metrics, String verb) {
        return metrics.histogram(
                "queen_http_request_seconds",
                "Time from a request that was read to its answer; of pops those that do not wait.",
                "op",
                verb);
    }

    /** Does what a push asks for. */
    public <T> T push(Supplier<T> work) {
        return Objects.requireNonNull(pushTime.record(work));
    }

    /** Does what a pop that does not wait asks for. */
    public <T> T pop(Supplier<T> work) {
        return Objects.requireNonNull(popTime.record(work));
    }

    /** Does what an acknowledgement asks for. */
    public <T> T ack(Supplier<T> work) {
        return Objects.requireNonNull(ackTime.record(work));
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

    /** How many long polls wait, by queue. */
    public Map<String, Integer> polls() {
        return Map.copyOf(polls);
    }
}
