package io.queenmq.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.Lines;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;

/** What the tables say after a fault. */
final class Stored {
    private Stored() {}

    /** Every lane of the queue keeps the invariants of the log. */
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
        }
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
