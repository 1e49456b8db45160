package io.queenmq.doctor;

import io.queenmq.db.Inspection;

/** A question to the server, and what its answer means. */
record Check(String name, Look look) {
    @FunctionalInterface
    interface Look {
        Verdict at(Server server);
    }

    Finding run(Server server) {
        Verdict verdict;
        try {
            verdict = look.at(server);
        } catch (Inspection.Refused e) {
            verdict =
                    Verdict.warn(
                            "cannot be looked at: " + e.reason(),
                            "see to that, then run the doctor again");
        }
        return new Finding(name, verdict.level(), verdict.found(), verdict.advice());
    }
}
