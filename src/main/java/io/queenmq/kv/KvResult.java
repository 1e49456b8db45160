package io.queenmq.kv;

import io.queenmq.model.Slice;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What one operation found or did. */
public sealed interface KvResult {
    /**
     * A key that is there.
     *
     * @param value JSON; null where it was not asked for
     * @param expiresAt null = never
     */
    record Row(
            String key,
            @Nullable Slice value,
            long version,
            @Nullable Instant expiresAt,
            Instant updatedAt) {}

    /**
     * Of a get.
     *
     * @param row null = the key is absent
     */
    record Got(String key, @Nullable Row row) implements KvResult {}

    /**
     * Of several keys.
     *
     * @param rows in byte order
     * @param missing in the order of the request
     * @param truncated whether keys are left out for the size of the answer
     */
    record GotMany(List<Row> rows, List<String> missing, boolean truncated) implements KvResult {}

    /**
     * Of a prefix: a page, and whether there may be further keys.
     *
     * @param passed last key that was read, where that is behind those of the page; else null
     */
    record Page(List<Row> rows, boolean truncated, @Nullable String passed) implements KvResult {}

    /**
     * Of a write or a check.
     *
     * @param refusal null if it took effect, else what is in the way
     * @param value what is there now, or was removed; null = nothing
     */
    record Written(@Nullable String refusal, String key, @Nullable Slice value, long version)
            implements KvResult {
        public boolean applied() {
            return refusal == null;
        }
    }
}
