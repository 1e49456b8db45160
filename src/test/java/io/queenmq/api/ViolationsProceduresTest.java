package io.queenmq.api;

import static io.queenmq.testkit.Lines.line;
import static io.queenmq.testkit.Lines.lines;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * queen.violations finds damage of every kind. Each case spoils a healthy lane of three segments
 * (offsets 0 and 1, 2, 3 and 4) with a lease on the first two messages, within a transaction that
 * is rolled back.
 */
class ViolationsProceduresTest {
    private static TestDatabase database;
    private Connection connection;

    @BeforeAll
    static void createLane() throws SQLException {
        database = TestDatabase.migrated();
        try (Connection connection = database.connect()) {
            lines(
                    connection,
                    """
                    select * from queen.push(array['q', 'q'], array['a', 'a'], array['1', '2'],
                        array['text', 'a1a2a3a4-1111-4222-8333-444455556666']);
                    select * from queen.push('q', 'a', '3');
                    select * from queen.push(array['q', 'q'], array['a', 'a'], array['4', '5']);
                    select * from queen.push('q', 'b', '1');
                    select * from queen.pop('q', 'g', 2, 'a', p_subscription_mode => 'all')
                    """);
        }
    }

    @AfterAll
    static void dropDatabase() {
        database.close();
    }

    @BeforeEach
    void begin() throws SQLException {
        connection = database.connect();
        connection.setAutoCommit(false);
    }

    @AfterEach
    void rollback() throws SQLException {
        connection.rollback();
        connection.close();
    }

    @Test
    void aHealthyLaneHasNone() throws SQLException {
        assertEquals(List.of(), violations("'q', 'a'"));
        assertEquals(List.of(), violations("'q', 'b'"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '~',
            value = {
                "ranges_overlap 2 ~ update queen_store.segments set end_offset = 2 where base_offset = 0",
                "range_inverted 3 ~ update queen_store.segments set end_offset = 1 where base_offset = 3",
                "gap 3 ~ delete from queen_store.segments where base_offset = 2",
                "created_at_falls 2 ~ update queen_store.segments set created_at = '2001-01-01' where base_offset = 2",
                "keys_length 0 ~ update queen_store.segments set keys = substr(keys, 1, 31) where base_offset = 0",
                "frames_directory 0 ~ update queen_store.segments set frames = set_byte(frames, 3, 255) where base_offset = 0",
                "frames_directory 0 ~ update queen_store.segments set frames = frames || '\\x00'::bytea where base_offset = 0",
                "frames_directory 2 ~ update queen_store.segments set frames = ''::bytea where base_offset = 2",
                "frame 2 ~ update queen_store.segments set frames = set_byte(frames, 4, 16 | 4) where base_offset = 2",
                "frame 2 ~ update queen_store.segments set frames = set_byte(frames, 4, 16 | 128) where base_offset = 2",
                "key 0 ~ update queen_store.segments set frames = set_byte(frames, 8 + 3, 84) where base_offset = 0",
                "key 1 ~ update queen_store.segments set keys = set_byte(keys, 16 + 8, 255) where base_offset = 0",
                "log_start 4 ~ update queen_store.partitions set log_start = 4",
                "log_start 0 ~ delete from queen_store.segments",
                "last_offset 3 ~ update queen_store.partitions set last_offset = 3",
                "last_offset 9 ~ update queen_store.partitions set last_offset = 9",
                "last_created_at 4 ~ update queen_store.partitions set last_created_at = '2001-01-01'",
                "last_write_at 4 ~ update queen_store.partitions set last_write_at = '2001-01-01'",
                "oldest_live_at 0 ~ update queen_store.partitions set oldest_live_at = null",
                "cursor_without_group -1 ~ delete from queen_store.groups",
                "cursor_beyond_end 5 ~ update queen_store.cursors set committed = 5",
                "cursor_beyond_end -2 ~ update queen_store.cursors set committed = -2",
                "cursor_epoch -1 ~ update queen_store.cursors set epoch = 2",
                "lease_range -1 ~ update queen_store.cursors set batch_end = 7",
                "lease_range -1 ~ update queen_store.cursors set batch_end = -1",
                "lease_incomplete -1 ~ update queen_store.cursors set batch_end = null",
                "lease_number -1 ~ update queen_store.cursors set lease_id = queen_store.lease_uuid(lease_id, 77)",
                "lease_row -1 ~ update queen_store.cursors set lease_id = queen_store.lease_uuid(lease_id, 0)",
                "retry_count -1 ~ update queen_store.cursors set retry_count = -1",
                "dead_letter_beyond_end 9 ~ insert into queen_store.dead_letters (queue_id, partition_id, group_name, \"offset\", message_id, transaction_id, key, flags, error) select queue_id, id, 'g', 9, gen_random_uuid(), 't', '', 0, 'e' from queen_store.partitions",
            })
    void damageIsFound(String expected, String damage) throws SQLException {
        String lane = " partition_id = (select id from queen_store.partitions where name = 'a')";
        String scoped = damage;
        if (damage.contains("queen_store.partitions") && damage.startsWith("update")) {
            scoped += " where name = 'a'";
        } else if (damage.contains("from queen_store.partitions")) {
            scoped += " where name = 'a'";
        } else if (damage.contains("where")) {
            scoped += " and" + lane;
        } else if (!damage.contains("groups")) {
            scoped += " where" + lane;
        }
        lines(connection, scoped);

        List<String> found =
                violations("'q', 'a'").stream().filter(f -> f.equals(expected)).toList();
        assertEquals(List.of(expected), found, () -> allOf(damage));
        assertEquals(List.of(), violations("'q', 'b'"));
    }

    private String allOf(String damage) {
        try {
            return damage + " gave " + violations("'q', 'a'");
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void onlyTheSegmentsOfTheRangeAreRead() throws SQLException {
        lines(
                connection,
                "update queen_store.segments set keys = ''::bytea where base_offset = 0 and"
                        + " partition_id = (select id from queen_store.partitions where name = 'a')");

        assertEquals(List.of("keys_length 0"), violations("'q', 'a', 0, 1"));
        assertEquals(List.of(), violations("'q', 'a', 1, 4"));
    }

    @Test
    void anExpiredPayloadIsNoDamage() throws SQLException {
        lines(connection, "update queen_store.segments set frames = null");

        assertEquals(List.of(), violations("'q', 'a'"));
        assertEquals(
                "1",
                line(
                        connection,
                        "select count(*) from queen.messages where partition = 'a' and \"offset\" = 1"
                                + " and expired and payload is null and payload_bytes is null"
                                + " and transaction_id = 'a1a2a3a4-1111-4222-8333-444455556666'"));
    }

    private List<String> violations(String arguments) throws SQLException {
        return lines(
                connection,
                "select rule || ' ' || \"offset\" from queen.violations(" + arguments + ")");
    }
}
