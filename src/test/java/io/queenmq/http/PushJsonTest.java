package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.push.PushItem;
import io.queenmq.push.PushResult;
import io.queenmq.testkit.Contract;
import io.queenmq.web.JsonBody;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PushJsonTest {
    private static List<PushItem> read(String body) {
        return PushJson.read(body.getBytes(StandardCharsets.UTF_8));
    }

    private static String refusal(String body) {
        QueenException refused = assertThrows(QueenException.class, () -> read(body));
        assertEquals(Failure.BAD_REQUEST, refused.failure());
        return refused.detail();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "1",
                "-0.0e-0",
                "1e400",
                "1234567890123456789012345678901234567890",
                "0.1234567890123456789012345678901234567890e+99999",
                "true",
                "false",
                "null",
                "\"\"",
                "\"plain\"",
                "\"\\u0000 \\ud800 \\\" \\\\ \\/ \\b\"",
                "\"é € 👑\"",
                "{}",
                "[]",
                "{\"b\":1,\"a\":2,\"b\":3}",
                "{ \"spaced\" :\t[ 1 , \r\n 2 ] }",
                "[\"]\",\"}\",{\"é\":\"👑\\\\\"}]",
                "\"\\\\\"",
                "{\"\":{\"\":\"\"}}"
            })
    void payloadsAreTakenByteForByte(String payload) {
        for (String around : new String[] {"", " ", "\n\t "}) {
            String body =
                    "{\"é👑\":[\"é\"],\"items\":[{\"queue\":\"é\",\"payload\":"
                            + around
                            + payload
                            + around
                            + "},{\"payload\":"
                            + around
                            + payload
                            + around
                            + ",\"queue\":\"q\"}]}";
            List<PushItem> items = read(body);
            assertEquals(payload, items.get(0).payload().toString());
            assertEquals(payload, items.get(1).payload().toString());
        }
    }

    @Test
    @Contract({"model-11", "http-6"})
    void longNumbersStringsAndNamesAreLegal() {
        for (String payload :
                List.of(
                        "9".repeat(100_000),
                        "\"" + "é".repeat(1_000_000) + "\"",
                        "{\"" + "k".repeat(200_000) + "\":1}")) {
            String body = "{\"items\":[{\"queue\":\"q\",\"payload\":" + payload + "}]}";
            assertEquals(payload, read(body).getFirst().payload().toString());
        }
    }

    @Test
    @Contract("http-6")
    void nestingIsBoundedByADocumentedDepth() {
        // The body's object, the array and the item are three levels of their own.
        int depth = JsonBody.DEPTH_MAX - 3;
        String legal = "[".repeat(depth) + "]".repeat(depth);
        String head = "{\"items\":[{\"queue\":\"q\",\"payload\":";
        assertEquals(legal, read(head + legal + "}]}").getFirst().payload().toString());
        assertTrue(refusal(head + "[" + legal + "]}]}").contains("depth"));
    }

    @Test
    void namesThatHashAlikeAreLegal() {
        // "Aa" and "BB" have one hash; so have all combinations of them.
        StringBuilder payload = new StringBuilder("{");
        for (int i = 0; i < 4_096; i++) {
            payload.append(i == 0 ? "\"" : ",\"");
            for (int bit = 0; bit < 12; bit++) {
                payload.append(((i >> bit) & 1) == 0 ? "Aa" : "BB");
            }
            payload.append("\":").append(i);
        }
        String text = payload.append('}').toString();
        assertEquals(
                text,
                read("{\"items\":[{\"queue\":\"q\",\"payload\":" + text + "}]}")
                        .getFirst()
                        .payload()
                        .toString());
    }

    @Test
    @Contract("push-3")
    void whatIsAbsentHasItsDefault() {
        PushItem item = read("{\"items\":[{\"queue\":\"q\",\"payload\":null}]}").getFirst();
        assertEquals("Default", item.partition());
        assertNull(item.transactionId());
        assertNull(item.traceId());
        assertEquals("null", item.payload().toString());
        PushItem empty =
                read("{\"items\":[{\"queue\":\"q\",\"payload\":1,\"partition\":\"\","
                                + "\"transactionId\":\"\",\"traceId\":null}]}")
                        .getFirst();
        assertEquals("Default", empty.partition());
        assertNull(empty.transactionId());
        PushItem nulls =
                read("{\"items\":[{\"queue\":\"q\",\"payload\":1,\"partition\":null,"
                                + "\"transactionId\":null,\"unknown\":{\"queue\":\"x\"}}]}")
                        .getFirst();
        assertEquals("Default", nulls.partition());
        assertNull(nulls.transactionId());
        assertEquals("q", nulls.queue());
    }

    @Test
    @Contract("push-1")
    void noItemsAreNoItems() {
        assertEquals(List.of(), read("{\"items\":[]}"));
    }

    @Test
    @Contract("push-6")
    void aTraceThatIsNoUuidIsLeftOut() {
        String head = "{\"items\":[{\"queue\":\"q\",\"payload\":1,\"traceId\":";
        assertNull(read(head + "\"abc\"}]}").getFirst().traceId());
        assertNull(read(head + "{\"a\":[1]}}]}").getFirst().traceId());
        assertNull(read(head + "\"1-1-1-1-1\"}]}").getFirst().traceId());
        UUID trace = UUID.randomUUID();
        assertEquals(trace, read(head + "\"" + trace + "\"}]}").getFirst().traceId());
    }

    @Test
    void neighboursShareTheirNames() {
        List<PushItem> items =
                read(
                        "{\"items\":[{\"queue\":\"qq\",\"partition\":\"pp\",\"payload\":1},"
                                + "{\"queue\":\"qq\",\"partition\":\"pp\",\"payload\":2},"
                                + "{\"queue\":\"qx\",\"partition\":\"pp\",\"payload\":2}]}");
        assertSame(items.get(0).queue(), items.get(1).queue());
        assertSame(items.get(0).partition(), items.get(2).partition());
        assertEquals("qx", items.get(2).queue());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{} | items is required",
                "{\"items\":null} | items must be an array, got null",
                "{\"items\":{}} | items must be an array, got an object",
                "{\"items\":[1]} | bad body: items[0] must be an object, got a number",
                "{\"items\":[{\"payload\":1}]} | items[0].queue is required",
                "{\"items\":[{\"queue\":null,\"payload\":1}]} | items[0].queue is required",
                "{\"items\":[{\"queue\":\"\",\"payload\":1}]}"
                        + " | items[0].queue must be 1 to 1024 bytes, got 0",
                "{\"items\":[{\"queue\":5,\"payload\":1}]}"
                        + " | items[0].queue must be a string, got a number",
                "{\"items\":[{\"queue\":\"q\"}]} | items[0].payload is required",
                "{\"items\":[{\"queue\":\"q\",\"data\":1}]} | items[0].payload is required",
                "{\"items\":[{\"queue\":\"a\\u0000b\",\"payload\":1}]}"
                        + " | items[0].queue must not contain a NUL character",
                "{\"items\":[{\"queue\":\"\\ud800\",\"payload\":1}]}"
                        + " | items[0].queue must not contain a lone surrogate, got \\ud800",
                "{\"items\":[{\"queue\":\"q\",\"partition\":true,\"payload\":1}]}"
                        + " | items[0].partition must be a string, got a boolean",
                "{\"items\":[],\"items\":[]} | bad body: duplicate field items",
                "[] | bad body: must be a JSON object",
                "{\"items\":[{\"queue\":\"q\",\"payload\":NaN}]}"
                        + " | bad body: Non-standard token 'NaN' at line 1 column 37",
                "{\"items\":[]} {} | bad body: more than one JSON value"
            })
    @Contract("push-1")
    void refusalsNameWhatIsWrong(String body, String detail) {
        assertEquals(detail, refusal(body));
    }

    @Test
    @Contract("http-4")
    void namesThatAreTooLongAreMeasured() {
        assertEquals(
                "items[0].queue must be at most 1024 bytes, got 1026",
                refusal("{\"items\":[{\"queue\":\"" + "é".repeat(513) + "\",\"payload\":1}]}"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "{",
                "{\"items\":[{\"queue\":\"q\",\"payload\":}]}",
                "{\"items\":[{\"queue\":\"q\",\"payload\":01}]}",
                "{\"items\":[{\"queue\":\"q\",\"payload\":1.}]}",
                "{\"items\":[{\"queue\":\"q\",\"payload\":+1}]}",
                "{\"items\":[{\"queue\":\"q\",\"payload\":NaN}]}",
                "{\"items\":[{\"queue\":\"q\",\"payload\":tru}]}",
                "{\"items\":[{\"queue\":\"q\",\"payload\":1a}]}",
                "{\"items\":[{\"queue\":\"q\",\"payload\":'a'}]}",
                "{\"items\":[{\"queue\":\"q\",\"payload\":\"a\nb\"}]}",
                "{\"items\":[{\"queue\":\"q\",\"payload\":\"\\x\"}]}",
                "{\"items\":[{\"queue\":\"q\",\"payload\":\"\\u12\"}]}",
                "{\"items\":[{\"queue\":\"q\",\"payload\":\"open}]}",
                "{\"items\":[{\"queue\":\"q\",\"payload\":[1,]}]}",
                "{\"items\":[{\"queue\":\"q\",\"payload\":{a:1}}]}",
                "{\"items\":[{\"queue\":\"q\",\"payload\":[}}]}",
                "{\"items\":[{\"queue\":\"q\",\"payload\":1}]",
                "{\"items\":[{\"queue\":\"q\",\"payload\":1}]}}",
                "{\"items\":[{\"queue\":\"q\",\"payload\":1/* c */}]}"
            })
    void whatIsNoJsonIsRefused(String body) {
        String detail = refusal(body);
        assertTrue(detail.startsWith("bad body: "), detail);
        assertTrue(!detail.contains("Source") && !detail.contains("REDACTED"), detail);
    }

    @Test
    @Contract("http-1")
    void invalidUtf8IsRefusedWhereverItIs() {
        byte[] body =
                "{\"items\":[{\"queue\":\"q\",\"payload\":\"abc\"}]}"
                        .getBytes(StandardCharsets.UTF_8);
        int at = new String(body, StandardCharsets.UTF_8).indexOf("abc");
        for (int[] bad : new int[][] {{0xff, 'b'}, {0xc0, 0x80}, {0xed, 0xa0, 0x80}, {0xc3, '"'}}) {
            byte[] copy = body.clone();
            for (int i = 0; i < bad.length; i++) {
                copy[at + i] = (byte) bad[i];
            }
            QueenException refused = assertThrows(QueenException.class, () -> PushJson.read(copy));
            assertEquals("bad body: invalid UTF-8 at byte " + at, refused.detail());
        }
    }

    @Test
    @Contract("http-1")
    void otherEncodingsAreNotGuessed() {
        String body = "{\"items\":[]}";
        for (byte[] bytes :
                List.of(
                        body.getBytes(StandardCharsets.UTF_16LE),
                        body.getBytes(StandardCharsets.UTF_16BE),
                        ("\ufeff" + body).getBytes(StandardCharsets.UTF_8))) {
            assertThrows(QueenException.class, () -> PushJson.read(bytes));
        }
    }

    @Test
    @Contract("push-16")
    void resultsKeepTheOrderAndTheSpellingOfTheContract() {
        UUID id = UUID.fromString("01990000-0000-7000-8000-000000000001");
        List<PushItem> items =
                read(
                        "{\"items\":[{\"queue\":\"a \\\"q\\\"\",\"payload\":1},"
                                + "{\"queue\":\"b\",\"payload\":1},{\"queue\":\"c\",\"payload\":1}]}");
        assertEquals(
                "[{\"index\":0,\"message_id\":\""
                        + id
                        + "\",\"transaction_id\":\"t\","
                        + "\"queueName\":\"a \\\"q\\\"\",\"status\":\"queued\"},"
                        + "{\"index\":1,\"message_id\":\""
                        + id
                        + "\",\"transaction_id\":\"u\","
                        + "\"queueName\":\"b\",\"status\":\"duplicate\"},"
                        + "{\"index\":2,\"message_id\":\""
                        + id
                        + "\",\"transaction_id\":\"v\","
                        + "\"queueName\":\"c\",\"status\":\"failed\"}]",
                PushJson.write(
                                items,
                                List.of(
                                        new PushResult.Queued(id, "t"),
                                        new PushResult.Duplicate(id, "u"),
                                        new PushResult.Failed(id, "v")))
                        .toString());
        assertEquals("[]", PushJson.write(List.of(), List.of()).toString());
    }
}
