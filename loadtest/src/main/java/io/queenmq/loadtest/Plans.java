package io.queenmq.loadtest;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Calls of the functions that broker and applications make, for a look at their plans. */
final class Plans {
    /** Plans are cached from the sixth execution on; once more shows them with warm buffers. */
    private static final int EXECUTIONS = 7;

    private static final Pattern BUFFERS =
            Pattern.compile("Buffers: shared(?: hit=(\\d+))?(?: read=(\\d+))?");

    private Plans() {}

    /** One statement; what it changes is rolled back. */
    record Candidate(String name, String sql) {
        double buffers(Connection connection, String mode) throws SQLException {
            connection.setAutoCommit(false);
            double buffers = 0;
            try (Statement statement = connection.createStatement()) {
                statement.execute("set plan_cache_mode = " + mode);
                connection.commit();
                for (int i = 0; i < EXECUTIONS; i++) {
                    buffers = explain(statement);
                    connection.rollback();
                }
            }
            return buffers;
        }

        /** What the whole statement touched stands in the first line that counts buffers. */
        private double explain(Statement statement) throws SQLException {
            double found = -1;
            try (ResultSet rows =
                    statement.executeQuery("explain (analyze, buffers, timing off) " + sql)) {
                while (rows.next()) {
                    Matcher buffers = BUFFERS.matcher(rows.getString(1));
                    if (found < 0 && buffers.find()) {
                        found = number(buffers.group(1)) + number(buffers.group(2));
                    }
                }
            }
            return Math.max(0, found);
        }

        private static double number(String digits) {
            return digits == null ? 0 : Double.parseDouble(digits);
        }
    }

    static List<Candidate> candidates(Rig rig, String queue) {
        Server server = rig.server();
        int number = Lanes.queueNumber(server, queue);
        int group =
                (int) server.number("select id from queen_store.groups where queue_id = ?", number);
        long lane =
                (long)
                        server.number(
                                "select id from queen_store.partitions"
                                        + " where queue_id = ? and name = 'lane-1'",
                                number);
        String tenant = "'00000000-0000-0000-0000-000000000001'::uuid";
        String lease = "gen_random_uuid()";
        return List.of(
                new Candidate(
                        "append",
                        ("select * from queen_store.append('{%d}', '{1}', '{1}', '{0}', '{null}',"
                                        + " '{1}', '{1}', array[decode(repeat('ab', 16), 'hex')],"
                                        + " array['\\x0000000200ff'::bytea], false)")
                                .formatted(lane)),
                new Candidate(
                        "claim_leased",
                        ("select * from queen_store.claim_leased(array[%s], '{10}', '{1}', '{60}',"
                                        + " '{f}', 1048576, '{1}', '{%d}', '{%d}')")
                                .formatted(lease, lane, group)),
                new Candidate(
                        "claim_auto",
                        ("select * from queen_store.claim_auto('{10}', '{1}', 1048576, '{1}',"
                                        + " '{%d}', '{%d}')")
                                .formatted(lane, group)),
                new Candidate(
                        "lanes_with_work",
                        "select * from queen_store.lanes_with_work(%d, %d, null, null, null, 100)"
                                .formatted(number, group)),
                new Candidate(
                        "pending_messages",
                        "select * from queen_store.pending_messages('{%d}', %d, 1, 100)"
                                .formatted(lane, group)),
                new Candidate(
                        "read_segments",
                        "select * from queen_store.read_segments('{%d}', '{1}')".formatted(lane)),
                new Candidate(
                        "read_keys",
                        "select * from queen_store.read_keys(%d, 1, 100, '-infinity', 10)"
                                .formatted(lane)),
                new Candidate(
                        "find_lanes",
                        "select * from queen_store.find_lanes(array[%s], '{%s}', '{lane-1}')"
                                .formatted(tenant, queue)),
                new Candidate(
                        "effective_cursor",
                        "select queen_store.effective_cursor(%d, %d)".formatted(lane, group)),
                new Candidate(
                        "extend_lease",
                        "select * from queen_store.extend_lease(%s, %s, 60)"
                                .formatted(tenant, lease)),
                new Candidate(
                        "queen.read",
                        "select * from queen.read('%s', 'lane-1', 50, 10)".formatted(queue)),
                new Candidate(
                        "queen.push",
                        "select * from queen.push('%s', 'lane-1', '{}')".formatted(queue)),
                new Candidate(
                        "queen.pop",
                        "select * from queen.pop('%s', '%s', 10)".formatted(queue, ReadPath.GROUP)),
                new Candidate(
                        "queen.partitions",
                        "select * from queen.partitions where queue = '%s' and partition = 'lane-1'"
                                .formatted(queue)));
    }
}
