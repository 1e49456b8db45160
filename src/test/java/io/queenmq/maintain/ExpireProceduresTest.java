package io.queenmq.maintain;

import static io.queenmq.maintain.StorageScene.NOW;
import static io.queenmq.maintain.StorageScene.ago;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.maintain.StorageScene.Expired;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.LogFixture;
import java.sql.Connection;
import java.sql.SQLException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Which messages go, and who waits for whom. */
class ExpireProceduresTest {
    private static final String[] BY_AGE = {"retention_enabled = true", "retention_seconds = 60"};
    private static final String[] READ = {
        "retention_enabled = true", "completed_retention_seconds = 60"
    };

    private static final String DELAY = "delayed_processing_seconds = 3600";

    private StorageScene scene;
    private LogFixture log;

    @BeforeEach
    void open() throws SQLException {
        scene = new StorageScene();
        log = scene.log;
    }

    @AfterEach
    void close() throws SQLException {
        scene.close();
    }

    @Test
    @Contract("option-12")
    void whatIsOlderThanTheAgeGoesAndWhatIsExactlyAsOldStays() throws SQLException {
        long lane = scene.lane(scene.queue(BY_AGE), 10, 100, 60.001, 60, 59);
        assertTrue(scene.hasExpired());
        assertEquals(new Expired(1, 20, 0, 0, null), scene.expire());
        assertEquals(20, scene.logStart(lane));
        assertEquals(
                true,
                scene.column(
                        lane, "oldest_live_at = '" + ago(60) + "' and expiry_held_at is null"));
        scene.assertSound(lane);
        assertFalse(scene.hasExpired());
        assertEquals(new Expired(0, 0, 0, 0, null), scene.expire());
        assertEquals(
                4L,
                log.value("select count(*) from queen_store.segments"),
                "no segment is deleted one by one");
    }

    @Test
    void aLaneInWhichEverythingHasExpiredIsEmptyAndFillsAgain() throws SQLException {
        long lane = scene.lane(scene.queue(BY_AGE), 3, 100, 90);
        scene.expire();
        assertEquals(6, scene.logStart(lane));
        assertNull(scene.column(lane, "oldest_live_at"));
        scene.assertSound(lane);

        scene.store(lane, 3, 61, 10);
        assertEquals(6, scene.logStart(lane));
        scene.assertSound(lane);
        assertEquals(3, scene.expire().retention());
        assertEquals(9, scene.logStart(lane));
        scene.assertSound(lane);
    }

    @Test
    @Contract({"option-12", "option-13", "option-14"})
    void withoutTheSwitchNoRetentionAppliesButTheLongestWaitDoes() throws SQLException {
        int off = scene.queue("retention_seconds = 60", "completed_retention_seconds = 60");
        long kept = scene.lane(off, 1, 100);
        int waiting = scene.queue("max_wait_seconds = 60");
        long evicted = scene.lane(waiting, 1, 100, 20);
        assertEquals(new Expired(1, 0, 0, 1, null), scene.expire());
        assertEquals(0, scene.logStart(kept));
        assertEquals(1, scene.logStart(evicted));
    }

    /** The delay is the consumers' affair, the age that of the message. */
    @Test
    @Contract({"option-6", "option-12"})
    void whatIsToBeDelayedForLongerThanItIsKeptGoesUndelivered() throws SQLException {
        long lane =
                scene.lane(
                        scene.queue("retention_enabled = true", "retention_seconds = 60", DELAY),
                        10,
                        90,
                        20);
        assertEquals(new Expired(1, 10, 0, 0, null), scene.expire());
        assertEquals(10, scene.logStart(lane));
        scene.assertSound(lane);
    }

    @Test
    void theShorterOneOfTwoAgesCountsAndIsTheOneThatIsNamed() throws SQLException {
        int queue =
                scene.queue(
                        "retention_enabled = true",
                        "retention_seconds = 60",
                        "max_wait_seconds = 30");
        scene.lane(queue, 1, 100, 50, 20);
        assertEquals(new Expired(1, 0, 0, 2, null), scene.expire());
        scene.configure(queue, "max_wait_seconds = 3600", "retention_seconds = 10");
        assertEquals(new Expired(1, 1, 0, 0, null), scene.expire());
    }

    @Test
    void whatHasBeenReadGoesByWholeSegments() throws SQLException {
        int queue = scene.queue(READ);
        long lane = scene.lane(queue, 10, 100, 90, 80, 20);
        int group = log.group(queue);
        log.cursor(lane, group, 24);
        assertEquals(new Expired(1, 0, 20, 0, null), scene.expire());
        assertEquals(20, scene.logStart(lane));
        scene.assertSound(lane);

        log.run("update queen_store.cursors set committed = 29");
        release(lane);
        assertEquals(10, scene.expire().completed());
        assertEquals(30, scene.logStart(lane), "20 s old");
        log.run("update queen_store.cursors set committed = 39");
        assertEquals(0, scene.expire().lanes(), "read, but not old enough");
    }

    /** As if the time had passed for which a lane is left alone. */
    private void release(long lane) throws SQLException {
        log.run("update queen_store.partitions set expiry_held_at = null where id = ?", lane);
    }

    @Test
    void aSegmentReadToItsLastMessageGoes() throws SQLException {
        int queue = scene.queue(READ);
        long lane = scene.lane(queue, 10, 100, 90);
        log.cursor(lane, log.group(queue), 9);
        assertEquals(10, scene.expire().completed());
        assertEquals(10, scene.logStart(lane));
        scene.assertSound(lane);
    }

    @Test
    @Contract("option-13")
    void theSlowestGroupHoldsAndOneWithoutACursorStandsWhereItWouldBegin() throws SQLException {
        int queue = scene.queue(READ);
        long lane = scene.lane(queue, 10, 100, 90, 80);
        int fast = log.group(queue, "fast", "all", null);
        log.cursor(lane, fast, 29);
        int slow = log.group(queue, "slow", "instant", ago(90));
        assertEquals(10, scene.expire().completed());
        assertEquals(10, scene.logStart(lane), "it would begin at what was stored at its instant");

        log.cursor(lane, slow, 19);
        release(lane);
        assertEquals(10, scene.expire().completed());
        log.group(queue, "late", "instant", NOW);
        log.group(queue, "unregistered", null, null);
        log.run("update queen_store.cursors set committed = 29 where group_id = ?", slow);
        release(lane);
        assertEquals(10, scene.expire().completed());
        scene.assertSound(lane);
    }

    @Test
    void withoutAGroupNothingHasBeenRead() throws SQLException {
        int queue = scene.queue(READ);
        long lane = scene.lane(queue, 1, 100);
        log.group(queue, "unregistered", null, null);
        assertEquals(new Expired(1, 0, 0, 0, null), scene.expire());
        assertEquals(0, scene.logStart(lane));
    }

    @Test
    void aGroupThatBeginsAtTheOldestHoldsALaneItHasNeverTouched() throws SQLException {
        int queue = scene.queue(READ);
        long lane = scene.lane(queue, 1, 100);
        log.cursor(lane, log.group(queue, "fast", "all", null), 0);
        log.group(queue, "g", "all", null);
        assertEquals(0, scene.expire().completed());
    }

    @Test
    void aCursorOfAnOlderGenerationCountsAsAbsent() throws SQLException {
        int queue = scene.queue(READ);
        long lane = scene.lane(queue, 1, 100, 90);
        int group = log.group(queue);
        log.cursor(lane, group, 1);
        String name = (String) log.value("select name from queen_store.queues where id = ?", queue);
        log.rows(
                "select * from queen_store.seek_queue(?, ?, 'g', 'beginning', null)",
                LogFixture.TENANT,
                name);
        assertEquals(0, scene.expire().completed(), "it reads everything again");

        log.rows(
                "select * from queen_store.seek_queue(?, ?, 'g', 'end', null)",
                LogFixture.TENANT,
                name);
        release(lane);
        assertEquals(2, scene.expire().completed());
        scene.assertSound(lane);
    }

    @Test
    void aDeletedGroupHoldsNothing() throws SQLException {
        int queue = scene.queue(READ);
        long lane = scene.lane(queue, 1, 100, 90);
        log.cursor(lane, log.group(queue, "fast", "all", null), 1);
        log.cursor(lane, log.group(queue, "slow", "all", null), -1);
        assertEquals(0, scene.expire().completed());
        log.rows(
                "select * from queen_store.delete_group(?, null, 'slow', true)", LogFixture.TENANT);
        release(lane);
        assertEquals(2, scene.expire().completed());
    }

    @Test
    void aLaneThatAGroupHoldsIsLeftAloneForAsLongAgainAndAtMostTenMinutes() throws SQLException {
        int queue = scene.queue(READ);
        long lane = scene.lane(queue, 1, 100);
        log.group(queue);
        assertEquals(1, scene.expire().lanes());
        assertFalse(scene.hasExpired());
        assertEquals(0, scene.expire(NOW.plusSeconds(40), 0, 10).lanes(), "it was due for 40 s");
        assertEquals(1, scene.expire(NOW.plusSeconds(41), 0, 10).lanes());
        assertEquals(0, scene.expire(NOW.plusSeconds(41 + 81), 0, 10).lanes());
        assertEquals(1, scene.expire(NOW.plusSeconds(41 + 82), 0, 10).lanes());

        assertEquals(1, scene.expire(NOW.plusSeconds(10_000), 0, 10).lanes());
        assertEquals(0, scene.expire(NOW.plusSeconds(10_600), 0, 10).lanes());
        assertEquals(1, scene.expire(NOW.plusSeconds(10_601), 0, 10).lanes());
        assertEquals(0, scene.logStart(lane));
        scene.assertSound(lane);
    }

    @Test
    void aHeldLaneGoesWhenTheAgeOfUnreadMessagesHasCome() throws SQLException {
        int queue =
                scene.queue(
                        "retention_enabled = true",
                        "completed_retention_seconds = 60",
                        "max_wait_seconds = 110");
        long lane = scene.lane(queue, 1, 100, 95);
        log.group(queue);
        assertEquals(1, scene.expire().lanes());
        assertEquals(0, scene.expire(NOW.plusSeconds(10), 0, 10).lanes());
        assertEquals(
                new Expired(1, 0, 0, 1, null),
                scene.expire(NOW.plusSeconds(10).plusMillis(1), 0, 10));
        assertEquals(1, scene.logStart(lane));
        scene.assertSound(lane);
    }

    @Test
    void whatReadersHavePassedAndWhatIsTooOldForAnybodyAreCountedApart() throws SQLException {
        int queue =
                scene.queue(
                        "retention_enabled = true",
                        "completed_retention_seconds = 60",
                        "retention_seconds = 95");
        long lane = scene.lane(queue, 10, 100, 90, 80);
        log.cursor(lane, log.group(queue), 19);
        assertEquals(new Expired(1, 10, 10, 0, null), scene.expire());
        assertEquals(20, scene.logStart(lane));
        assertEquals(
                "2026-01-01 00:00 retention 10 1 1, 2026-01-01 00:00 completed_retention 10 1 1",
                history());
    }

    private Object history() throws SQLException {
        return log.value(
                "select string_agg(concat_ws(' ', to_char(minute at time zone 'UTC',"
                        + " 'YYYY-MM-DD HH24:MI'), rule, messages, lanes, steps), ', '"
                        + " order by minute, rule desc) from queen_store.retention_history");
    }

    @Test
    void theHistoryHasARowForAMinuteAQueueAndARule() throws SQLException {
        int queue = scene.queue("max_wait_seconds = 60");
        scene.lane(queue, 2, 100);
        scene.lane(queue, 3, 90, 55);
        scene.expire();
        scene.expire(NOW.plusSeconds(30), 0, 10);
        scene.lane(queue, 1, 50);
        scene.expire(NOW.plusSeconds(60), 0, 10);
        assertEquals(
                "2026-01-01 00:00 max_wait_time_eviction 8 3 2,"
                        + " 2026-01-01 00:01 max_wait_time_eviction 1 1 1",
                history());
    }

    @Test
    void aLaneThatIsHeldByATransactionIsPassedOver() throws SQLException {
        int queue = scene.queue(BY_AGE);
        long busy = scene.lane(queue, 1, 100);
        long free = scene.lane(queue, 1, 90);
        try (Connection other = scene.database.connect()) {
            other.setAutoCommit(false);
            new LogFixture(other).append(busy, "open");
            assertEquals(1, scene.expire(NOW, 0, 1).lanes(), "it takes no place in the step");
            assertEquals(1, scene.logStart(free));
            assertEquals(0, scene.expire().lanes());
            other.commit();
        }
        assertTrue(scene.hasExpired());
        assertEquals(1, scene.expire().retention());
        assertEquals(1, scene.logStart(busy));
        scene.assertSound(busy);
    }

    @Test
    void everyQueueHasItsTurn() throws SQLException {
        int first = scene.queue(BY_AGE);
        int second = scene.queue(BY_AGE);
        int third = scene.queue(BY_AGE);
        for (int i = 0; i < 4; i++) {
            scene.lane(first, 1, 100 - i);
        }
        scene.lane(second, 1, 100);
        scene.lane(third, 1, 100);
        assertEquals(new Expired(3, 3, 0, 0, first), scene.expire(NOW, 0, 3));
        assertEquals(new Expired(2, 2, 0, 0, null), scene.expire(NOW, first, 3));
        assertEquals(new Expired(1, 1, 0, 0, null), scene.expire(NOW, 0, 3));
        assertFalse(scene.hasExpired());
    }

    @Test
    void theLongestDueLaneOfAQueueIsFirst() throws SQLException {
        int queue = scene.queue(BY_AGE);
        long later = scene.lane(queue, 1, 90);
        long sooner = scene.lane(queue, 1, 100);
        scene.expire(NOW, 0, 1);
        assertEquals(0, scene.logStart(later));
        assertEquals(1, scene.logStart(sooner));
    }

    @Test
    void aDeletedQueueIsLeftToTheCleaning() throws SQLException {
        int queue = scene.queue(BY_AGE);
        scene.lane(queue, 1, 100);
        log.run("update queen_store.queues set deleted_at = clock_timestamp() where id = ?", queue);
        assertFalse(scene.hasExpired());
        assertEquals(0, scene.expire().lanes());
    }

    @Test
    void anEntryThatSaysTooMuchIsPutRight() throws SQLException {
        int queue = scene.queue(BY_AGE);
        long lane = scene.lane(queue, 2, 50, 40);
        log.run(
                "update queen_store.partitions set oldest_live_at = ?::text::timestamptz",
                ago(500).toString());
        assertEquals(new Expired(1, 0, 0, 0, null), scene.expire());
        scene.assertSound(lane);
        assertFalse(scene.hasExpired());
    }

    @Test
    void itCommitsWithoutAFlushAndNobodyElseDoesForThat() throws SQLException {
        scene.lane(scene.queue(BY_AGE), 1, 100);
        scene.connection.setAutoCommit(false);
        scene.expire();
        assertEquals("off", log.value("select current_setting('synchronous_commit')"));
        scene.connection.commit();
        assertEquals("on", log.value("select current_setting('synchronous_commit')"));
    }

    @Test
    void aPushToALaneThatHasMessagesIsAHeapOnlyUpdate() throws SQLException {
        long lane = scene.lane(scene.queue(BY_AGE), 1, 10);
        log.run(
                "update queen_store.partitions set expiry_held_at = oldest_live_at,"
                        + " last_write_at = clock_timestamp() + interval '1 hour'");
        log.run("vacuum queen_store.partitions");
        scene.connection.setAutoCommit(false);
        log.fill(lane, 5, 1);
        assertEquals(
                5L,
                log.value(
                        "select pg_stat_get_xact_tuples_hot_updated("
                                + "'queen_store.partitions'::regclass)"));
        scene.connection.rollback();
    }

    @Test
    void severalEpochsAreOneLane() throws SQLException {
        int queue = scene.queue(BY_AGE);
        long lane = scene.lane(queue, 1, 100, 90);
        log.run("update queen_store.segments set epoch = 0 where base_offset = 0");
        scene.store(lane, 1, 61, 20);
        assertEquals(3, scene.expire().retention());
        assertEquals(3, scene.logStart(lane));
        scene.assertSound(lane);
    }
}
