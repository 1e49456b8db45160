package io.queenmq.ack;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.LogFixture;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class DeadLetterProceduresTest extends DeadLetterAckScene {
    // The list.

    @Test
    void theNewestComeFirstPageByPage() throws SQLException {
        long first = file("m10", "a");
        long second = file("m11", "b");
        long third = file("m12", "c");
        assertEquals(List.of(third, second, first), list(null, null, null, 10, 0));
        assertEquals(List.of(third), list(null, null, null, 1, 0));
        assertEquals(List.of(second, first), list(null, null, null, 2, 1));
        assertEquals(
                List.of(first),
                ids(
                        log.rows(
                                "select l.id from queen_store.dead_letters d cross join lateral"
                                        + " queen_store.find_dead_letters(?, null, null, null, null,"
                                        + " null, null, d.failed_at, d.id, 10, 0, 1000) f cross join"
                                        + " lateral queen_store.read_dead_letters(f.ids) l where d.id ="
                                        + " ? and l.queue = ?",
                                LogFixture.TENANT,
                                second,
                                queueName())));
    }

    @Test
    void everyFilterIsHonoured() throws SQLException {
        long first = file("m10", "SMTP 451 greylisted");
        long second = file("m11", "no such user");
        String partition =
                (String) log.value("select name from queen_store.partitions where id = ?", lane);
        assertEquals(List.of(first), list(null, null, "smtp", 10, 0));
        assertEquals(List.of(), list(null, null, "100%", 10, 0));
        assertEquals(List.of(second, first), list("g", partition, null, 10, 0));
        assertEquals(List.of(), list("other", null, null, 10, 0));
        assertEquals(List.of(), list(null, "other", null, 10, 0));
        assertEquals(
                List.of(second),
                ids(
                        log.rows(
                                "select unnest(f.ids) from queen_store.dead_letters d cross join"
                                        + " lateral queen_store.find_dead_letters(?, ?, null, null,"
                                        + " d.failed_at, d.failed_at, null, null, null, 10, 0, 1000) f"
                                        + " where d.id = ?",
                                LogFixture.TENANT,
                                queueName(),
                                second)));
        assertEquals("2 false", count("g", 2));
        assertEquals("1 true", count("g", 1));
        assertEquals("0 false", count("other", 100));
        assertEquals("0 true", count("other", 1), "rows are looked at, not found");
        assertEquals(
                List.of(),
                log.rows(
                        "select unnest(ids) from queen_store.find_dead_letters(?, null, null, null,"
                                + " null, null, null, null, null, 10, 0, 1000)",
                        UUID.randomUUID()),
                "of another tenant");
    }

    private String count(String groupName, int most) throws SQLException {
        return (String)
                log.value(
                        "select total || ' ' || capped from queen_store.count_dead_letters(?, ?, ?,"
                                + " null, null, null, null, ?)",
                        LogFixture.TENANT,
                        queueName(),
                        groupName,
                        most);
    }

    @Test
    @Contract("dlq-1")
    void payloadsThatDoNotFitOnThePageAreLeftOut() throws SQLException {
        long small = file("m10", "e");
        long big = file("m11", "e");
        log.run(
                "update queen_store.dead_letters set payload = convert_to(repeat('x', 16777216),"
                        + " 'UTF8') where id = ?",
                big);
        List<@Nullable Object[]> rows =
                log.rows(
                        "select id, payload is null, omitted from queen_store.read_dead_letters("
                                + "array[?, ?])",
                        small,
                        big);
        assertArrayEquals(new Object[] {big, false, false}, rows.getFirst());
        assertArrayEquals(new Object[] {small, true, true}, rows.getLast());
    }

    /** One page of a list, and where it says that the next one begins. */
    private record Page(
            List<Long> ids,
            @Nullable Object at,
            @Nullable Object id,
            int offset,
            boolean complete) {}

    private Page page(UUID tenant, String search, @Nullable Page before, int... bounds)
            throws SQLException {
        @Nullable Object[] row =
                log.rows(
                                "select ids::text, next_at, next_id, coalesce(next_offset, 0),"
                                        + " complete from queen_store.find_dead_letters(?, null, null,"
                                        + " null, null, null, ?, ?, ?, ?, ?, ?)",
                                tenant,
                                search,
                                before == null ? null : before.at(),
                                before == null ? null : before.id(),
                                bounds[0],
                                before == null ? bounds[1] : before.offset(),
                                bounds[2])
                        .getFirst();
        String ids = Objects.toString(row[0]).replaceAll("[{}]", "");
        return new Page(
                ids.isEmpty()
                        ? List.of()
                        : Arrays.stream(ids.split(",")).map(Long::valueOf).toList(),
                row[1],
                row[2],
                (Integer) Objects.requireNonNull(row[3]),
                (Boolean) Objects.requireNonNull(row[4]));
    }

    /**
     * Goal: however few rows a page may look at, the pages behind each other are the list. Method:
     * two queues of a tenant, some rows filed at the same moment, one in five with the error that
     * is sought.
     */
    @Test
    @Contract("dlq-1")
    void pagesThatLookAtFewRowsMakeTheSameList() throws SQLException {
        UUID tenant = UUID.randomUUID();
        log.run(
                "insert into queen_store.queues (tenant_id, name) select ?, 'w' || i from"
                        + " generate_series(1, 2) i",
                tenant);
        log.run(
                "insert into queen_store.dead_letters (queue_id, partition_id, group_name,"
                        + " \"offset\", message_id, transaction_id, key, flags, error, failed_at)"
                        + " select q.id, 1, 'g', 0, gen_random_uuid(), 't', '\\x00', 0,"
                        + " case when i % 5 = 0 then 'rare' else 'often' end,"
                        + " timestamptz '2026-01-01' + (i / 4) * interval '1 second'"
                        + " from queen_store.queues q, generate_series(1, 40) i"
                        + " where q.tenant_id = ? and (q.name = 'w1' or i > 30)",
                tenant);
        for (String search : List.of("rare", "e", "never")) {
            List<Long> all =
                    ids(
                            log.rows(
                                    "select d.id from queen_store.dead_letters d join"
                                            + " queen_store.queues q on q.id = d.queue_id where"
                                            + " q.tenant_id = ? and strpos(d.error, ?) > 0"
                                            + " order by d.failed_at desc, d.id desc",
                                    tenant,
                                    search));
            for (int[] bounds :
                    List.of(
                            new int[] {3, 0, 1},
                            new int[] {3, 0, 7},
                            new int[] {1, 4, 5},
                            new int[] {4, 6, 1000},
                            new int[] {100, 0, 1000})) {
                List<Long> found = new ArrayList<>();
                Page page = null;
                do {
                    page = page(tenant, search, page, bounds);
                    found.addAll(page.ids());
                    assertTrue(page.ids().size() <= bounds[0]);
                    assertTrue(
                            page.complete() || page.at() != null, "what is not complete goes on");
                    assertTrue(
                            page.complete() || page.ids().size() < bounds[0],
                            "a full page is complete");
                } while (page.at() != null);
                assertTrue(page.complete());
                String message = search + Arrays.toString(bounds);
                assertEquals(
                        all.subList(Math.min(bounds[1], all.size()), all.size()), found, message);
            }
        }
    }

    @Test
    @Contract("dlq-1")
    void aSearchLooksAtSoManyBytesOfErrors() throws SQLException {
        long rare = file("m10", "rare");
        long big = file("m11", "e");
        log.run(
                "update queen_store.dead_letters set error = repeat('x', 16777217) where id = ?",
                big);
        assertEquals(List.of(), list(null, null, "rare", 10, 0));
        assertEquals(List.of(big, rare), list(null, null, null, 10, 0));
        assertEquals(
                "0 true",
                log.value(
                        "select total || ' ' || capped from queen_store.count_dead_letters(?, ?,"
                                + " null, null, null, null, 'rare', 1000)",
                        LogFixture.TENANT,
                        queueName()));
    }

    // Deletion.

    @Test
    void allGroupsDeadLettersOfOneAddressAreDeleted() throws SQLException {
        file("m10", "a");
        file("m11", "b");
        log.run(
                "insert into queen_store.dead_letters (queue_id, partition_id, group_name,"
                        + " \"offset\", message_id, transaction_id, key, flags, error) select queue_id,"
                        + " partition_id, 'other', \"offset\", message_id, transaction_id, key, flags,"
                        + " error from queen_store.dead_letters where partition_id = ? and"
                        + " transaction_id = 'm10'",
                lane);
        assertEquals(0, delete(UUID.randomUUID(), "m10"), "another tenant's");
        assertEquals(0, delete(LogFixture.TENANT, "m12"));
        assertEquals(2, delete(LogFixture.TENANT, "m10"));
        assertEquals(0, delete(LogFixture.TENANT, "m10"));
        assertEquals(1, letters());
    }

    private int delete(UUID tenant, String transactionId) throws SQLException {
        return (int)
                log.value(
                        "select queen_store.delete_dead_letter(?, ?, ?)",
                        tenant,
                        lane,
                        transactionId);
    }

    @Test
    void aMessageWhoseTextExpiredIsFoundByWhatTheListShows() throws SQLException {
        long id = file("m10", "e");
        log.run(
                "update queen_store.dead_letters set transaction_id = encode(key, 'hex'), payload ="
                        + " null where id = ?",
                id);
        String shown =
                (String)
                        log.value(
                                "select transaction_id from queen_store.dead_letters where id = ?",
                                id);
        assertEquals("expired", replay(log, id).verdict());
        assertEquals(1, delete(LogFixture.TENANT, shown));
    }

    @Test
    void aQueueIsClearedInStepsOfOneGroupOrOfAll() throws SQLException {
        for (int i = 10; i < 15; i++) {
            file("m" + i, "e");
        }
        log.run(
                "update queen_store.dead_letters set group_name = 'other' where partition_id = ?"
                        + " and \"offset\" in (11, 13)",
                lane);
        assertEquals(List.of(1, 1, 0), clear("other", 2));
        assertEquals(3, letters());
        assertEquals(List.of(2, 1), clear(null, 2));
        assertEquals(0, letters());
        assertEquals(List.of(), clear(null, 2));
    }

    /** What each step deleted. */
    private List<Integer> clear(@Nullable String groupName, int step) throws SQLException {
        List<Integer> deleted = new java.util.ArrayList<>();
        Object at = null;
        Object id = null;
        while (true) {
            @Nullable Object[] row =
                    log.rows(
                                    "select deleted, last_at::text, last_id from"
                                            + " queen_store.delete_dead_letters(?, ?, ?,"
                                            + " clock_timestamp(), ?::timestamptz, ?::bigint, ?)",
                                    LogFixture.TENANT,
                                    queueName(),
                                    groupName,
                                    at,
                                    id,
                                    step)
                            .getFirst();
            at = row[1];
            id = row[2];
            if (id == null) {
                return deleted;
            }
            deleted.add((Integer) row[0]);
        }
    }
}
