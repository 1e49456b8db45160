package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.Contract;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class HttpConfigTest {
    @Test
    @Contract("pop-param-6")
    void noPollWaitsSoLongThatAProxyCutsItUnlessTheOperatorSaysSo() {
        HttpConfig usual = HttpConfig.defaults();
        assertEquals(Duration.ofSeconds(30), usual.pollTime());
        assertEquals(Duration.ZERO, usual.patience(0));
        assertEquals(Duration.ofMillis(54_999), usual.patience(54_999));
        assertEquals(Duration.ofSeconds(55), usual.patience(55_001));
        assertEquals(Duration.ofSeconds(55), usual.patience(Long.MAX_VALUE));
        HttpConfig longer = HttpConfig.of(Duration.ofSeconds(90), true);
        assertEquals(Duration.ofSeconds(90), longer.patience(Long.MAX_VALUE));
        HttpConfig shorter = HttpConfig.of(Duration.ofSeconds(1), true);
        assertEquals(Duration.ofSeconds(55), shorter.patience(60_000));
    }
}
