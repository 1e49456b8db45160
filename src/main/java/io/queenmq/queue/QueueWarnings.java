package io.queenmq.queue;

import java.util.ArrayList;
import java.util.List;

/** Which settings of a queue do nothing as they stand; told to whoever configures it. */
final class QueueWarnings {
    private QueueWarnings() {}

    static List<String> of(QueueOptions options) {
        List<String> warnings = new ArrayList<>();
        boolean ages = options.retentionSeconds() > 0 || options.completedRetentionSeconds() > 0;
        if (ages && !options.retentionEnabled()) {
            warnings.add(
                    "retentionSeconds and completedRetentionSeconds remove nothing while"
                            + " retentionEnabled is false");
        }
        if (!ages && options.retentionEnabled()) {
            warnings.add(
                    "retentionEnabled removes nothing while retentionSeconds and"
                            + " completedRetentionSeconds are 0");
        }
        if (!options.retentionSinkHold().isEmpty()) {
            warnings.add("retentionSinkHold is stored; it has no effect in this version");
        }
        noEffect(warnings, options.retryDelayMs() != 1_000, "retryDelay");
        noEffect(warnings, options.priority() != 0, "priority");
        noEffect(warnings, options.maxSize() != 0, "maxSize");
        noEffect(warnings, options.ttlSeconds() != 3_600, "ttl");
        return List.copyOf(warnings);
    }

    private static void noEffect(List<String> warnings, boolean set, String option) {
        if (set) {
            warnings.add(option + " is stored and echoed; it has no effect");
        }
    }
}
