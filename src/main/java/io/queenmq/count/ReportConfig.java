package io.queenmq.count;

import java.time.Duration;

/**
 * Settings of the reports.
 *
 * @param broker under which name this broker reports
 * @param interval from one report to the next
 * @param rates from one line in the log to the next that tells how much is going on
 * @param queueLines how many queues have a line of their own then, at most
 */
public record ReportConfig(String broker, Duration interval, Duration rates, int queueLines) {
    public ReportConfig {
        if (interval.toMillis() < 1) {
            throw new IllegalArgumentException("interval must be at least 1 ms, got " + interval);
        }
    }
}
