package io.queenmq.kv;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Timer;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Slice;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** What is counted of operations on keys, by their kind. Any thread. */
final class KvMeters {
    private static final List<String> OPS =
            List.of("get", "getMany", "getPrefix", "put", "delete", "incr", "check");
    private static final String TIME = "queen_kv_op_seconds";

    private record Of(Counter applied, Counter rejected, Counter error, Timer time) {}

    private final Map<String, Of> meters = new HashMap<>();
    private final Counter bytesIn;
    private final Counter bytesOut;

    KvMeters(Metrics metrics) {
        for (String op : OPS) {
            meters.put(
                    op,
                    new Of(
                            counter(metrics, op, "applied"),
                            counter(metrics, op, "rejected"),
                            counter(metrics, op, "error"),
                            metrics.timer(
                                    TIME,
                                    "Time of the call that an operation on keys was part of.",
                                    "op",
                                    op)));
            for (String quantile : List.of("0.5", "0.99")) {
                metrics.gauge(
                        "queen_kv_op_duration_milliseconds",
                        "Recent time of the calls that operations on keys were part of.",
                        () -> metrics.millis(Double.parseDouble(quantile), TIME, "op", op),
                        "op",
                        op,
                        "quantile",
                        quantile);
            }
        }
        bytesIn = bytes(metrics, "in");
        bytesOut = bytes(metrics, "out");
    }

    private static Counter counter(Metrics metrics, String op, String result) {
        return metrics.counter(
                "queen_kv_ops_total", "Operations on keys.", "op", op, "result", result);
    }

    private static Counter bytes(Metrics metrics, String direction) {
        return metrics.counter(
                "queen_kv_bytes_total", "Bytes of values written and read.", "dir", direction);
    }

    /** A call took so long. */
    void took(List<KvOp> ops, Duration time) {
        ops.forEach(op -> of(op).time().record(time));
    }

    /** A call took effect. */
    void done(List<KvOp> ops, List<KvResult> results) {
        for (int i = 0; i < ops.size(); i++) {
            KvOp op = ops.get(i);
            Of of = of(op);
            switch (results.get(i)) {
                case KvResult.Written written -> {
                    (written.applied() ? of.applied() : of.rejected()).increment();
                    if (op instanceof KvOp.Put put && written.applied()) {
                        bytesIn.increment(put.value().length());
                    } else {
                        bytesOut.increment(length(written.value()));
                    }
                }
                case KvResult.Got(String key, KvResult.Row row) -> {
                    of.applied().increment();
                    bytesOut.increment(row == null ? 0 : length(row.value()));
                }
                case KvResult.GotMany many -> read(of, many.rows());
                case KvResult.Page page -> read(of, page.rows());
            }
        }
    }

    private void read(Of of, List<KvResult.Row> rows) {
        of.applied().increment();
        bytesOut.increment(rows.stream().mapToInt(row -> length(row.value())).sum());
    }

    private static int length(@Nullable Slice value) {
        return value == null ? 0 : value.length();
    }

    /** A call was taken back by one of its operations. */
    void undone(List<KvOp> ops) {
        ops.forEach(op -> of(op).rejected().increment());
    }

    /** A call failed. */
    void failed(List<KvOp> ops) {
        ops.forEach(op -> of(op).error().increment());
    }

    private Of of(KvOp op) {
        return Objects.requireNonNull(meters.get(name(op)));
    }

    /** As clients know it; a put of an absent key counts among puts. */
    private static String name(KvOp op) {
        return switch (op) {
            case KvOp.Get get -> "get";
            case KvOp.GetMany many -> "getMany";
            case KvOp.GetPrefix page -> "getPrefix";
            case KvOp.Put put -> "put";
            case KvOp.Delete delete -> "delete";
            case KvOp.Incr incr -> "incr";
            case KvOp.Check check -> "check";
        };
    }
}
