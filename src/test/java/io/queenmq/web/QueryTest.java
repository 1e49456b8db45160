package io.queenmq.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.model.QueenException;
import io.queenmq.testkit.Contract;
import org.junit.jupiter.api.Test;

class QueryTest {

    @Test
    @Contract("http-2")
    void unknownParametersAreIgnoredHoweverOftenTheyCome() {
        assertEquals(7, new Query("x=1&x=2&batch=7").int32("batch", 200));
    }

    @Test
    @Contract("http-9")
    void aKnownParameterMayComeOnce() {
        QueenException refusal =
                assertThrows(
                        QueenException.class,
                        () -> new Query("batch=1&batch=2").int32("batch", 200));
        assertTrue(refusal.detail().contains("batch"), refusal.detail());
    }
}
