package io.queenmq.group;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Lines;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Goal: what is asked of many lanes at once is what is said of each. Method: 240 lanes of up to 90
 * segments of three messages over four epochs, some emptied, some expired up to the middle of a
 * segment, some with holes or segments whose payloads are gone; groups of every rule, with cursors
 * of now and of before, leases that are live, over and long over; the functions for one lane answer
 * for each, those for many for all.
 */
class LanePlacesProceduresTest {
    private static TestDatabase database;
    private static Connection connection;

    @BeforeAll
    static void fill() throws SQLException {
        database = TestDatabase.migrated();
        connection = database.connect();
        lines(
                """
                select setseed(0.5);
                create table queen_store.segments_2 partition of queen_store.segments
                    for values in (2);
                create table queen_store.segments_3 partition of queen_store.segments
                    for values in (3);
                update queen_store.epochs set state = 'sealed' where epoch = 1;
                insert into queen_store.epochs (epoch, state) values (2, 'sealed'), (3, 'open');
                insert into queen_store.queues (tenant_id, name)
                select '00000000-0000-0000-0000-000000000001', n from unnest(array['q', 'bare']) n;
                -- Of 0 to 90 segments of three messages, one a minute; what is expired is gone or not.
                insert into queen_store.partitions (
                    queue_id, name, last_offset, log_start, last_created_at, last_write_at,
                    oldest_live_at)
                select case when n % 40 = 0 then 2 else 1 end, 'p' || n, s.segments * 3 - 1, l.start,
                       w.at, coalesce(w.at, timestamptz '2026-01-01Z'),
                       case when l.start < s.segments * 3
                            then timestamptz '2026-01-01Z' + l.start / 3 * interval '1 minute' end
                from generate_series(1, 240) n
                cross join lateral (
                    select case when n % 7 = 0 then 0 else n % 91 end as segments) s
                cross join lateral (
                    select case when n % 11 = 0 then s.segments * 3
                                when n % 3 = 0 then floor(random() * s.segments * 3)::bigint
                                else 0 end as start) l
                cross join lateral (
                    select case when s.segments > 0 then timestamptz '2026-01-01Z'
                                + (s.segments - 1) * interval '1 minute' end as at) w;
                insert into queen_store.segments (
                    epoch, partition_id, base_offset, end_offset, created_at, flush_id, keys,
                    frames)
                -- Of some lanes what is alive of epoch 1 was evacuated, and what is dead is there still.
                select case when p.id % 2 = 0 and p.log_start / 75 = 1 and i / 25 = 1
                             and i * 3 + 2 >= p.log_start then 0 else i / 25 end,
                       p.id, i * 3, i * 3 + 2,
                       timestamptz '2026-01-01Z' + i * interval '1 minute', i, '\\x00',
                       case when i * 3 + 2 >= p.log_start
                             and (p.id % 4 <> 0 or i % 6 > 1 or i * 3 <= p.log_start)
                            then '\\x00'::bytea end
                from queen_store.partitions p
                cross join lateral generate_series(0, (p.last_offset + 1) / 3 - 1) i
                where (i * 3 + 2 >= p.log_start or i % 5 = 0)
                  and (p.id % 5 <> 0 or i % 4 <> 1 or i * 3 <= p.log_start
                       or i * 3 + 2 >= p.last_offset);
                insert into queen_store.groups (
                    queue_id, name, generation, start_rule, start_at, seek_rule, seek_at)
                values (1, '__QUEUE_MODE__', 1, 'all', null, null, null),
                       (1, 'all', 1, 'all', null, null, null),
                       (1, 'none', 1, null, null, null, null),
                       (1, 'early', 1, 'instant', '2026-01-01 00:10:00Z', null, null),
                       (1, 'between', 1, 'instant', '2026-01-01 00:40:30Z', null, null),
                       (1, 'late', 1, 'instant', '2027-01-01Z', null, null),
                       (1, 'before', 1, 'instant', '2025-01-01Z', null, null),
                       (1, 'moved', 2, 'all', null, 'instant', '2026-01-01 00:20:00Z'),
                       (1, 'back', 3, 'instant', '2026-01-01 00:50:00Z', 'all', null);
                -- Of now, of a generation before, or none; beyond what is kept, too.
                insert into queen_store.cursors (
                    partition_id, group_id, generation, committed, batch_end, lease_id,
                    lease_expires_at)
                select p.id, g.id, greatest(1, g.generation - (p.id + g.id) % 2),
                       c.committed, case when l.lease is not null then c.committed + 2 end,
                       case when l.lease is not null then gen_random_uuid() end,
                       clock_timestamp() + l.lease
                from queen_store.partitions p
                join queen_store.groups g on g.queue_id = p.queue_id
                cross join lateral (
                    select floor(random() * (p.last_offset + 2))::bigint - 1 as committed) c
                cross join lateral (
                    select case (p.id + g.id) % 5 when 0 then interval '1 hour'
                                                  when 1 then interval '-1 minute'
                                                  when 2 then interval '-1 hour' end as lease) l
                where (p.id * 7 + g.id) % 3 <> 0;
                """);
    }

    @AfterAll
    static void drop() throws SQLException {
        connection.close();
        database.close();
    }

    private static List<String> lines(String sql) throws SQLException {
        return Lines.lines(connection, sql);
    }

    /** What differs, and how many were compared. */
    private static void same(String many, String each, int atLeast) throws SQLException {
        assertEquals(List.of(), lines("(%s except %s)".formatted(many, each)));
        assertEquals(List.of(), lines("(%s except %s)".formatted(each, many)));
        int compared =
                Integer.parseInt(Lines.line(connection, "select count(*) from (" + each + ") e"));
        assertTrue(compared >= atLeast, "compared " + compared);
    }

    @Test
    void groupsStandWhereTheirEffectiveCursorsAre() throws SQLException {
        same(
                """
                select l.partition_id, l.group_id, l.committed, l.unread, l.kept, l.is_unnamed,
                       l.touched, l.leased, l.live
                from queen_store.lane_places(
                    array(select p.id from queen_store.partitions p), null) l
                """,
                """
                select p.id, g.id, e.committed, p.last_offset - e.committed,
                       p.last_offset - p.log_start + 1, g.name = '__QUEUE_MODE__',
                       c.committed is not null,
                       case when c.lease_expires_at > clock_timestamp() - interval '10 minutes'
                            then c.batch_end - c.committed else 0 end,
                       case when c.lease_expires_at > clock_timestamp()
                            then c.batch_end - c.committed else 0 end
                from queen_store.partitions p
                left join queen_store.groups g on g.queue_id = p.queue_id
                left join queen_store.cursors c on c.partition_id = p.id and c.group_id = g.id
                 and c.generation = g.generation
                cross join lateral (
                    select queen_store.effective_cursor(p.id, g.id) as committed offset 0) e
                """,
                2_000);
        same(
                """
                select l.partition_id, l.group_id, l.committed
                from queen_store.lane_places(
                    array(select p.id from queen_store.partitions p where p.queue_id = 1), 5) l
                """,
                """
                select p.id, 5, queen_store.effective_cursor(p.id, 5)
                from queen_store.partitions p where p.queue_id = 1
                """,
                200);
    }

    /** Instants before, at and between all segments, in the order of the lanes that were asked. */
    @Test
    void theLastMessageBeforeAnInstantIsWhereAGroupWouldBegin() throws SQLException {
        lines(
                """
                drop table if exists asked;
                create temp table asked as
                select row_number() over (order by random()) as ordinal, p.id, i.at
                from queen_store.partitions p
                cross join lateral (
                    select timestamptz '2026-01-01Z' + n * interval '30 s' as at
                    from generate_series(-1, 190, 7) n) i;
                """);
        same(
                """
                select b.ordinal, b."offset", b.created_at
                from queen_store.last_before(
                    array(select a.id from asked a order by a.ordinal),
                    array(select a.at from asked a order by a.ordinal)) b
                """,
                """
                select a.ordinal, greatest(s.end_offset, p.log_start - 1),
                       case when s.end_offset >= p.log_start then s.created_at end
                from asked a
                join queen_store.partitions p on p.id = a.id
                left join lateral (
                    select s.end_offset, s.created_at
                    from queen_store.segments s
                    where s.partition_id = a.id and s.created_at < a.at
                    order by s.base_offset desc
                    limit 1) s on true
                """,
                5_000);
        same(
                """
                select b.ordinal, b."offset"
                from queen_store.last_before(
                    array(select a.id from asked a order by a.ordinal),
                    array(select a.at from asked a order by a.ordinal)) b
                """,
                """
                select a.ordinal, queen_store.start_committed(
                    p.id, p.log_start, p.last_offset, p.last_write_at, 'instant', a.at)
                from asked a
                join queen_store.partitions p on p.id = a.id
                """,
                5_000);
    }

    @Test
    void theFirstUnreadMessageIsThatOfEachLane() throws SQLException {
        lines(
                """
                drop table if exists begun;
                create temp table begun as
                select row_number() over (order by random()) as ordinal, p.id, i.first
                from queen_store.partitions p
                cross join lateral generate_series(p.log_start, p.last_offset + 1) i (first);
                """);
        same(
                """
                select u.ordinal, u.unread_at
                from queen_store.unread_since(
                    array(select b.id from begun b order by b.ordinal),
                    array(select b.first from begun b order by b.ordinal)) u
                """,
                """
                select b.ordinal, queen_store.first_created_at(b.id, 0, b.first) from begun b
                """,
                5_000);
    }
}
