package io.queenmq.kv;

import java.math.BigDecimal;
import java.util.List;

/**
 * How much of a quota a call takes: whether a put finds its key there is known only to the
 * database, so it counts as a new one until a measurement says otherwise. Pure.
 *
 * @param rows keys
 * @param bytes of their values
 */
record KvGrowth(long rows, long bytes) {
    private static final KvGrowth NONE = new KvGrowth(0, 0);

    private KvGrowth plus(KvGrowth other) {
        return new KvGrowth(rows + other.rows, bytes + other.bytes);
    }

    KvGrowth minus(KvGrowth other) {
        return new KvGrowth(rows - other.rows, bytes - other.bytes);
    }

    /** The most that operations can add. */
    static KvGrowth most(List<KvOp> ops) {
        return ops.stream().map(KvGrowth::most).reduce(NONE, KvGrowth::plus);
    }

    private static KvGrowth most(KvOp op) {
        return switch (op) {
            case KvOp.Put put -> {
                boolean replaces = put.expect() != null && put.expect() > 0;
                // Whoever holds a lock must not lose it because the tenant has too much.
                yield replaces && put.namespace().equals(Locks.NAMESPACE)
                        ? NONE
                        : new KvGrowth(replaces ? 0 : 1, put.value().length());
            }
            case KvOp.Incr incr -> new KvGrowth(1, incr.delta().toPlainString().length());
            case KvOp.Get _, KvOp.GetMany _, KvOp.GetPrefix _, KvOp.Delete _, KvOp.Check _ -> NONE;
        };
    }

    /** The same once it is known what became of them; what was removed counts against it. */
    static KvGrowth done(List<KvOp> ops, List<KvResult> results) {
        KvGrowth sum = NONE;
        for (int i = 0; i < ops.size(); i++) {
            if (results.get(i) instanceof KvResult.Written written && written.applied()) {
                sum = sum.plus(done(ops.get(i), written));
            }
        }
        return sum;
    }

    private static KvGrowth done(KvOp op, KvResult.Written written) {
        return switch (op) {
            case KvOp.Delete _ ->
                    written.value() == null
                            ? NONE
                            : new KvGrowth(-1, -(long) written.value().length());
            // Where the sum is another number there was one before.
            case KvOp.Incr incr ->
                    written.value() == null
                                    || new BigDecimal(written.value().toString())
                                                    .compareTo(incr.delta())
                                            == 0
                            ? most(op)
                            : NONE;
            case KvOp.Put _, KvOp.Get _, KvOp.GetMany _, KvOp.GetPrefix _, KvOp.Check _ -> most(op);
        };
    }
}
