package io.queenmq.maintain;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.LogFixture.Job;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What those who read a lane see of messages that have gone from it. */
class ExpireReadersProceduresTest {
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
    void aGroupGoesOnBehindWhatHasGoneAndItsOldLeaseEndsAsAnyOther() throws SQLException {
        int queue = scene.queue("max_wait_seconds = 60");
        long lane = scene.lane(queue, 2, 100, 90, 10);
        int group = log.group(queue);
        log.cursor(lane, group, -1);
        assertEquals(0, log.claimLeased(Job.of(3), group, lane).getFirst().from());
        UUID lease = (UUID) log.value("select lease_id from queen_store.cursors");
        assertEquals(4, scene.expire().evicted());
        scene.assertSound(lane);
        assertEquals("held", log.claimLeased(Job.of(3), group, lane).getFirst().verdict());

        assertEquals("released", log.ackBatch(group, lane, lease, 2));
        var next = log.claimLeased(Job.of(3), group, lane);
        assertEquals(4, next.getFirst().from());
        assertEquals(1, next.getFirst().attempt());
        log.expire(lane, group);
        assertEquals(2, log.claimLeased(Job.of(3), group, lane).getFirst().attempt());
        scene.assertSound(lane);
    }

    @Test
    @Contract("option-14")
    void aMessageThatWentUnderALeaseIsAcknowledgedAsAnyOther() throws SQLException {
        int queue = scene.queue("max_wait_seconds = 60");
        long lane = scene.lane(queue, 4, 100);
        int group = log.group(queue);
        log.cursor(lane, group, -1);
        var claimed = log.claimLeased(Job.of(4), group, lane).getFirst();
        scene.expire();
        var acked =
                log.ack(
                        lane,
                        "g",
                        claimed.leaseId(),
                        LogFixture.Item.completed("m0"),
                        LogFixture.Item.dlq("m1", "no good"));
        assertEquals("done", acked.get(0).verdict());
        assertEquals("done", acked.get(1).verdict());
        assertEquals(1, log.committed(lane, group));
        assertEquals(
                1L,
                log.value(
                        "select count(*) from queen_store.dead_letters where transaction_id = 'm1'"));
        assertEquals("empty", log.claimLeased(Job.of(4), group, lane).getFirst().verdict());
        assertEquals(3, log.committed(lane, group), "what is gone stops counting as pending");
        scene.assertSound(lane);
    }

    @Test
    @Contract("option-15")
    void whatHasGoneIsSeenByNobodyButStillRefusesItsRepetition() throws SQLException {
        int queue = scene.queue("max_wait_seconds = 60", "dedup_window_seconds = 2147483647");
        long lane = scene.lane(queue, 2, 100, 10);
        scene.expire();
        String names =
                "(select q.name, p.name as partition from queen_store.queues q"
                        + " join queen_store.partitions p on p.queue_id = q.id where p.id = ?) n";
        assertEquals(
                2L,
                log.value(
                        "select count(*) from queen.messages m, "
                                + names
                                + " where m.queue = n.name",
                        lane));
        assertEquals(
                2L,
                log.value(
                        "select min(r.\"offset\") from "
                                + names
                                + " cross join lateral queen.read(n.name, n.partition) r",
                        lane));
        assertEquals(
                false,
                log.value(
                        "select m.found from "
                                + names
                                + " cross join lateral queen.message(n.name, n.partition, 'm0') m",
                        lane));
        assertEquals(
                "duplicate",
                log.value(
                        "select p.status from "
                                + names
                                + " cross join lateral queen.push(n.name, n.partition, '1', 'm0') p",
                        lane));
    }

    @Test
    void aSeekBeforeWhatIsKeptGoesToTheOldestThatIs() throws SQLException {
        int queue = scene.queue("retention_enabled = true", "retention_seconds = 60");
        long lane = scene.lane(queue, 2, 100, 10);
        int group = log.group(queue);
        scene.expire();
        for (String target : new String[] {"'beginning', null, null", "'offset', null, 1"}) {
            assertEquals(
                    1L,
                    log.value(
                            "select s.committed from queen_store.queues q"
                                    + " join queen_store.partitions p on p.queue_id = q.id"
                                    + " cross join lateral queen_store.seek_lane(q.tenant_id,"
                                    + " q.name, p.name, 'g', "
                                    + target
                                    + ") s where p.id = ?",
                            lane));
            assertEquals(2, log.claimLeased(Job.of(1), group, lane).getFirst().from());
        }
        scene.assertSound(lane);
    }

    @Test
    void aSeekUnderWayCountsAsLaterAndItsGroupGoesOnBehindTheHole() throws SQLException {
        int queue = scene.queue("retention_enabled = true", "completed_retention_seconds = 60");
        long lane = scene.lane(queue, 2, 100, 10);
        int group = log.group(queue);
        log.cursor(lane, group, 3);
        try (Connection other = scene.database.connect()) {
            other.setAutoCommit(false);
            new LogFixture(other)
                    .value(
                            "select s.committed from queen_store.queues q"
                                    + " join queen_store.partitions p on p.queue_id = q.id"
                                    + " cross join lateral queen_store.seek_lane(q.tenant_id,"
                                    + " q.name, p.name, 'g', 'beginning', null, null) s"
                                    + " where p.id = ?",
                            lane);
            assertEquals(2, scene.expire().completed());
            other.commit();
        }
        assertEquals(-1, log.committed(lane, group));
        assertEquals(2, log.claimLeased(Job.of(1), group, lane).getFirst().from());
        scene.assertSound(lane);
    }
}
