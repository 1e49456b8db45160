package io.queenmq.ack;

import static io.queenmq.testkit.LogFixture.Item.completed;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.LogFixture.Acked;
import io.queenmq.testkit.LogFixture.Claim;
import io.queenmq.testkit.LogFixture.Item;
import io.queenmq.testkit.LogFixture.Job;
import io.queenmq.testkit.TestDatabase;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;

/** A lane with messages, a group and its leases for every test of the acks. */
abstract class AckScene {
    static TestDatabase database;

    Connection connection;
    LogFixture log;
    int queue;
    int group;
    long lane;

    @BeforeAll
    static void create() {
        database = TestDatabase.migrated();
    }

    @AfterAll
    static void drop() {
        database.close();
    }

    @BeforeEach
    void setUp() throws SQLException {
        connection = database.connect();
        TestDatabase.rows(connection, "set statement_timeout = '20s'");
        log = new LogFixture(connection);
        queue = log.queue();
        group = log.group(queue);
        lane = log.lane(queue);
        log.fill(lane, 5, 6);
        log.cursor(lane, group, 9);
    }

    @AfterEach
    void close() throws SQLException {
        connection.close();
    }

    UUID lease() throws SQLException {
        List<Claim> claims = log.claimLeased(Job.of(10), group, lane);
        assertEquals(10, claims.getFirst().from());
        return leaseOf(claims);
    }

    static UUID leaseOf(List<Claim> claims) {
        assertEquals("leased", claims.getFirst().verdict());
        UUID lease = claims.getFirst().leaseId();
        assertNotNull(lease);
        return lease;
    }

    static List<String> verdicts(List<Acked> acked) {
        return acked.stream().map(Acked::verdict).toList();
    }

    static List<Boolean> released(List<Acked> acked) {
        return acked.stream().map(Acked::released).toList();
    }

    static Item[] all(int from, int to) {
        List<Item> items = new ArrayList<>();
        for (int i = from; i <= to; i++) {
            items.add(completed("m" + i));
        }
        return items.toArray(Item[]::new);
    }

    @Nullable Object[] cursor() throws SQLException {
        return log.rows(
                        "select committed, batch_end, lease_id, prev_lease, prev_committed,"
                                + " retry_count, attempt_count from queen_store.cursors where"
                                + " partition_id = ? and group_id = ?",
                        lane,
                        group)
                .getFirst();
    }

    // Whole batches.

    List<@Nullable Object[]> stamp() throws SQLException {
        return log.rows(
                "select consumed_at, xmin::text from queen_store.groups where id = ?", group);
    }

    // The table of resolutions.

    // Without a lease.

    // Acks that cannot act.

    // Several units, several connections.

    void takeOver(LogFixture taker, int raced) {
        Await.until(
                "a lease that has run out",
                () ->
                        taker.claimLeased(Job.of(10), raced, lane)
                                .getFirst()
                                .verdict()
                                .equals("leased"));
    }

    // Storage.

    long[] updates() throws SQLException {
        @Nullable Object[] row =
                log.rows(
                                "select n_tup_upd, n_tup_hot_upd from pg_stat_user_tables where relid ="
                                        + " 'queen_store.cursors'::regclass")
                        .getFirst();
        return new long[] {number(row[0]), number(row[1])};
    }

    static long number(@Nullable Object value) {
        assertNotNull(value);
        return (Long) value;
    }

    @Nullable Object[] letter(long offset) throws SQLException {
        List<@Nullable Object[]> letters =
                log.rows(
                        "select error, retry_count, transaction_id, payload from"
                                + " queen_store.dead_letters where partition_id = ? and \"offset\" = ?",
                        lane,
                        offset);
        assertEquals(1, letters.size());
        return letters.getFirst();
    }

    int letters() throws SQLException {
        return log.rows("select from queen_store.dead_letters where partition_id = ?", lane).size();
    }

    static String text(@Nullable Object bytes) {
        assertNotNull(bytes);
        return new String((byte[]) bytes, StandardCharsets.UTF_8);
    }
}
