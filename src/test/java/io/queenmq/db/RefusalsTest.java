package io.queenmq.db;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.db.Refusals.Verdict;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import java.io.EOFException;
import java.sql.SQLException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.util.PSQLException;
import org.postgresql.util.PSQLState;
import org.postgresql.util.ServerErrorMessage;

class RefusalsTest {
    private static SQLException ofServer(String severity, String state) {
        return new PSQLException(
                new ServerErrorMessage("S" + severity + "\0C" + state + "\0Mtext\0"));
    }

    private static SQLException ofDriver(PSQLState state) {
        return new PSQLException("text", state, new EOFException());
    }

    /** Servers translate the severity as they do the text. */
    @ParameterizedTest
    @ValueSource(strings = {"ERROR", "FEHLER", "ERREUR", "ОШИБКА"})
    void whatTheServerRefusedIsUndoneInAnyLanguage(String severity) {
        assertEquals(Verdict.REFUSED, Refusals.verdict(ofServer(severity, "23505")));
        assertEquals(Verdict.REFUSED, Refusals.verdict(ofServer(severity, "53200")));
        assertEquals(Verdict.REFUSED, Refusals.verdict(ofServer(severity, "57014")));
        assertEquals(Verdict.SERIALIZATION, Refusals.verdict(ofServer(severity, "40001")));
        assertEquals(Verdict.DEADLOCK, Refusals.verdict(ofServer(severity, "40P01")));
        assertEquals(Verdict.LOCK_TIMEOUT, Refusals.verdict(ofServer(severity, "55P03")));
        assertEquals(Verdict.RECHECK_POOL, Refusals.verdict(ofServer(severity, "25006")));
    }

    @ParameterizedTest
    @ValueSource(strings = {"57P01", "57P02", "57P03", "08P01"})
    void aServerThatEndsTheConnectionLeavesTheOutcomeOpen(String state) {
        assertEquals(Verdict.LOST, Refusals.verdict(ofServer("FATAL", state)));
    }

    @Test
    void anyErrorBehindWhichTheLinkBrokeLeavesTheOutcomeOpen() {
        for (String state : new String[] {"25P04", "XX000", "40001"}) {
            SQLException error = ofServer("SCHWERWIEGEND", state);
            error.setNextException(ofDriver(PSQLState.CONNECTION_FAILURE));
            assertEquals(Verdict.LOST, Refusals.verdict(error), state);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "08006, DATABASE_AWAY",
        "57P01, DATABASE_AWAY",
        "57P05, DATABASE_AWAY",
        "53300, DATABASE_AWAY",
        "25006, DATABASE_AWAY",
        "42501, INTERNAL",
        "42601, INTERNAL",
        "0A000, INTERNAL",
        "54000, INTERNAL"
    })
    void aConnectionThatIsServedAndRefusedIsNoOutage(String state, Failure failure) {
        assertEquals(failure, Refusals.ended("it", ofServer("FATAL", state)).failure());
    }

    /** Another client of the pooler has the server connection on which it was prepared. */
    @ParameterizedTest
    @ValueSource(strings = {"26000", "42P05"})
    void whatOnlyAPoolerDoesSaysWhatToDo(String state) {
        QueenException refusal = Refusals.ended("the connection", ofServer("ERROR", state));
        assertEquals(Failure.DATABASE_AWAY, refusal.failure());
        assertTrue(refusal.detail().contains("pool_mode = session"), refusal.detail());
    }

    /** The driver may fail as it reads the answer to what has committed. */
    @Test
    void whatTheServerDidNotRefuseIsOpen() {
        assertEquals(Verdict.LOST, Refusals.verdict(ofDriver(PSQLState.CONNECTION_FAILURE)));
        assertEquals(Verdict.LOST, Refusals.verdict(ofDriver(PSQLState.OUT_OF_MEMORY)));
        assertEquals(Verdict.LOST, Refusals.verdict(new SQLException("text")));
    }
}
