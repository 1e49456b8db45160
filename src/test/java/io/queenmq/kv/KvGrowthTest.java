package io.queenmq.kv;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.model.Slice;
import java.math.BigDecimal;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class KvGrowthTest {
    private static KvOp.Put put(String namespace, @Nullable Long expect, String value) {
        return new KvOp.Put(namespace, "k", Slice.utf8(value), null, expect, false, false);
    }

    private static KvOp.Incr incr(String delta) {
        return new KvOp.Incr("n", "k", new BigDecimal(delta), null, null, null, false);
    }

    private static KvResult written(@Nullable String refusal, @Nullable String value) {
        return new KvResult.Written(refusal, "k", value == null ? null : Slice.utf8(value), 1);
    }

    private static KvGrowth done(KvOp op, KvResult result) {
        return KvGrowth.done(List.of(op), List.of(result));
    }

    @Test
    void whatMayMakeAKeyCountsAsOne() {
        assertEquals(new KvGrowth(1, 3), KvGrowth.most(List.of(put("n", null, "123"))));
        assertEquals(new KvGrowth(1, 3), KvGrowth.most(List.of(put("n", 0L, "123"))));
        assertEquals(new KvGrowth(1, 2), KvGrowth.most(List.of(incr("10"))));
        assertEquals(
                new KvGrowth(2, 5),
                KvGrowth.most(List.of(put("n", null, "123"), incr("10"), new KvOp.Get("n", "k"))));
    }

    @Test
    void aVersionIsNoNewKeyAndARenewalOfALockIsNothing() {
        assertEquals(new KvGrowth(0, 3), KvGrowth.most(List.of(put("n", 7L, "123"))));
        assertEquals(new KvGrowth(0, 0), KvGrowth.most(List.of(put("queen-locks", 7L, "123"))));
        assertEquals(new KvGrowth(1, 3), KvGrowth.most(List.of(put("queen-locks", 0L, "123"))));
    }

    @Test
    void whatWasNotAppliedAddedNothingAndWhatIsGoneCountsBack() {
        assertEquals(new KvGrowth(1, 3), done(put("n", 0L, "123"), written(null, "123")));
        assertEquals(new KvGrowth(0, 0), done(put("n", 0L, "123"), written("exists", "1")));
        KvOp delete = new KvOp.Delete("n", "k", null, false);
        assertEquals(new KvGrowth(-1, -4), done(delete, written(null, "1234")));
        assertEquals(new KvGrowth(0, 0), done(delete, written(null, null)));
        assertEquals(new KvGrowth(1, 2), done(incr("10"), written(null, "10.0")));
        assertEquals(new KvGrowth(0, 0), done(incr("10"), written(null, "11")));
        assertEquals(new KvGrowth(1, 7), new KvGrowth(1, 3).minus(new KvGrowth(0, -4)));
    }
}
