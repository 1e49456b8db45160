package io.queenmq.loadtest;

/**
 * When each of the messages that were stored at once is to expire: one after the other, at the rate
 * at which the first load brings new ones as long as that lasts, then at the rate of the second.
 *
 * @param firstPerSecond messages
 * @param firstSeconds how long the first load lasts
 * @param secondPerSecond messages
 */
record Ageing(double firstPerSecond, double firstSeconds, double secondPerSecond) {
    /** Seconds from the first message's turn to that of the message with this number. */
    double secondsTo(long message) {
        double ofFirst = firstPerSecond * firstSeconds;
        return message <= ofFirst
                ? message / firstPerSecond
                : firstSeconds + (message - ofFirst) / secondPerSecond;
    }
}
