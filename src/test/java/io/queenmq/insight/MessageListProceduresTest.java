package io.queenmq.insight;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.Lines;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** How much a list of messages looks at, and what it says of the rest. */
class MessageListProceduresTest {
    private static TestDatabase database;
    private static Connection connection;

    /**
     * Queue wide has 1,001 lanes of one message each, written a second apart; queue deep one lane
     * of 20,010 segments, with a key that only the oldest of them has.
     */
    @BeforeAll
    static void fill() throws SQLException {
        database = TestDatabase.migrated();
        connection = database.connect();
        lines(
                """
                insert into queen_store.queues (tenant_id, name)
                select '00000000-0000-0000-0000-000000000001', n
                from unnest(array['wide', 'deep']) n;
                insert into queen_store.partitions (
                    queue_id, name, last_offset, last_created_at, last_write_at, oldest_live_at)
                select q.id, to_char(n, 'FM0000'), 0, timestamptz '2026-01-01Z' + n * interval '1 s',
                       timestamptz '2026-01-01Z' + n * interval '1 s',
                       timestamptz '2026-01-01Z' + n * interval '1 s'
                from queen_store.queues q, generate_series(1, 1001) n
                where q.name = 'wide'
                union all
                select q.id, 'p', 20009, timestamptz '2026-01-02Z', timestamptz '2026-01-02Z',
                       timestamptz '2026-01-01Z'
                from queen_store.queues q
                where q.name = 'deep';
                insert into queen_store.segments (
                    epoch, partition_id, base_offset, end_offset, created_at, flush_id, keys)
                select 1, p.id, 0, 0, p.last_created_at, 1, queen_store.key_of(p.name)
                from queen_store.partitions p
                where p.name <> 'p'
                union all
                select 1, p.id, n, n, timestamptz '2026-01-01Z' + n * interval '1 s', 1,
                       queen_store.key_of(case when n = 3 then 'sought' else 'other' end)
                from queen_store.partitions p, generate_series(0, 20009) n
                where p.name = 'p';
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

    /** Names of lanes or offsets; whether all was looked at; where it goes on. */
    private static List<String> find(
            String queue, String partition, String key, String behind, int limit)
            throws SQLException {
        return lines(
                ("select (select string_agg(case p.name when 'p' then u.o::text else p.name end,"
                                + " ',' order by u.n) from unnest(f.partition_ids, f.offsets)"
                                + " with ordinality u (id, o, n) join queen_store.partitions p"
                                + " on p.id = u.id), f.complete, f.next_offset"
                                + " from queen_store.find_messages("
                                + "'00000000-0000-0000-0000-000000000001', '%s', %s, null, null,"
                                + " queen_store.key_of(%s), timestamptz '2026-01-01Z', timestamptz"
                                + " '2026-02-01Z', %s, %d) f")
                        .formatted(queue, partition, key, behind, limit));
    }

    @Test
    void onlyAsManyLanesAreReadAsMayBelongToThePage() throws SQLException {
        String newest = "null, null, null";
        assertEquals(List.of("1001,1000,0999|t|0"), find("wide", "null", "null", newest, 3));
        assertEquals(List.of("0007|t|"), find("wide", "'0007'", "null", newest, 3));
        String behind =
                "timestamptz '2026-01-01Z' + interval '999 s', (select id from"
                        + " queen_store.partitions where name = '0999'), 0";
        assertEquals(List.of("0998,0997|t|0"), find("wide", "null", "null", behind, 2));
    }

    @Test
    void beyondAThousandLanesItIsNotComplete() throws SQLException {
        assertEquals(List.of("|f|"), find("wide", "null", "'none'", "null, null, null", 1));
        String behind = "timestamptz '2026-01-01Z' + interval '3 s', 0, 0";
        // The last of a thousand lanes is 0002: 0001 is not looked at.
        assertEquals(List.of("0002|f|"), find("wide", "null", "null", behind, 1000));
    }

    @Test
    void aSearchInOneLaneGoesOnWhereItStopped() throws SQLException {
        assertEquals(
                List.of("20009,20008|t|20008"), find("deep", "'p'", "null", "null, null, null", 2));
        assertEquals(List.of("|f|10"), find("deep", "'p'", "'sought'", "null, null, null", 2));
        String behind =
                "timestamptz '2026-01-01Z' + interval '9 s', (select id from"
                        + " queen_store.partitions where name = 'p'), 10";
        assertEquals(List.of("3|t|"), find("deep", "'p'", "'sought'", behind, 2));
    }

    /** Keys of three commits, 24 MiB each, of which 64 MiB may be read: two and the third begun. */
    @Test
    void aSearchReadsSoManyBytesOfKeysAndNoMore() throws SQLException {
        lines(
                """
                insert into queen_store.queues (tenant_id, name)
                values ('00000000-0000-0000-0000-000000000001', 'heavy');
                insert into queen_store.partitions (
                    queue_id, name, last_offset, last_created_at, last_write_at, oldest_live_at)
                select q.id, 'h', 3, timestamptz '2026-01-02Z', timestamptz '2026-01-02Z',
                       timestamptz '2026-01-01Z'
                from queen_store.queues q
                where q.name = 'heavy';
                insert into queen_store.segments (
                    epoch, partition_id, base_offset, end_offset, created_at, flush_id, keys)
                select 1, p.id, n, n, timestamptz '2026-01-01Z' + n * interval '1 s', 1,
                       decode(repeat('00', case n when 0 then 16 else 25165824 end), 'hex')
                from queen_store.partitions p
                join queen_store.queues q on q.id = p.queue_id and q.name = 'heavy',
                    generate_series(0, 3) n;
                """);
        assertEquals(List.of("|f|1"), find("heavy", "'h'", "'none'", "null, null, null", 2));
    }
}
