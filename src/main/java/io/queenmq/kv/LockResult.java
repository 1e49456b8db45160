package io.queenmq.kv;

import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What an operation on a lock came to. */
public sealed interface LockResult {
    /**
     * Who holds a slot.
     *
     * @param since null = whoever wrote it did not say
     * @param expiresAt null = never
     */
    record Holder(
            int slot,
            String owner,
            long token,
            @Nullable String since,
            Instant renewedAt,
            @Nullable Instant expiresAt) {}

    /**
     * A slot is held.
     *
     * @param already it was before
     */
    record Acquired(int slot, long token, String owner, boolean already) implements LockResult {}

    /**
     * No slot was free.
     *
     * @param contended there were some, and others took them first
     */
    record Refused(boolean contended, List<Holder> holders) implements LockResult {}

    /** A slot is held longer, under a new token. */
    record Renewed(int slot, long token) implements LockResult {}

    /** A slot is free. */
    record Released() implements LockResult {}

    /** Somebody else holds the slot, or nobody. */
    record Lost(List<Holder> holders) implements LockResult {}

    /**
     * It may have been carried out, and may not: the database did not answer in the end, or other
     * renewals of the same holder came between each time.
     *
     * @param owner of an acquisition: who holds the slot if it was; null = it was none
     * @param holders when it was last looked
     */
    record Unfinished(@Nullable String owner, List<Holder> holders) implements LockResult {}

    /** Who holds slots. */
    record Held(List<Holder> holders) implements LockResult {}
}
