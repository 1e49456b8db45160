package io.queenmq.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ServeTest {

    @ParameterizedTest
    @CsvSource({
        "0.0.0.0, localhost",
        "::, localhost",
        "::1, [::1]",
        "127.0.0.1, 127.0.0.1",
        "broker.example, broker.example"
    })
    void theAddressItPrintsCanBeCalled(String bound, String shown) {
        assertEquals(shown, Serve.reachable(bound));
    }
}
