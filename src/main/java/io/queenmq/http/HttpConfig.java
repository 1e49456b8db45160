package io.queenmq.http;

import java.time.Duration;

/**
 * What the data routes assume where a request says nothing, and how far it may go.
 *
 * @param pollTime how long a long poll waits that names no {@code timeout}
 * @param pollTimeMax longest wait of a long poll, whatever it asks for: below the 60 s after which
 *     most proxies cut a silent request
 * @param popMessagesMax most messages of one answer, whatever {@code batch} asks for
 * @param groupsStartAtNow whether a group that names no {@code subscriptionMode} begins with what
 *     comes next instead of the oldest message
 */
public record HttpConfig(
        Duration pollTime, Duration pollTimeMax, int popMessagesMax, boolean groupsStartAtNow) {
    /** Everything at its default. */
    public static HttpConfig defaults() {
        return new HttpConfig(Duration.ofSeconds(30), Duration.ofSeconds(55), 10_000, true);
    }
}
