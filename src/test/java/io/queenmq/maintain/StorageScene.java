package io.queenmq.maintain;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Lanes whose messages are as old as a test says. Time stands still at {@link #NOW}: what moves is
 * when things were stored.
 */
final class StorageScene implements AutoCloseable {
    static final Instant NOW = Instant.parse("2026-01-01T00:00:00Z");

    /** What a step of expiry says, but for segments and bytes. */
    record Expired(
            int lanes, long retention, long completed, long evicted, @Nullable Integer last) {
        long messages() {
            return retention + completed + evicted;
        }
    }

    final TestDatabase database = TestDatabase.migrated();
    final Connection connection;
    final LogFixture log;

    StorageScene() throws SQLException {
        connection = database.connect();
        log = new LogFixture(connection);
    }

    @Override
    public void close() throws SQLException {
        connection.close();
        database.close();
    }

    static Instant ago(double seconds) {
        return NOW.minusMillis(Math.round(seconds * 1000));
    }

    /** A queue with these columns set, as in {@code "retention_seconds = 60"}. */
    int queue(String... options) throws SQLException {
        int queue = log.queue();
        configure(queue, options);
        return queue;
    }

    void configure(int queue, String... options) throws SQLException {
        for (String option : options) {
            log.run("update queen_store.queues set " + option + " where id = ?", queue);
        }
    }

    /** A lane with a segment of that many messages for each age in seconds, oldest first. */
    long lane(int queue, int perSegment, double... ages) throws SQLException {
        long lane = log.lane(queue);
        store(lane, perSegment, ages);
        return lane;
    }

    void store(long lane, int perSegment, double... ages) throws SQLException {
        long first =
                1
                        + (long)
                                log.value(
                                        "select last_offset from queen_store.partitions where id = ?",
                                        lane);
        log.fill(lane, ages.length, perSegment);
        for (int i = 0; i < ages.length; i++) {
            log.run(
                    "update queen_store.segments set created_at = ?::text::timestamptz"
                            + " where partition_id = ? and base_offset = ?",
                    ago(ages[i]).toString(),
                    lane,
                    first + (long) i * perSegment);
        }
        log.run(
                "update queen_store.partitions p set"
                        + " oldest_live_at = (select min(s.created_at) from queen_store.segments s"
                        + " where s.partition_id = p.id and s.base_offset >= p.log_start),"
                        + " last_created_at = s.newest, last_write_at = s.newest"
                        + " from (select max(created_at) as newest from queen_store.segments"
                        + " where partition_id = ?) s where p.id = ?",
                lane,
                lane);
    }

    Expired expire() throws SQLException {
        return expire(NOW, 0, 100);
    }

    Expired expire(Instant now, int afterQueue, int limit) throws SQLException {
        @Nullable Object[] row =
                log.rows(
                                "select * from queen_store.expire(?::text::timestamptz, ?, ?)",
                                now.toString(),
                                afterQueue,
                                limit)
                        .getFirst();
        return new Expired(
                number(row[0]).intValue(),
                number(row[1]).longValue(),
                number(row[2]).longValue(),
                number(row[3]).longValue(),
                (Integer) row[4]);
    }

    private static Number number(@Nullable Object value) {
        if (value instanceof Number number) {
            return number;
        }
        throw new IllegalStateException("no number: " + value);
    }

    boolean hasExpired() throws SQLException {
        return (boolean)
                log.value("select queen_store.has_expired(?::text::timestamptz)", NOW.toString());
    }

    long logStart(long lane) throws SQLException {
        return (long) log.value("select log_start from queen_store.partitions where id = ?", lane);
    }

    @Nullable Object column(long lane, String column) throws SQLException {
        return log.rows("select " + column + " from queen_store.partitions where id = ?", lane)
                .getFirst()[0];
    }

    /** Every invariant of a lane holds. */
    void assertSound(long lane) throws SQLException {
        List<String> broken = new ArrayList<>();
        for (@Nullable Object[] row :
                log.rows(
                        "select rule, detail from queen_store.lane_violations(?)"
                                + " union all"
                                + " select rule, detail from queen_store.cursor_violations(?)",
                        lane,
                        lane)) {
            broken.add(row[0] + ": " + row[1]);
        }
        assertEquals(List.of(), broken);
    }
}
