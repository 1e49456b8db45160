package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.ack.LeaseExtension;
import io.queenmq.testkit.Contract;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LeaseRoutesTest {
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "'' | 60",
                "{} | 60",
                "nonsense | 60",
                "[] | 60",
                "{\"seconds\":\"120\"} | 60",
                "{\"seconds\":1.5} | 60",
                "{\"seconds\":99999999999999999999} | 60",
                "{\"seconds\":120} | 120",
                "{\"seconds\":120.0} | 120",
                "{\"seconds\":0} | 1",
                "{\"seconds\":-5} | 1",
                "{\"seconds\":99999999999} | 2147483647"
            })
    @Contract("lease-2")
    void aBodyThatSaysNothingAsksForAMinute(String body, int seconds) {
        assertEquals(seconds, LeaseRoutes.seconds(body.getBytes(StandardCharsets.UTF_8)));
    }

    @Test
    @Contract("lease-4")
    void theAnswerSpellsTheExpiryInEveryWayClientsRead() {
        Instant at = Instant.parse("2026-07-30T11:02:44Z");
        assertEquals(
                "{\"leaseId\":\"l\",\"success\":true,\"renewed\":2,"
                        + "\"newExpiresAt\":\"2026-07-30T11:02:44.000000Z\","
                        + "\"expiresAt\":\"2026-07-30T11:02:44.000000Z\","
                        + "\"lease_expires_at\":\"2026-07-30T11:02:44.000000Z\"}",
                LeaseRoutes.write("l", new LeaseExtension(2, at)).toString());
        assertEquals(
                "{\"leaseId\":\"x\",\"success\":false,\"renewed\":0,\"newExpiresAt\":null,"
                        + "\"expiresAt\":null,\"lease_expires_at\":null}",
                LeaseRoutes.write("x", new LeaseExtension(0, null)).toString());
    }
}
