package io.queenmq.web;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.model.Caller;
import io.queenmq.testkit.LogCapture;
import org.junit.jupiter.api.Test;

class ManagementLogTest {
    /** Whoever issues tokens may put anything there. */
    @Test
    void aSubjectSaysNoMoreThanItsName() {
        try (LogCapture log = new LogCapture()) {
            ManagementLog.tell(
                    "DELETE",
                    "/api/v1/dlq",
                    new Caller(Caller.DEFAULT_TENANT, "eve path=/x\nsub=al%ice\u2028\u00e9"),
                    -1);
            assertTrue(
                    log.text()
                            .endsWith(
                                    "sub=eve%20path%3D/x%0Asub%3Dal%25ice%E2%80%A8\u00e9"
                                            + System.lineSeparator()),
                    log.text());
        }
    }
}
