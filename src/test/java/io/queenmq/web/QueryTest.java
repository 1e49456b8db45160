package io.queenmq.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.model.QueenException;
import org.junit.jupiter.api.Test;

class QueryTest {

    @Test
    void unknownParametersAreIgnoredHoweverOftenTheyCome() {
        assertEquals(7, new Query("x=1&x=2&batch=7").int32("batch", 200));
    }

    @Test
    void aKnownParameterMayComeOnce() {
        QueenException refusal =
                assertThrows(
                        QueenException.class,
                        () -> new Query("batch=1&batch=2").int32("batch", 200));
        assertTrue(refusal.detail().contains("batch"), refusal.detail());
    }
}
