package io.queenmq.count;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.LogCapture;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class RatesHttpTest {
    /** One that is not there would count as 0 for ever. */
    @Test
    void whatIsLoggedIsMeasured() {
        try (TestBroker broker = TestBroker.start()) {
            String families = broker.http().get("/metrics/prometheus").body();
            List<String> missing =
                    Rates.meters().stream()
                            .filter(name -> !families.contains("# TYPE " + name + " "))
                            .toList();
            assertEquals(List.of(), missing);
        }
    }

    @Test
    void theBusiestQueuesHaveALineOfTheirOwn() {
        try (LogCapture log = new LogCapture();
                TestBroker broker =
                        TestBroker.withEnvironment(
                                TestDatabase.migrated(), Map.of("QUEEN_LOG_RATES_MS", "1000"))) {
            broker.http()
                    .post(
                            "/api/v1/push",
                            "{\"items\":[{\"queue\":\"orders\",\"payload\":1},"
                                    + "{\"queue\":\"orders\",\"payload\":2}]}");
            Await.until(
                    "a line about the push",
                    () ->
                            log.text()
                                    .contains(
                                            "INFO io.queenmq.count.QueueRate rates queue=orders push_s="));
            Await.until(
                    "a line about the broker",
                    () ->
                            log.text()
                                    .matches(
                                            "(?s).* rates push_s=[^\n]* p50_push_ms=\\d+\\.\\d p99_push_ms=\\d+\\.\\d [^\n]* parked=\\d+ .*"));
            broker.http().get("/api/v1/pop/queue/orders?subscriptionMode=all&autoAck=true&batch=2");
            Await.until(
                    "a line about the pop",
                    () ->
                            log.text()
                                    .matches(
                                            "(?s).* rates queue=orders push_s=0\\.0 [^\n]* popped_s=[1-9].*"));
        }
    }
}
