package io.queenmq.kv;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.model.Caller;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the rows of an answer mean. */
class KvCallTest {
    /** Of a prefix that the answer had no room for. */
    private static @Nullable String next(String prefix, @Nullable String after) {
        KvCall call =
                new KvCall(
                        Caller.DEFAULT_TENANT,
                        List.of(new KvOp.GetPrefix("n", prefix, after, 100, false)),
                        1);
        call.begin();
        call.answered(new KvCall.Row(1, "cut", null, null, 1, null, null));
        KvResult.Page page = (KvResult.Page) call.results().getFirst();
        assertTrue(page.truncated());
        return page.passed();
    }

    private static int byBytes(String left, String right) {
        return Arrays.compareUnsigned(
                left.getBytes(StandardCharsets.UTF_8), right.getBytes(StandardCharsets.UTF_8));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"k", "kk", "\u0001", "\u00e9", "\ue000", "\ud83d\ude00", "\ud83d\ude00a"})
    void whatThereWasNoRoomForBeginsBeforeItsFirstKey(String prefix) {
        String next = next(prefix, null);
        assertTrue(next != null && byBytes(next, prefix) < 0, next);
    }

    @Test
    void orWhereItWasToBegin() {
        assertEquals("k7", next("k", "k7"));
    }
}
