package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Http.Reply;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TestBroker;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import org.junit.jupiter.api.Test;

/** Payloads of timers that come compressed. */
class TimerZstdHttpTest {
    private static final String PATH = "/api/v1/timers";

    private static Reply schedule(Http http, String text) {
        byte[] frame = com.github.luben.zstd.Zstd.compress(text.getBytes(StandardCharsets.UTF_8));
        assertTrue(frame.length < 200, "it is packed");
        return http.post(
                PATH,
                """
                [{"op":"schedule","queue":"q","timerKey":"k","delayMs":3600000,"txn":"t",
                  "payloadZstd":true,"payload":"%s"}]"""
                        .formatted(Base64.getEncoder().encodeToString(frame)));
    }

    @Test
    @Contract("timer-25")
    void aPayloadThatCameCompressedIsStoredForEverybodyToRead() {
        try (TestBroker broker = TestBroker.start()) {
            Http http = broker.http();
            String text = "{\"s\":\"" + "x".repeat(400) + "\"}";
            assertEquals(200, schedule(http, text).status());
            Json peek = http.get(PATH + "/q/k").json();
            String plain =
                    Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
            assertEquals(plain, peek.text("payload"));
            assertFalse(peek.bool("payloadZstd"));
            Reply bomb = schedule(http, "\"" + "x".repeat(1 << 20) + "\"");
            assertEquals(413, bomb.status(), bomb.body());
            assertEquals("timers_payload_too_large", bomb.json().text("reason"));
            Reply noJson = schedule(http, "no json");
            assertEquals("timers_payload_not_json", noJson.json().text("reason"));
            Reply cut =
                    http.post(
                            PATH,
                            """
                            [{"op":"schedule","queue":"q","timerKey":"k","delayMs":1,"txn":"t",
                              "payloadZstd":true,"payload":"KLUv/SAB"}]""");
            assertEquals("timers_payload_zstd", cut.json().text("reason"), cut.body());
        }
    }
}
