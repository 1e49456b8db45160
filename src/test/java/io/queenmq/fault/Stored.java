package io.queenmq.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Lines;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** What the tables say after a fault. */
final class Stored {
    private Stored() {}

    /**
     * Every lane of the queue keeps the invariants of the log, and no fault was charged to a
     * message: nothing failed, so no retry is counted and nothing given up.
     */
    static void assertSound(PostgresProcess postgres, String queue) throws SQLException {
        try (Connection connection = postgres.connect()) {
            assertEquals(
                    List.of(),
                    Lines.lines(
                            connection,
                            """
                            select p.name, v.*
                            from queen_store.partitions p
                            join queen_store.queues q on q.id = p.queue_id
                            cross join lateral queen.violations(q.name, p.name) v
                            where q.name = '%s'
                            """
                                    .formatted(queue)));
            assertEquals(
                    List.of(),
                    Lines.lines(
                            connection,
                            """
                            select 'retries of ' || p.name, c.retry_count
                            from queen_store.queues q
                            join queen_store.partitions p on p.queue_id = q.id
                            join queen_store.cursors c on c.partition_id = p.id
                            where q.name = '%1$s' and c.retry_count > 0
                            union all
                            select 'dead letter of ' || p.name, d."offset"
                            from queen_store.queues q
                            join queen_store.partitions p on p.queue_id = q.id
                            join queen_store.dead_letters d on d.partition_id = p.id
                            where q.name = '%1$s'
                            """
                                    .formatted(queue)));
        }
    }

    /** Every lane holds what was accepted, each message once and at its place, and nothing else. */
    static void assertExactly(PostgresProcess postgres, String queue, int lanes, Books books)
            throws SQLException {
        List<String> expected = new ArrayList<>();
        for (int lane = 0; lane < lanes; lane++) {
            expected.add(
                    "%s: %d messages, %d in place"
                            .formatted(
                                    Workload.laneName(lane),
                                    books.accepted(lane),
                                    books.accepted(lane)));
        }
        try (Connection connection = postgres.connect()) {
            List<String> found = new ArrayList<>();
            for (int lane = 0; lane < lanes; lane++) {
                found.add(
                        Lines.line(
                                connection,
                                """
                                select format('%%s: %%s messages, %%s in place', '%2$s', count(*),
                                    count(*) filter (
                                        where (m.payload::json ->> 'seq')::bigint = m."offset"))
                                from queen_store.queues q
                                join queen_store.partitions p on p.queue_id = q.id
                                join queen_store.segments s on s.partition_id = p.id
                                cross join lateral queen_store.decode_segment(
                                    s.partition_id, s.base_offset, s.created_at, s.keys,
                                    s.frames) d
                                cross join lateral (
                                    select convert_from(d.payload, 'UTF8') as payload,
                                           d."offset") m
                                where q.name = '%1$s' and p.name = '%2$s'
                                """
                                        .formatted(queue, Workload.laneName(lane))));
            }
            assertEquals(expected, found);
        }
    }

    /**
     * Returns when every group of the workload has acknowledged all that is stored; the call that
     * registers a group may be the one that broke, so it need not be there yet.
     */
    static void awaitAcknowledged(PostgresProcess postgres, Workload workload) throws SQLException {
        try (Connection connection = postgres.connect()) {
            List<String> open = new ArrayList<>();
            try {
                Await.until(
                        "acks of all that is stored",
                        () -> {
                            open.clear();
                            open.addAll(unacknowledged(connection, workload));
                            return open.isEmpty();
                        });
            } catch (AssertionError e) {
                throw new AssertionError(String.join("; ", open), e);
            }
        }
    }

    private static List<String> unacknowledged(Connection connection, Workload workload)
            throws SQLException {
        return Lines.lines(
                connection,
                """
                select u.name || ' in ' || p.name || ' of number ' || p.id, c.committed,
                       p.last_offset, c.batch_end, c.lease_expires_at
                from queen_store.queues q
                join queen_store.partitions p on p.queue_id = q.id
                cross join unnest('{%s}'::text[]) as u(name)
                left join queen_store.groups g on g.queue_id = q.id and g.name = u.name
                left join queen_store.cursors c on c.partition_id = p.id and c.group_id = g.id
                where q.name = '%s' and c.committed is distinct from p.last_offset
                """
                        .formatted(String.join(",", workload.groups()), workload.queue()));
    }

    /** How many messages a lane holds; 0 if there is no such lane. */
    static long count(Connection connection, String queue, String lane) throws SQLException {
        return Long.parseLong(
                Lines.line(
                        connection,
                        """
                        select coalesce(sum(s.end_offset - s.base_offset + 1), 0)
                        from queen_store.queues q
                        join queen_store.partitions p on p.queue_id = q.id
                        join queen_store.segments s on s.partition_id = p.id
                        where q.name = '%s' and p.name = '%s'
                        """
                                .formatted(queue, lane)));
    }
}
