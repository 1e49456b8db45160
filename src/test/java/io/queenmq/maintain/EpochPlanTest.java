package io.queenmq.maintain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.LogFixture.Claim;
import io.queenmq.testkit.LogFixture.Job;
import java.sql.SQLException;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Goal: pushes, and consumers that keep up, pay for one epoch however many there are. Method: a
 * lane with segments in each of six epochs; the server counts whose indexes and tables a call has
 * touched.
 */
class EpochPlanTest {
    private static EpochScene scene;
    private static LogFixture log;
    private static int queue;
    private static int group;
    private static long lane;

    @BeforeAll
    static void fill() throws SQLException {
        scene = new EpochScene();
        log = scene.log;
        queue = log.queue();
        group = log.group(queue);
        lane = log.lane(queue);
        for (int epoch = 1; epoch <= 5; epoch++) {
            log.fill(lane, 3, 2);
            scene.rotate();
        }
        log.fill(lane, 3, 2);
        scene.lines("analyze queen_store.segments");
        scene.lines("alter table queen_store.queues set (autovacuum_enabled = off)");
        // From here on, what is in the statistics are the calls of a test.
        log.claimFirst(Job.auto(1_000), group, null, null, lane);
        assertEquals("6", scene.line("select epoch from queen_store.cursors"));
    }

    @AfterAll
    static void close() throws SQLException {
        scene.close();
    }

    /** Epochs whose primary key was scanned since, with the number of scans. */
    private static String touched() throws SQLException {
        scene.line("select pg_stat_force_next_flush()");
        return String.join(
                " ",
                scene.lines(
                        "select substring(relname from '\\d+$') from pg_stat_user_indexes where"
                                + " schemaname = 'queen_store' and relname ~ '^segments_\\d+$' and"
                                + " idx_scan > 0 order by relname"));
    }

    private static void reset() throws SQLException {
        scene.line("select pg_stat_force_next_flush()");
        scene.line("select pg_stat_reset()");
    }

    @Test
    void aConsumerThatKeepsUpProbesTheNewestEpochAlone() throws SQLException {
        // More often than it takes for a plan to become generic.
        for (int round = 0; round < 8; round++) {
            log.fill(lane, 1, 2);
            reset();
            List<Claim> claims = log.claimLeased(Job.of(10), group, lane);
            assertEquals("6", touched());
            UUID lease = claims.getFirst().leaseId();
            assertNotNull(lease);
            assertEquals(1, claims.size());
            reset();
            assertEquals(
                    "released", log.ackBatch(group, lane, lease, claims.getFirst().batchEnd()));
            assertEquals("", touched());
            log.fill(lane, 1, 2);
            reset();
            assertEquals(1, log.claimAuto(10, group, lane).size());
            assertEquals("6", touched());
        }
    }

    @Test
    void aConsumerThatLagsProbesFromItsEpochOn() throws SQLException {
        int other = log.group(queue, "late", "all", null);
        log.cursor(lane, other, 17);
        log.run("update queen_store.cursors set epoch = 4 where group_id = ?", other);
        reset();
        assertEquals(18, log.claimLeased(Job.of(1), other, lane).getFirst().from());
        assertEquals("4 5 6", touched());
    }

    /** The probe for duplicates is another matter: here the broker vouches for all of the lane. */
    @Test
    void aPushTouchesOneEpoch() throws SQLException {
        for (int round = 0; round < 8; round++) {
            reset();
            scene.line(
                    "select a.verdict from queen_store.encode_frames(array['p"
                            + round
                            + "'], array['\\x7b7d'::bytea], null, null, null) f cross join lateral"
                            + " queen_store.append(array["
                            + lane
                            + "::bigint], array[7::bigint], array[0::bigint],"
                            + " array[9000000000::bigint], array[null::bigint], array[1], array[1],"
                            + " array[f.keys], array[f.frames], false) a");
            assertEquals("", touched());
            assertEquals(
                    "segments_6|1",
                    scene.line(
                            "select relname, n_tup_ins from pg_stat_user_tables where relname ~"
                                    + " '^segments_\\d+$' and n_tup_ins > 0"));
            assertEquals(
                    "6",
                    scene.line(
                            "select string_agg(substring(relname from '\\d+$'), ' ') from"
                                    + " pg_statio_user_indexes where relname ~ '^segments_\\d+$' and"
                                    + " idx_blks_hit + idx_blks_read > 0"));
        }
    }

    @Test
    void aStepOfAnEvacuationReadsItsEpochByKey() throws SQLException {
        // Tables of a few pages: were a scan allowed, it would be taken.
        reset();
        assertEquals("moved||1", scene.evacuate(1, 1));
        scene.line("select pg_stat_force_next_flush()");
        assertEquals(
                "0",
                scene.line(
                        "select coalesce(sum(seq_scan), 0) from pg_stat_user_tables where schemaname ="
                                + " 'queen_store' and (relname ~ '^segments_' or relname in"
                                + " ('partitions', 'queues', 'cursors'))"));
        assertEquals("1", touched());
    }
}
