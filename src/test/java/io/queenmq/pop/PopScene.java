package io.queenmq.pop;

import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.LogFixture.Candidate;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;

/** A lane with messages and a group for every test of the claims. */
abstract class PopScene {
    static TestDatabase database;

    Connection connection;
    LogFixture log;
    int queue;
    int group;
    long lane;

    @BeforeAll
    static void create() {
        database = TestDatabase.migrated();
    }

    @AfterAll
    static void drop() {
        database.close();
    }

    @BeforeEach
    void setUp() throws SQLException {
        connection = database.connect();
        log = new LogFixture(connection);
        queue = log.queue();
        group = log.group(queue);
        lane = log.lane(queue);
        log.cursor(lane, group, -1);
    }

    @AfterEach
    void close() throws SQLException {
        connection.close();
    }

    long[] lanes(int count, int messages) throws SQLException {
        long[] lanes = new long[count];
        for (int i = 0; i < count; i++) {
            lanes[i] = log.lane(queue);
            log.cursor(lanes[i], group, -1);
            log.fill(lanes[i], 1, messages);
        }
        return lanes;
    }

    List<Candidate> one(int job) {
        return List.of(new Candidate(job, lane, group));
    }

    int release(@Nullable UUID lease) throws SQLException {
        return (int)
                log.value(
                        "select queen_store.release_lease(?, ?, ?)",
                        lease,
                        new Long[] {lane},
                        new Integer[] {group});
    }

    void age(long of, long base, int seconds) throws SQLException {
        log.run(
                "update queen_store.segments set created_at = created_at - make_interval(secs => ?)"
                        + " where partition_id = ? and base_offset = ?",
                seconds,
                of,
                base);
    }

    Instant serverNow() throws SQLException {
        return ((java.sql.Timestamp) log.value("select clock_timestamp()")).toInstant();
    }
}
