package io.queenmq.maintain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.LogFixture.Claim;
import io.queenmq.testkit.LogFixture.Item;
import io.queenmq.testkit.LogFixture.Job;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Goal: whoever reads the log need not know of epochs. Method: a lane of ten messages m0 to m9 that
 * lie in epoch 0 (m0, m1), 3 (m4, m5) and 4 (m6 to m9); epochs 1 and 2 are gone, and m2 and m3 with
 * them.
 */
class EpochReadProceduresTest {
    private EpochScene scene;
    private LogFixture log;
    private int group;
    private long lane;

    @BeforeEach
    void spread() throws SQLException {
        scene = new EpochScene();
        log = scene.log;
        int queue = log.queue("q");
        group = log.group(queue);
        lane = log.lane(queue);
        log.run("update queen_store.partitions set name = 'p' where id = ?", lane);
        log.fill(lane, 2, 1);
        scene.rotate();
        log.fill(lane, 1, 2);
        scene.rotate();
        log.fill(lane, 1, 2);
        scene.evacuateAll(1);
        log.run("delete from queen_store.segments where epoch = 2");
        scene.evacuateAll(2);
        scene.depart(1);
        scene.depart(2);
        scene.rotate();
        log.fill(lane, 1, 2);
        log.fill(lane, 2, 1);
        assertEquals(List.of("0", "0", "3", "4", "4", "4"), scene.epochsOf(lane));
    }

    @AfterEach
    void close() throws SQLException {
        scene.close();
    }

    private List<Long> firsts(List<Claim> claims) {
        return claims.stream().map(Claim::from).toList();
    }

    @Test
    void aPopReadsOnOverEpochsAndHoles() throws SQLException {
        List<Claim> claims = log.claimFirst(Job.of(20), group, null, null, lane);
        assertEquals(List.of(0L, 1L, 4L, 6L, 8L, 9L), firsts(claims));
        UUID lease = claims.getFirst().leaseId();
        assertNotNull(lease);
        assertEquals("released", log.ackBatch(group, lane, lease, 9));
        assertEquals("4", scene.line("select epoch from queen_store.cursors"));
        log.fill(lane, 1, 1);
        assertEquals(List.of(10L), firsts(log.claimAuto(5, group, lane)));
    }

    @Test
    void aCursorInAnyEpochOrHoleGoesOn() throws SQLException {
        for (int epoch : List.of(0, 1, 2, 3, 4)) {
            for (long committed = -1; committed < 9; committed++) {
                // A lower bound, as it may have been written by whoever consumed that far.
                boolean holds =
                        switch (epoch) {
                            case 0 -> true;
                            case 4 -> committed >= 5;
                            default -> committed >= 1;
                        };
                if (holds) {
                    log.run("delete from queen_store.cursors");
                    log.cursor(lane, group, committed);
                    log.run("update queen_store.cursors set epoch = ?", epoch);
                    long next = committed == 1 || committed == 2 ? 4 : committed + 1;
                    assertEquals(
                            next,
                            log.claimLeased(Job.of(1), group, lane).getFirst().from(),
                            epoch + " " + committed);
                    assertEquals(List.of(), cursorViolations());
                }
            }
        }
    }

    private List<String> cursorViolations() throws SQLException {
        return scene.lines("select * from queen_store.cursor_violations(" + lane + ")");
    }

    @Test
    void anAckFindsItsMessageWhereverItIs() throws SQLException {
        List<Claim> claims = log.claimFirst(Job.of(20), group, null, null, lane);
        UUID lease = claims.getFirst().leaseId();
        for (String id : List.of("m0", "m1", "m4", "m5", "m7", "m9")) {
            List<LogFixture.Acked> acked = log.ack(lane, "g", lease, Item.completed(id));
            assertEquals("done", acked.getFirst().verdict(), id);
            assertEquals(Long.parseLong(id.substring(1)), log.committed(lane, group), id);
        }
        assertEquals("4", scene.line("select epoch from queen_store.cursors"));
        // Behind the cursor, in epoch 0.
        assertEquals("noop", log.ack(lane, "g", null, Item.completed("m1")).getFirst().verdict());
    }

    @Test
    void aDeadLetterHoldsThePayloadFromAnOldEpoch() throws SQLException {
        List<Claim> claims = log.claimFirst(Job.of(20), group, null, null, lane);
        UUID lease = claims.getFirst().leaseId();
        log.ack(lane, "g", lease, Item.dlq("m1", "broken"));
        assertEquals(
                "1|m1|{}",
                scene.line(
                        "select \"offset\", transaction_id, convert_from(payload, 'UTF8') from"
                                + " queen_store.dead_letters"));
    }

    @Test
    void aSeekGoesBackOverEpochs() throws SQLException {
        log.claimFirst(Job.auto(20), group, null, null, lane);
        assertEquals("4", scene.line("select epoch from queen_store.cursors"));
        seek("'offset', null, 1");
        assertEquals(List.of(1L), firsts(log.claimAuto(1, group, lane)));
        assertEquals(List.of(4L, 6L), firsts(log.claimAuto(3, group, lane)));
        seek("'offset', null, 2");
        assertEquals(List.of(4L), firsts(log.claimAuto(1, group, lane)));
        seek("'beginning', null, null");
        assertEquals(List.of(0L), firsts(log.claimAuto(1, group, lane)));
        seek(
                "'time', (select created_at from queen_store.segments where base_offset = 6),"
                        + " null");
        assertEquals(List.of(6L), firsts(log.claimAuto(1, group, lane)));
        assertEquals(List.of(), cursorViolations());
    }

    private void seek(String target) throws SQLException {
        assertEquals(
                "moved",
                scene.line(
                        "select verdict from queen_store.seek_lane('"
                                + LogFixture.TENANT
                                + "', 'q', 'p', 'g', "
                                + target
                                + ")"));
    }

    @Test
    void readersOfSqlSeeOneLog() throws SQLException {
        List<String> all = List.of("0|m0", "1|m1", "4|m4", "5|m5", "6|m6", "7|m7", "8|m8", "9|m9");
        assertEquals(
                all, scene.lines("select \"offset\", transaction_id from queen.read('q', 'p')"));
        assertEquals(
                all.subList(2, 5),
                scene.lines("select \"offset\", transaction_id from queen.read('q', 'p', 2, 3)"));
        assertEquals(
                all,
                scene.lines(
                        "select \"offset\", transaction_id from queen.messages where queue = 'q'"
                                + " order by 1"));
        List<String> found = new ArrayList<>();
        for (String id : List.of("m0", "m1", "m2", "m4", "m6", "m9")) {
            found.add(scene.line("select \"offset\" from queen.message('q', 'p', '" + id + "')"));
        }
        assertEquals(List.of("0", "1", "", "4", "6", "9"), found);
    }

    @Test
    void keysAreReadInPagesOverEpochs() throws SQLException {
        assertEquals(
                List.of("9", "8", "6"),
                scene.lines(
                        "select base_offset from queen_store.read_keys("
                                + lane
                                + ", 0, 9, '-infinity', 3)"));
        assertEquals(
                List.of("4", "1", "0"),
                scene.lines(
                        "select base_offset from queen_store.read_keys("
                                + lane
                                + ", 0, 5, '-infinity', 3)"));
    }

    @Test
    void duplicatesAndFlushesAreFoundInEveryEpoch() throws SQLException {
        assertEquals(
                List.of("duplicate|0", "duplicate|1", "duplicate|5", "duplicate|9", "queued|"),
                List.of(
                        append("m0", null),
                        append("m1", null),
                        append("m5", null),
                        append("m9", null),
                        append("m2", null)));
        for (long base : List.of(0L, 1L, 4L, 6L, 9L)) {
            long flush =
                    (long)
                            log.value(
                                    "select flush_id from queen_store.segments where base_offset ="
                                            + " ?",
                                    base);
            assertEquals("queued|" + base, append("x", flush));
        }
    }

    /** Verdict, and where the original is: by its key, or by its flush id. */
    private String append(String transactionId, @Nullable Long flush) throws SQLException {
        String settle = flush == null ? "null::bigint" : "-1::bigint";
        return scene.line(
                "select a.verdict, coalesce(a.duplicate_offsets[1],"
                        + (flush == null ? "null" : "a.base_offset")
                        + ") from queen_store.encode_frames(array['"
                        + transactionId
                        + "'], array['\\x7b7d'::bytea], null, null, null) f cross join lateral"
                        + " queen_store.append(array["
                        + lane
                        + "::bigint], array["
                        + (flush == null ? 7 : flush)
                        + "::bigint], array[1::bigint], array[0::bigint], array["
                        + settle
                        + "], array[1], array[1], array[f.keys], array[f.frames], false) a");
    }
}
