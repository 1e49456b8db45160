package io.queenmq.kv;

import org.jspecify.annotations.Nullable;

/** One operation on a lock. */
public sealed interface LockOp {
    String name();

    /** How many slots it looks at. */
    default int slots() {
        return 1;
    }

    /**
     * Takes one of so many slots, if one is free.
     *
     * @param owner null = one that nobody else has
     */
    record Acquire(String name, long ttlSeconds, @Nullable String owner, int limit)
            implements LockOp {
        @Override
        public int slots() {
            return limit;
        }
    }

    /**
     * Keeps a slot longer.
     *
     * @param owner who may go on with a token that a renewal of its own has replaced; null = nobody
     */
    record Renew(String name, long token, long ttlSeconds, int slot, @Nullable String owner)
            implements LockOp {}

    /** Gives a slot back. */
    record Release(String name, long token, int slot) implements LockOp {}

    /** Reads who holds slots. */
    record Get(String name) implements LockOp {}
}
