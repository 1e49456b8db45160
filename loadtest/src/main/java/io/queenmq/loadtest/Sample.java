package io.queenmq.loadtest;

import java.util.Arrays;
import java.util.List;
import java.util.function.ToDoubleFunction;

/**
 * What one window of the full cycle showed, without the books of its traffic, which are large.
 *
 * @param pushed messages per second
 * @param consumed messages per second
 * @param brokerMicros CPU per message pushed
 * @param postgresMicros likewise
 * @param p99Millis end to end
 * @param walBytes per message pushed
 * @param walBytesWithoutPages the same without images of whole pages
 */
record Sample(
        double pushed,
        double consumed,
        double brokerMicros,
        double postgresMicros,
        double p99Millis,
        double walBytes,
        double walBytesWithoutPages) {
    static Sample of(Window window) {
        double messages = Math.max(1, window.pushed());
        Meter.Used used = window.used();
        return new Sample(
                window.pushedPerSecond(),
                window.consumedPerSecond(),
                used.cpu().broker() / messages,
                used.cpu().postgres() / messages,
                window.traffic().endToEndMicros().getValueAtPercentile(99) / 1e3,
                used.database().walBytes() / messages,
                used.database().walBytesWithoutPages() / messages);
    }

    double serverMicros() {
        return brokerMicros + postgresMicros;
    }

    /** Of several windows the middle one, figure by figure. */
    static Sample median(List<Sample> samples) {
        return new Sample(
                median(samples, Sample::pushed),
                median(samples, Sample::consumed),
                median(samples, Sample::brokerMicros),
                median(samples, Sample::postgresMicros),
                median(samples, Sample::p99Millis),
                median(samples, Sample::walBytes),
                median(samples, Sample::walBytesWithoutPages));
    }

    private static double median(List<Sample> samples, ToDoubleFunction<Sample> figure) {
        return median(values(samples, figure));
    }

    static double[] values(List<Sample> samples, ToDoubleFunction<Sample> figure) {
        return samples.stream().mapToDouble(figure).toArray();
    }

    static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        int middle = sorted.length / 2;
        return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }
}
