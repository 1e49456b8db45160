package io.queenmq.dedup;

/** Offsets {@code from} to {@code to} of a lane, inclusive; {@code from > to} is none at all. */
public record Range(long from, long to) {
    public static final Range NOTHING = new Range(0, -1);

    public boolean isNothing() {
        return from > to;
    }
}
