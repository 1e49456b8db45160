package io.queenmq.testkit;

import java.sql.SQLException;
import java.util.List;

/**
 * A log over many epochs, the same in every lane: a segment of two messages, m0 and m1, in the
 * first epoch, m2 and m3 in the next, and so on, an hour between them and the last one ten minutes
 * old. What is in the first quarter of the epochs has expired. Three queues, each with a group of
 * its own number, share the lanes: of {@code q} only the newest segment is within the dedup window;
 * of {@code wide} all are, and its messages expire; those of {@code late} are delayed by 90
 * minutes, and its group conflates.
 */
public final class PlanLog {
    /** Lanes come in rounds of 30; those of a call are the same lane of so many rounds. */
    public static final int LANES_OF_A_CALL = 20;

    private static final int ROUND = 30;
    private static final int FIRST_ROUND = 101;

    private final PlanScene scene;
    private final int epochs;

    public PlanLog(PlanScene scene, int epochs) throws SQLException {
        this.scene = scene;
        this.epochs = epochs;
        scene.epochs(epochs);
        scene.vacuum();
        scene.run(
                """
                create temp table piece as
                select e as epoch, 2 * e - 2 as base_offset,
                       clock_timestamp() - (%d - e) * interval '1 hour' - interval '10 minutes'
                           as created_at,
                       f.keys, f.frames
                from generate_series(1, %d) e
                cross join lateral queen_store.encode_frames(
                    array['m' || 2 * e - 2, 'm' || 2 * e - 1],
                    array['\\x7b7d'::bytea, '\\x7b7d'], null, null, null) f
                """
                        .formatted(epochs, epochs));
    }

    /** What a consumer has done in a lane, by the place of the lane in its round. */
    public enum Lane {
        /** All but the newest segment is acknowledged. */
        KEEPS_UP(0),
        LEASED(5),
        /** The expired quarter and as much again is acknowledged, and nothing knows the epoch. */
        LAGS(7),
        LAGS_LEASED(6),
        HAS_ALL(8),
        /** There is no cursor. */
        NEW(9);

        private final int place;

        Lane(int place) {
            this.place = place;
        }

        /** Of queue {@code q}, {@code wide} or {@code late}, which are 1 to 3. */
        public String of(int queue) {
            return "array(select (%d * i + %d)::bigint from generate_series(%d, %d) i)"
                    .formatted(ROUND, in(queue), FIRST_ROUND, FIRST_ROUND + LANES_OF_A_CALL - 1);
        }

        /** One of these. */
        public long one(int queue) {
            return (long) ROUND * FIRST_ROUND + in(queue);
        }

        /** The only place of a round that is both of that kind and of that queue. */
        private int in(int queue) {
            for (int lane = place; lane < ROUND; lane += 10) {
                if (lane % 3 == queue - 1) {
                    return lane;
                }
            }
            throw new IllegalArgumentException("no queue " + queue);
        }
    }

    public int last() {
        return 2 * epochs - 1;
    }

    /** Where those stand that lag. */
    public int lagging() {
        return epochs - 1;
    }

    /** Only the lanes that one round of the calls names. */
    public void fillOneRound() throws SQLException {
        fill(FIRST_ROUND * ROUND, (FIRST_ROUND + 1) * ROUND - 1);
    }

    public void empty() throws SQLException {
        for (String table :
                List.of("kv", "timers", "cursors", "segments", "partitions", "groups", "queues")) {
            scene.run("delete from queen_store." + table);
        }
    }

    public void fill(int firstLane, int lastLane) throws SQLException {
        scene.run(
                """
                insert into queen_store.queues (
                    id, tenant_id, name, dedup_window_seconds, retention_enabled,
                    retention_seconds, completed_retention_seconds, delayed_processing_seconds)
                overriding system value
                values (1, '%1$s', 'q', 3600, false, 0, 0, 0),
                       (2, '%1$s', 'wide', 86400 * 30, true, %2$d * 3600, 3600, 0),
                       (3, '%1$s', 'late', 3600, false, 0, 0, 5400)
                """
                        .formatted(LogFixture.TENANT, epochs / 2));
        scene.run(
                """
                insert into queen_store.groups (
                    id, queue_id, name, start_rule, start_at, conflation)
                overriding system value
                values (1, 1, 'g', 'all', null, false), (2, 2, 'g', 'all', null, false),
                       (3, 3, 'g', 'all', null, true), (4, 1, 'all', 'all', null, false),
                       (5, 1, 'instant', 'instant',
                        clock_timestamp() - %d * interval '1 hour', false),
                       (6, 1, 'unplaced', null, null, null)
                """
                        .formatted(epochs / 2));
        String lanes = "generate_series(%d, %d) i".formatted(firstLane, lastLane);
        scene.run(
                """
                insert into queen_store.partitions (
                    id, queue_id, name, last_offset, log_start, last_created_at, last_write_at,
                    oldest_live_at)
                overriding system value
                select i, 1 + i %% 3, 'p' || i, %d, e.base_offset, l.created_at, l.created_at,
                       e.created_at
                from %s, piece e, piece l
                where e.epoch = %d and l.epoch = %d
                """
                        .formatted(last(), lanes, 1 + epochs / 4, epochs));
        scene.run(
                """
                insert into queen_store.segments (
                    epoch, partition_id, base_offset, end_offset, created_at, flush_id, keys,
                    frames)
                select p.epoch, i, p.base_offset, p.base_offset + 1, p.created_at, 1, p.keys,
                       p.frames
                from piece p, %s
                """
                        .formatted(lanes));
        scene.run(
                """
                insert into queen_store.cursors (
                    partition_id, group_id, generation, epoch, committed, batch_end, lease_id,
                    lease_expires_at)
                select i, 1 + i %% 3, 1,
                       case when i %% 10 in (6, 7) then 0 else %1$d end, c.committed, b.batch_end,
                       case when b.batch_end is not null then queen_store.lease_uuid(%3$s, i) end,
                       case when b.batch_end is not null
                            then clock_timestamp() + interval '1 hour' end
                from %2$s
                cross join lateral (
                    select case when i %% 10 in (6, 7) then %4$d
                                when i %% 10 = 8 then %5$d
                                else %5$d - 2 end as committed) c
                cross join lateral (
                    select case when i %% 10 in (5, 6) then least(c.committed + 6, %5$d) end
                               as batch_end) b
                where i %% 10 <> 9
                """
                        .formatted(epochs, lanes, LEASE, lagging(), last()));
        scene.run(
                """
                insert into queen_store.kv (
                    tenant_id, namespace, key, value, version, created_at, updated_at)
                select '%s', 'n', 'k' || i, '1', 1, clock_timestamp(), clock_timestamp()
                from %s
                """
                        .formatted(LogFixture.TENANT, lanes));
        scene.run(
                """
                insert into queen_store.timers (
                    tenant_id, queue, timer_key, partition, deliver_at, transaction_id, message_id,
                    payload, dedup, claim_token)
                select '%s', 'q', 'k' || i, 'p' || i, clock_timestamp(), 'new' || i,
                       gen_random_uuid(), '1', true, %s
                from %s
                """
                        .formatted(LogFixture.TENANT, LEASE, lanes));
    }

    /** Of all lanes that are leased: each has it with its own number. */
    public static final String LEASE = "'11111111-1111-4111-8111-000000000000'::uuid";

    /** The leases of lanes, in their order. */
    public static String leases(String lanes) {
        return "array(select queen_store.lease_uuid(%s, l) from unnest(%s) with ordinality i (l, n) order by n)"
                .formatted(LEASE, lanes);
    }
}
