package io.queenmq.count;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.LogFixture;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Random pushes, pops, acks, seeks, dead letters, expiry and clean-up, by a broker that sums and by
 * SQL in transactions that may be rolled back: whenever the broker has told its sums, the counts
 * are what adding up every lane gives. Where a group was moved in the whole queue, or a broker died
 * with its sums, they are so after a walk.
 */
class CountPropertyTest {
    private static final int STEPS = 250;
    private static final String QUEUE = "q";
    private static final List<String> LANES = List.of("a", "b", "c", "d");
    private static final List<String> GROUPS = List.of("all", "new", "__QUEUE_MODE__");
    private static final UUID TENANT = LogFixture.TENANT;

    private final List<CountScene.Taken> held = new ArrayList<>();
    private final List<String> holders = new ArrayList<>();
    private int ids;
    private boolean walkWanted;

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4})
    void theCountsAreWhatAddingUpEveryLaneGives(long seed) throws SQLException {
        Random random = new Random(seed);
        int compared = 0;
        try (CountScene scene = new CountScene()) {
            scene.log.run(
                    "insert into queen_store.queues (tenant_id, name, retry_limit,"
                            + " max_wait_seconds, dedup_window_seconds) values (?, ?, 1, 1000, 0)",
                    TENANT,
                    QUEUE);
            for (String lane : LANES) {
                scene.log.value("select status from queen.push(?, ?, '1')", QUEUE, lane);
            }
            scene.log.rows(
                    "select * from queen.pop(?, 'all', p_subscription_mode => 'all')", QUEUE);
            scene.log.rows("select * from queen.pop(?, 'new')", QUEUE);
            scene.log.rows("select * from queen.pop(?)", QUEUE);
            int queue = scene.queueNumber(QUEUE);
            scene.fold();
            scene.walk(queue);
            StringBuilder story = new StringBuilder("seed " + seed + ":");
            for (int step = 0; step < STEPS; step++) {
                scene.connection.setAutoCommit(false);
                Savepoint before = scene.connection.setSavepoint();
                boolean undone = random.nextInt(4) == 0;
                if (undone || random.nextBoolean()) {
                    String what = bySql(scene, random);
                    story.append(' ').append(what);
                    if (undone) {
                        scene.connection.rollback(before);
                        story.append("(undone)");
                    }
                    scene.connection.commit();
                    scene.connection.setAutoCommit(true);
                } else {
                    scene.connection.setAutoCommit(true);
                    story.append(' ').append(byBroker(scene, random));
                }
                if (random.nextInt(5) == 0) {
                    if (random.nextInt(6) == 0) {
                        scene.lose();
                        walkWanted = true;
                        story.append(" killed");
                    } else {
                        scene.flush();
                    }
                    if (random.nextBoolean()) {
                        scene.fold();
                    }
                    if (walkWanted) {
                        scene.flush();
                        scene.fold();
                        scene.walk(queue);
                        walkWanted = false;
                        story.append(" walked");
                    }
                    Map<String, Long> exact = scene.exact(queue);
                    assertEquals(exact, scene.told(queue), story::toString);
                    compared++;
                }
            }
            scene.flush();
            scene.fold();
            scene.walk(queue);
            assertEquals(scene.exact(queue), scene.told(queue), story::toString);
            assertEquals(0, scene.walk(queue), "a second walk finds nothing that is off");
            assertTrue(compared > STEPS / 8, "compared " + compared);
        }
    }

    private static <T> T any(List<T> of, Random random) {
        return of.get(random.nextInt(of.size()));
    }

    private String bySql(CountScene scene, Random random) throws SQLException {
        String lane = any(LANES, random);
        String group = any(GROUPS, random);
        return switch (random.nextInt(8)) {
            case 0, 1 -> {
                int count = 1 + random.nextInt(4);
                String[] queues = new String[count];
                String[] lanes = new String[count];
                String[] ids = new String[count];
                String[] payloads = new String[count];
                for (int i = 0; i < count; i++) {
                    queues[i] = QUEUE;
                    lanes[i] = any(LANES, random);
                    ids[i] = "t" + this.ids++;
                    payloads[i] = "1";
                }
                scene.log.rows(
                        "select * from queen.push(?::text[], ?::text[], ?::text[], ?::text[])",
                        queues,
                        lanes,
                        payloads,
                        ids);
                yield "push";
            }
            case 2 -> {
                scene.log.rows(
                        "select * from queen.pop(?, ?, ?, p_partitions => 0, p_auto_ack => ?)",
                        QUEUE,
                        group,
                        1 + random.nextInt(4),
                        random.nextBoolean());
                yield "pop";
            }
            case 3, 4 -> {
                @Nullable Object[] message = delivered(scene, group, lane);
                if (message == null) {
                    yield "-";
                }
                scene.log.rows(
                        "select * from queen.ack(queen_store.partition_uuid(?), ?, ?, ?, ?)",
                        message[0],
                        message[1],
                        group,
                        message[2],
                        any(List.of("completed", "failed", "retry", "dlq"), random));
                yield "ack";
            }
            case 5 -> {
                @Nullable Object[] message = delivered(scene, group, lane);
                if (message == null) {
                    yield "-";
                }
                scene.log.rows(
                        "select * from queen.transact(array[?], array[?], array['1'], null,"
                                + " array[queen_store.partition_uuid(?)], array[?], array[?],"
                                + " array[?::uuid])",
                        QUEUE,
                        any(LANES, random),
                        message[0],
                        message[1],
                        group,
                        message[2]);
                yield "transact";
            }
            case 6 -> {
                String target =
                        any(
                                List.of(
                                        "'beginning', null, null",
                                        "'end', null, null",
                                        "'offset', null, " + random.nextInt(30)),
                                random);
                scene.log.rows(
                        "select * from queen_store.seek_lane(?, ?, ?, ?, " + target + ")",
                        TENANT,
                        QUEUE,
                        lane,
                        group);
                yield "seek-lane";
            }
            default -> {
                scene.log.rows(
                        "select * from queen_store.seek_queue(?, ?, ?, ?, null)",
                        TENANT,
                        QUEUE,
                        group,
                        random.nextBoolean() ? "beginning" : "end");
                walkWanted = true;
                yield "seek";
            }
        };
    }

    /** A message under a lease, if the lane has one: lane, transaction id, lease. */
    private static @Nullable Object @Nullable [] delivered(
            CountScene scene, String group, String lane) throws SQLException {
        List<@Nullable Object[]> rows =
                scene.log.rows(
                        """
                        select c.partition_id, m.transaction_id, c.lease_id
                        from queen_store.cursors c
                        join queen_store.groups g
                            on g.id = c.group_id and g.generation = c.generation and g.name = ?
                        cross join lateral queen_store.message_at(
                            c.partition_id, c.committed + 1 + (c.batch_end - c.committed) / 2) m
                        where c.partition_id = ? and c.lease_expires_at > clock_timestamp()
                        """,
                        group,
                        scene.laneNumber(QUEUE, lane));
        return rows.isEmpty() ? null : rows.getFirst();
    }

    private String byBroker(CountScene scene, Random random) throws SQLException {
        String name = any(LANES, random);
        long lane = scene.laneNumber(QUEUE, name);
        String group = any(GROUPS, random);
        int groupId = scene.groupNumber(QUEUE, group);
        List<Long> lanes = new ArrayList<>();
        for (String other : LANES) {
            lanes.add(scene.laneNumber(QUEUE, other));
        }
        return switch (random.nextInt(10)) {
            case 0, 1, 2 -> {
                String[] messages = new String[1 + random.nextInt(5)];
                for (int i = 0; i < messages.length; i++) {
                    messages[i] = "t" + ids++;
                }
                scene.append(scene.queueNumber(QUEUE), lane, messages);
                yield "append";
            }
            case 3 -> {
                scene.claim("claim_auto", groupId, 1 + random.nextInt(9), lanes);
                yield "claim-auto";
            }
            case 4, 5 -> {
                for (CountScene.Taken one :
                        scene.claim("claim_first", groupId, 1 + random.nextInt(9), lanes)) {
                    held.add(one);
                    holders.add(group);
                }
                yield "claim";
            }
            case 6 -> {
                if (held.isEmpty()) {
                    yield "-";
                }
                int at = random.nextInt(held.size());
                CountScene.Taken one = held.remove(at);
                int holder = scene.groupNumber(QUEUE, holders.remove(at));
                scene.summed(
                        "select ?::int4, a.passed, null, a.ended, null from"
                                + " queen_store.ack_batches(?, ?, ?, ?) a",
                        holder,
                        new Long[] {one.lane()},
                        new Integer[] {holder},
                        new UUID[] {one.lease()},
                        new Long[] {one.end()});
                yield "ack-batch";
            }
            case 7 -> {
                if (held.isEmpty()) {
                    yield "-";
                }
                int at = random.nextInt(held.size());
                CountScene.Taken one = held.remove(at);
                int holder = scene.groupNumber(QUEUE, holders.remove(at));
                if (random.nextBoolean()) {
                    scene.log.run(
                            "update queen_store.cursors set lease_expires_at = clock_timestamp()"
                                    + " where partition_id = ? and lease_id = ?",
                            one.lane(),
                            one.lease());
                    yield "lapse";
                }
                scene.log.rows(
                        "select queen_store.release_lease(?, ?, ?)",
                        one.lease(),
                        new Long[] {one.lane()},
                        new Integer[] {holder});
                yield "release";
            }
            case 8 -> {
                // Everything is as old as it must be, but for what comes later.
                scene.log.run(
                        "update queen_store.segments set created_at = '2020-01-01'"
                                + " where partition_id = ? and base_offset % 3 = 0 and base_offset <"
                                + " (select last_offset / 2 from queen_store.partitions where id = ?)",
                        lane, lane);
                scene.log.run(
                        "update queen_store.segments s set created_at = '2020-01-01'"
                                + " where s.partition_id = ? and exists (select from"
                                + " queen_store.segments n where n.partition_id = ? and n.created_at"
                                + " < '2021-01-01' and n.base_offset > s.base_offset)",
                        lane,
                        lane);
                scene.log.run(
                        "update queen_store.partitions p set oldest_live_at = (select created_at from"
                                + " queen_store.segments s where s.partition_id = p.id and"
                                + " s.base_offset >= p.log_start order by base_offset limit 1)"
                                + " where id = ?",
                        lane);
                scene.log.rows("select * from queen_store.expire(clock_timestamp(), 0, 100)");
                // Where groups without a cursor begin depends on the times that have just changed.
                walkWanted = true;
                yield "expire";
            }
            default -> {
                List<@Nullable Object[]> letters =
                        scene.log.rows(
                                "select id, partition_id, transaction_id from"
                                        + " queen_store.dead_letters order by id limit 1");
                if (letters.isEmpty()) {
                    yield "-";
                }
                switch (random.nextInt(3)) {
                    case 0 ->
                            scene.log.rows(
                                    "select queen_store.delete_dead_letter(?, ?, ?)",
                                    TENANT,
                                    letters.getFirst()[1],
                                    letters.getFirst()[2]);
                    case 1 ->
                            scene.log.rows(
                                    "select * from queen_store.delete_dead_letters(?, ?, null,"
                                            + " 'infinity', null, null, 2)",
                                    TENANT,
                                    QUEUE);
                    default ->
                            scene.log.rows(
                                    "select * from queen_store.replay_dead_letter(?, ?, null, null,"
                                            + " null, null)",
                                    TENANT,
                                    letters.getFirst()[0]);
                }
                yield "dead-letter";
            }
        };
    }
}
