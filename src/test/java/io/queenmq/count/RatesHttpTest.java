package io.queenmq.count;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.TestBroker;
import java.util.List;
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
}
