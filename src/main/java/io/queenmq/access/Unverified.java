package io.queenmq.access;

/** A token that is not taken; never leaves the room, and is too frequent for a stack trace. */
final class Unverified extends Exception {
    private static final long serialVersionUID = 1L;

    private final Refusal refusal;

    Unverified(Refusal refusal) {
        super(refusal.sentence(), null, false, false);
        this.refusal = refusal;
    }

    Refusal refusal() {
        return refusal;
    }
}
