package io.queenmq.count;

import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/** How much was done to one queue since the log told of it last. */
record QueueRate(
        String queue,
        long pushes,
        long pushed,
        long pops,
        long popped,
        long acks,
        long acked,
        long emptyPops) {

    /** Of those with any the ones that moved most messages, the busiest first. */
    static List<QueueRate> busiest(Collection<QueueRate> rates, int most) {
        return rates.stream()
                .filter(rate -> rate.pushes + rate.pops + rate.acks > 0)
                .sorted(
                        Comparator.comparingLong(QueueRate::messages)
                                .reversed()
                                .thenComparing(QueueRate::queue))
                .limit(most)
                .toList();
    }

    private long messages() {
        return pushed + popped + acked;
    }

    /** Per second, in the words of the line about the whole broker. */
    String line(double seconds) {
        return String.format(
                        Locale.ROOT,
                        "push_s=%.1f pushed_s=%.1f pop_s=%.1f popped_s=%.1f ack_s=%.1f acked_s=%.1f",
                        pushes / seconds,
                        pushed / seconds,
                        pops / seconds,
                        popped / seconds,
                        acks / seconds,
                        acked / seconds)
                + emptyShare(pops, emptyPops);
    }

    /** How many of the pops of all of these got nothing; no text = there were none. */
    static String emptyShare(Collection<QueueRate> rates) {
        return emptyShare(
                rates.stream().mapToLong(QueueRate::pops).sum(),
                rates.stream().mapToLong(QueueRate::emptyPops).sum());
    }

    private static String emptyShare(long served, long empty) {
        long pops = served + empty;
        return pops == 0
                ? ""
                : String.format(Locale.ROOT, " pop_empty_pct=%.1f", 100.0 * empty / pops);
    }
}
