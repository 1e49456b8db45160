package io.queenmq.kv;

import io.queenmq.model.Slice;
import java.math.BigDecimal;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One operation on keys of a namespace. */
public sealed interface KvOp {
    String namespace();

    /** How many keys it counts for. */
    default int keys() {
        return 1;
    }

    /** One that may be required to be applied: then nothing of the call is, unless it is. */
    sealed interface Guarded extends KvOp {
        String key();

        boolean required();
    }

    /** One that changes its key. */
    sealed interface Write extends Guarded {}

    /** Reads one key. */
    record Get(String namespace, String key) implements KvOp {}

    /** Reads several keys. */
    record GetMany(String namespace, List<String> names) implements KvOp {
        @Override
        public int keys() {
            return names.size();
        }
    }

    /**
     * Reads the keys that begin with a prefix.
     *
     * @param after the page begins behind this key; null = at the first one
     */
    record GetPrefix(
            String namespace, String prefix, @Nullable String after, int limit, boolean keysOnly)
            implements KvOp {
        @Override
        public int keys() {
            return limit;
        }
    }

    /**
     * Writes a value and a time to live.
     *
     * @param ttlSeconds null = for ever
     * @param expect null = whatever is there; 0 = nothing; else this version
     * @param ifAbsent it was asked for by that name
     */
    record Put(
            String namespace,
            String key,
            Slice value,
            @Nullable Long ttlSeconds,
            @Nullable Long expect,
            boolean ifAbsent,
            boolean required)
            implements Write {}

    /**
     * Removes a key.
     *
     * @param expect as of a put
     */
    record Delete(String namespace, String key, @Nullable Long expect, boolean required)
            implements Write {}

    /**
     * Adds to a number, unless it would leave its bounds.
     *
     * @param ttlSeconds of a number that begins; null = for ever
     */
    record Incr(
            String namespace,
            String key,
            BigDecimal delta,
            @Nullable Long ttlSeconds,
            @Nullable BigDecimal min,
            @Nullable BigDecimal max,
            boolean required)
            implements Write {}

    /** Asserts a version, and keeps it there until the call has committed. */
    record Check(String namespace, String key, long expect, boolean required) implements Guarded {}
}
