package io.queenmq.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.doctor.Finding.Level;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** Verdicts on servers that no test can have: other versions, builds, machines and ages. */
class DoctorTest {
    private static final long GIB = 1L << 30;

    private static void assertLevel(Level level, Verdict verdict) {
        assertEquals(level, verdict.level(), verdict.toString());
    }

    @Test
    void versionsFrom15To18AreSupported() {
        assertLevel(Level.FAIL, ServerChecks.version("PostgreSQL 14.9", 14));
        assertLevel(Level.OK, ServerChecks.version("PostgreSQL 15.0", 15));
        assertLevel(Level.OK, ServerChecks.version("PostgreSQL 18.1", 18));
        assertLevel(Level.WARN, ServerChecks.version("PostgreSQL 19.0", 19));
    }

    @Test
    void whatLeavesTheMachineIsEncryptedForAServerThatProvesWhoItIs() {
        assertLevel(Level.OK, ServerChecks.encryption("TLSv1.3", true, true, false));
        assertLevel(Level.WARN, ServerChecks.encryption("TLSv1.3", true, false, false));
        assertLevel(Level.WARN, ServerChecks.encryption("not encrypted", false, false, false));
        assertLevel(Level.OK, ServerChecks.encryption("not encrypted", false, false, true));
        assertLevel(Level.OK, ServerChecks.encryption("TLSv1.3", true, false, true));
    }

    @Test
    void aDiskIsWatchedWhereItIsSeen() {
        assertLevel(Level.FAIL, ServerChecks.disk(OptionalLong.of(GIB - 1), GIB / 4));
        assertLevel(Level.WARN, ServerChecks.disk(OptionalLong.of(8 * GIB - 1), 4 * GIB));
        assertLevel(Level.OK, ServerChecks.disk(OptionalLong.of(8 * GIB), 4 * GIB));
        Verdict unseen = ServerChecks.disk(OptionalLong.empty(), 4 * GIB);
        assertLevel(Level.OK, unseen);
        assertTrue(unseen.advice().contains("watch it"), unseen.advice());
    }

    @Test
    void buffersAreComparedWithTheMemoryWhereThatIsKnown() {
        OptionalLong memory = OptionalLong.of(16 * GIB);
        Verdict few = SizeChecks.sharedBuffers(GIB - 1, memory, wanted -> wanted);
        assertLevel(Level.WARN, few);
        assertEquals("2048MB", few.advice());
        assertLevel(Level.OK, SizeChecks.sharedBuffers(GIB, memory, wanted -> wanted));
        assertLevel(Level.OK, SizeChecks.sharedBuffers(8 * GIB, memory, wanted -> wanted));
        assertLevel(Level.WARN, SizeChecks.sharedBuffers(8 * GIB + 1, memory, wanted -> wanted));
        OptionalLong plenty = OptionalLong.of(512 * GIB);
        assertLevel(Level.OK, SizeChecks.sharedBuffers(8 * GIB, plenty, wanted -> wanted));
        assertLevel(Level.WARN, SizeChecks.sharedBuffers(8 * GIB - 1, plenty, wanted -> wanted));
        OptionalLong unknown = OptionalLong.empty();
        assertLevel(Level.WARN, SizeChecks.sharedBuffers(GIB / 8, unknown, wanted -> wanted));
        assertLevel(Level.OK, SizeChecks.sharedBuffers(GIB / 4, unknown, wanted -> wanted));
    }

    private static Verdict walCompression(String value, String choices) {
        return SizeChecks.walCompression(
                new Setting("wal_compression", value, "", "default", "superuser", choices),
                wanted -> wanted);
    }

    @Test
    void theLogIsCompressedWhereLz4CanDoIt() {
        Verdict off = walCompression("off", "pglz,lz4,zstd,on,off");
        assertLevel(Level.WARN, off);
        assertEquals("lz4", off.advice());
        assertLevel(Level.OK, walCompression("lz4", "pglz,lz4,zstd,on,off"));
        assertLevel(Level.OK, walCompression("off", "pglz,on,off"));
    }

    @Test
    void payloadsAreCompressedWhereLz4CanDoIt() {
        Verdict without = StorageChecks.compression(true, "none", Optional.of("alter table x"));
        assertLevel(Level.WARN, without);
        assertEquals("alter table x", without.advice());
        assertLevel(Level.OK, StorageChecks.compression(true, "lz4", Optional.empty()));
        assertLevel(
                Level.OK, StorageChecks.compression(false, "none", Optional.of("alter table x")));
    }

    @Test
    void connectionsAreScarceWhereABrokerWouldNotFitOrOneThatRunsCannotFinish() {
        assertTrue(SessionChecks.isScarce(14, false, 15));
        assertFalse(SessionChecks.isScarce(15, false, 15));
        assertTrue(SessionChecks.isScarce(6, true, 15));
        assertFalse(SessionChecks.isScarce(7, true, 15));
    }

    @Test
    void aVanishedClientIsMissedInTime() {
        assertLevel(Level.WARN, SessionChecks.keepalives(false, 7_875));
        assertLevel(Level.OK, SessionChecks.keepalives(false, 120));
        assertLevel(Level.OK, SessionChecks.keepalives(true, 7_875));
    }

    @Test
    void rowsThatAreNotFrozenAgeTowardsTheEnd() {
        assertLevel(Level.OK, VacuumChecks.wraparound(200_000_000));
        assertLevel(Level.WARN, VacuumChecks.wraparound(1_000_000_001));
        assertLevel(Level.FAIL, VacuumChecks.wraparound(1_600_000_001));
    }

    @Test
    void aSettingIsTakenBackWhereItWasGiven() {
        assertEquals(
                "alter system set jit = 'off'; select pg_reload_conf()",
                from("configuration file", "user").becomes("off", "r", "d"));
        assertEquals(
                "alter system set jit = 'off'; then restart the server",
                from("default", "postmaster").becomes("off", "r", "d"));
        assertEquals("alter role r reset jit", from("user", "user").becomes("off", "r", "d"));
        assertEquals(
                "alter role r in database d reset jit",
                from("database user", "user").becomes("off", "r", "d"));
    }

    private static Setting from(String source, String context) {
        return new Setting("jit", "on", "", source, context, "");
    }
}
