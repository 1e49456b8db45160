package io.queenmq.doctor;

import io.queenmq.doctor.Finding.Level;

/** Answer of a check that does not know its name. */
record Verdict(Level level, String found, String advice) {
    static Verdict ok(String found) {
        return new Verdict(Level.OK, found, "");
    }

    /** Nothing is wrong, but it could be better. */
    static Verdict hint(String found, String advice) {
        return new Verdict(Level.OK, found, advice);
    }

    static Verdict warn(String found, String advice) {
        return new Verdict(Level.WARN, found, advice);
    }

    static Verdict fail(String found, String advice) {
        return new Verdict(Level.FAIL, found, advice);
    }
}
