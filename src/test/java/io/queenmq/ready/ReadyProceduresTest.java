package io.queenmq.ready;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.LogFixture.Job;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ReadyProceduresTest {
    private static TestDatabase database;

    private Connection connection;
    private LogFixture log;
    private int queue;
    private int group;

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
    }

    @AfterEach
    void close() throws SQLException {
        connection.close();
    }

    private List<@Nullable Object[]> withWork(
            int of,
            @Nullable Timestamp since,
            @Nullable Timestamp afterWrite,
            long afterId,
            int limit)
            throws SQLException {
        return log.rows(
                "select partition_id, last_write_at, last_offset, lease_expires_at, name from"
                        + " queen_store.lanes_with_work(?, ?, ?::timestamptz, ?::timestamptz, ?, ?)",
                queue,
                of,
                since,
                afterWrite,
                afterId,
                limit);
    }

    private List<@Nullable Object> lanesWithWork(int of) throws SQLException {
        List<@Nullable Object> lanes = new ArrayList<>();
        for (@Nullable Object[] row : withWork(of, null, null, 0, 100)) {
            lanes.add(row[0]);
        }
        return lanes;
    }

    private long laneWith(int messages) throws SQLException {
        long lane = log.lane(queue);
        log.fill(lane, 1, messages);
        return lane;
    }

    @Test
    void listsOnlyLanesWithMessagesBeyondTheCursor() throws SQLException {
        long untouched = laneWith(3);
        long partly = laneWith(3);
        log.cursor(partly, group, 1);
        long done = laneWith(3);
        log.cursor(done, group, 2);
        log.lane(queue);
        long emptied = laneWith(3);
        log.run("update queen_store.partitions set log_start = 3 where id = ?", emptied);
        assertEquals(List.of(untouched, partly), lanesWithWork(group));
    }

    @Test
    void aLeasedLaneComesWithItsExpiry() throws SQLException {
        long lane = laneWith(3);
        log.cursor(lane, group, -1);
        log.claimLeased(Job.of(3), group, lane);
        @Nullable Object[] row = withWork(group, null, null, 0, 10).getFirst();
        assertEquals(lane, row[0]);
        assertEquals(2L, row[2]);
        assertNotNull(row[3]);
    }

    @Test
    void aGroupThatBeginsLaterHasNoWorkInOlderMessages() throws SQLException {
        long lane = laneWith(3);
        log.run(
                "update queen_store.groups set start_rule = 'instant', start_at = clock_timestamp()"
                        + " where id = ?",
                group);
        assertEquals(List.of(), lanesWithWork(group));
        log.fill(lane, 1, 1);
        assertEquals(List.of(lane), lanesWithWork(group));
    }

    @Test
    void anUnregisteredGroupHasWorkOnlyWhereItHasACursor() throws SQLException {
        laneWith(3);
        long touched = laneWith(3);
        int pinned = log.group(queue, "pinned", null, null);
        log.cursor(touched, pinned, 0);
        assertEquals(List.of(touched), lanesWithWork(pinned));
    }

    @Test
    void cursorsOfAnOlderGenerationCountAsAbsent() throws SQLException {
        long lane = laneWith(3);
        log.cursor(lane, group, 2);
        log.run("update queen_store.groups set generation = 2 where id = ?", group);
        assertEquals(List.of(lane), lanesWithWork(group));
    }

    @Test
    void pagesAreKeyedByTimeOfWriteAndNumber() throws SQLException {
        List<@Nullable Object> lanes = new ArrayList<>();
        for (int i = 0; i < 7; i++) {
            lanes.add(laneWith(1));
        }
        log.run(
                "update queen_store.partitions set last_write_at = timestamptz '2024-01-01' where"
                        + " queue_id = ? and id % 2 = 0",
                queue);
        List<@Nullable Object> walked = new ArrayList<>();
        Timestamp afterWrite = null;
        long afterId = 0;
        while (true) {
            List<@Nullable Object[]> page = withWork(group, null, afterWrite, afterId, 2);
            for (@Nullable Object[] row : page) {
                walked.add(row[0]);
            }
            if (page.size() < 2) {
                break;
            }
            @Nullable Object[] last = page.getLast();
            afterWrite = (Timestamp) last[1];
            afterId = number(last[0]);
        }
        assertEquals(7, walked.size());
        walked.sort((a, b) -> Long.compare(number(a), number(b)));
        assertEquals(lanes, walked);
    }

    @Test
    void sinceLeavesOutLanesThatWereNotWritten() throws SQLException {
        long old = laneWith(1);
        log.run(
                "update queen_store.partitions set last_write_at = timestamptz '2024-01-01' where id"
                        + " = ?",
                old);
        long recent = laneWith(1);
        List<@Nullable Object[]> rows =
                withWork(group, Timestamp.valueOf("2024-02-01 00:00:00"), null, 0, 10);
        assertEquals(1, rows.size());
        assertEquals(recent, rows.getFirst()[0]);
    }

    @Test
    void lanesOfAnotherQueuesGroupAreNotListed() throws SQLException {
        laneWith(1);
        int foreign = log.group(log.queue());
        assertEquals(List.of(), lanesWithWork(foreign));
        assertNull(log.rows("select queen_store.oldest_writer()").getFirst()[0]);
    }

    private static long number(@Nullable Object value) {
        assertNotNull(value);
        return (Long) value;
    }
}
