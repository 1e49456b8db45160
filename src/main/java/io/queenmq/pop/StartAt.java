package io.queenmq.pop;

import java.time.Instant;

/** Where a group begins in lanes it has no cursor for; counts at first contact only. */
public sealed interface StartAt {
    /** At the oldest retained message. */
    record Oldest() implements StartAt {}

    /** At the first message stored after the group was registered. */
    record Now() implements StartAt {}

    /** At the first message created at or after an instant. */
    record At(Instant instant) implements StartAt {}
}
