package io.queenmq.http;

import java.time.Duration;

/**
 * What the data routes assume where a request says nothing, and how far it may go.
 *
 * @param pollTime how long a long poll waits that names no {@code timeout}
 * @param pollTimeMax longest wait of a long poll, whatever it asks for: below the 60 s after which
 *     most proxies cut a silent request
 * @param groupsStartAtNow whether a group that names no {@code subscriptionMode} begins with what
 *     comes next instead of the oldest message
 */
public record HttpConfig(Duration pollTime, Duration pollTimeMax, boolean groupsStartAtNow) {
    private static final Duration POLL_TIME = Duration.ofSeconds(30);
    private static final Duration POLL_TIME_MAX = Duration.ofSeconds(55);

    /** Everything at its default. */
    public static HttpConfig defaults() {
        return of(POLL_TIME, true);
    }

    /** What an operator sets: who makes the usual wait longer than the longest means both. */
    public static HttpConfig of(Duration pollTime, boolean groupsStartAtNow) {
        Duration most = pollTime.compareTo(POLL_TIME_MAX) > 0 ? pollTime : POLL_TIME_MAX;
        return new HttpConfig(pollTime, most, groupsStartAtNow);
    }

    /** How long a poll waits that asks for so many milliseconds. */
    Duration patience(long askedMillis) {
        return Duration.ofMillis(Math.min(askedMillis, pollTimeMax.toMillis()));
    }
}
