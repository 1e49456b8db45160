package io.queenmq.group;

import java.time.Instant;

/** Where a seek takes a group. */
public sealed interface SeekTarget {
    /** To the oldest message retained. */
    record Beginning() implements SeekTarget {}

    /** Behind the newest message. */
    record End() implements SeekTarget {}

    /** To the first message created at or after an instant. */
    record At(Instant instant) implements SeekTarget {}

    /** To an offset, as far as that is retained; in one lane only. */
    record Offset(long next) implements SeekTarget {}
}
