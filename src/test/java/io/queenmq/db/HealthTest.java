package io.queenmq.db;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.runtime.Clock;
import io.queenmq.testkit.TcpProxy;
import io.queenmq.testkit.TestDatabase;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class HealthTest {
    private static TestDatabase database;

    /** Stands still until it is told to move. */
    private static final class HandClock implements Clock {
        private long nanos;

        void advance(Duration by) {
            nanos += by.toNanos();
        }

        @Override
        public Instant now() {
            return Instant.EPOCH.plusNanos(nanos);
        }

        @Override
        public long nanos() {
            return nanos;
        }
    }

    @BeforeAll
    static void open() {
        database = TestDatabase.empty();
    }

    @AfterAll
    static void close() {
        database.close();
    }

    @Test
    void isWellWhereWritesAreTaken() {
        try (Health health = new Health(database.config(), Clock.SYSTEM)) {
            assertTrue(health.databaseTakesWrites());
        }
    }

    @Test
    void isSickWhereTheServerTakesNoWritesAndWellAfterwards() throws SQLException {
        HandClock clock = new HandClock();
        try (Health health = new Health(database.config(), clock);
                Connection admin = database.connect();
                Statement statement = admin.createStatement()) {
            assertTrue(health.databaseTakesWrites());
            statement.execute(
                    "alter database "
                            + database.name()
                            + " set default_transaction_read_only = on");
            statement.execute(
                    "select pg_terminate_backend(pid, 5000) from pg_stat_activity where pid <>"
                            + " pg_backend_pid() and datname = current_database()");
            clock.advance(Duration.ofSeconds(2));
            // The first answer ends the old connection, the next one meets the new state.
            health.databaseTakesWrites();
            clock.advance(Duration.ofSeconds(2));
            assertFalse(health.databaseTakesWrites());
            statement.execute("set default_transaction_read_only = off");
            statement.execute(
                    "alter database " + database.name() + " reset default_transaction_read_only");
            clock.advance(Duration.ofSeconds(2));
            assertTrue(health.databaseTakesWrites());
        }
    }

    @Test
    void callersWithinASecondShareAnAnswer() throws IOException {
        HandClock clock = new HandClock();
        try (TcpProxy link = new TcpProxy(database.host(), database.port());
                Health health =
                        new Health(
                                DatabaseConfig.of(
                                        "127.0.0.1",
                                        link.port(),
                                        database.name(),
                                        database.user(),
                                        ""),
                                clock)) {
            assertTrue(health.databaseTakesWrites());
            int before = link.roundTrips();
            link.cut();
            link.refuse(true);
            assertTrue(health.databaseTakesWrites());
            assertEquals(before, link.roundTrips());
            clock.advance(Duration.ofMillis(1_001));
            assertFalse(health.databaseTakesWrites());
            link.refuse(false);
            assertFalse(health.databaseTakesWrites());
            clock.advance(Duration.ofMillis(251));
            assertTrue(health.databaseTakesWrites());
        }
    }
}
