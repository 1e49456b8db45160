package io.queenmq.timer;

import static io.queenmq.testkit.Lines.line;
import static io.queenmq.testkit.Lines.lines;

import io.queenmq.db.Database;
import io.queenmq.runtime.Clock;
import io.queenmq.testkit.Await;
import io.queenmq.testkit.TestDatabase;
import io.queenmq.timer.TimerProcedures.Claim;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;

/** A database without timers for every test of their procedures, and two who look on or meddle. */
abstract class TimerScene {
    static final FireRates ANY = new FireRates(0, Clock.SYSTEM);

    static TestDatabase database;
    static Database pool;
    static TimerProcedures timers;

    Connection connection;
    Connection other;

    @BeforeAll
    static void create() {
        database = TestDatabase.migrated();
        pool = database.pool();
        timers = new TimerProcedures(pool);
    }

    @AfterAll
    static void drop() {
        pool.close();
        database.close();
    }

    @BeforeEach
    void connect() throws SQLException {
        connection = database.connect();
        other = database.connect();
        lines(connection, "truncate queen_store.timers");
    }

    @AfterEach
    void disconnect() throws SQLException {
        connection.close();
        other.close();
    }

    static Claim look(int limit) {
        return timers.claim(limit, 1 << 20, 30_000, null, ANY);
    }

    static List<ClaimedTimer> claim(int limit) {
        return look(limit).timers();
    }

    static List<String> keys(List<ClaimedTimer> claimed) {
        return claimed.stream().map(ClaimedTimer::timerKey).toList();
    }

    /** Returns when so many calls wait for what somebody has locked. */
    void awaitWaiting(int many) {
        Await.until(
                many + " calls that wait",
                () ->
                        line(
                                        connection,
                                        "select count(*) from pg_stat_activity where datname ="
                                                + " current_database() and wait_event_type = 'Lock'")
                                .equals(Integer.toString(many)));
    }
}
