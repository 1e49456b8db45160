package io.queenmq.ready;

import java.time.Instant;

/** Where a claim reports what it found of a lane that was taken; exactly one call per lane. */
public interface Findings {
    /** For a lane whose findings are known already. */
    Findings NONE =
            new Findings() {
                @Override
                public void empty(long lane, long lastOffset) {}

                @Override
                public void served(long lane, long end, long lastOffset) {}

                @Override
                public void leased(long lane, long lastOffset, Instant expiresAt) {}

                @Override
                public void held(long lane, long lastOffset, Instant expiresAt) {}

                @Override
                public void deferred(long lane, long lastOffset, Instant visibleAt, long fullAt) {}

                @Override
                public void busy(long lane) {}

                @Override
                public void untouched(long lane) {}

                @Override
                public void gone(long lane) {}
            };

    /** Nothing for the group up to {@code lastOffset}. */
    void empty(long lane, long lastOffset);

    /** Served up to {@code end} and left free. */
    void served(long lane, long end, long lastOffset);

    /** Under a lease that this claim gave, until {@code expiresAt}. */
    void leased(long lane, long lastOffset, Instant expiresAt);

    /** Under a lease of somebody else until {@code expiresAt}. */
    void held(long lane, long lastOffset, Instant expiresAt);

    /**
     * The next message is hidden until {@code visibleAt}, or until a message at offset {@code
     * fullAt} has come; {@link Long#MAX_VALUE} = none ends it before its time.
     */
    void deferred(long lane, long lastOffset, Instant visibleAt, long fullAt);

    /** The row was locked, or nothing is known. */
    void busy(long lane);

    /** Not looked at: the claim had enough without it. */
    void untouched(long lane);

    /** The lane does not exist any more. */
    void gone(long lane);
}
