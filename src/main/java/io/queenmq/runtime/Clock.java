package io.queenmq.runtime;

import java.time.Instant;

/** The only source of time in the broker, so that tests can move it. Safe for any thread. */
public interface Clock {
    /** The machine's own clock. */
    Clock SYSTEM =
            new Clock() {
                @Override
                public Instant now() {
                    return Instant.now();
                }

                @Override
                public long nanos() {
                    return System.nanoTime();
                }
            };

    /** Wall-clock time: for what is shown to people and for ids, never for measuring. */
    Instant now();

    /** Monotone time with an arbitrary origin: for deadlines and durations. */
    long nanos();
}
