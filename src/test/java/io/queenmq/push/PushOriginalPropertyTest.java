package io.queenmq.push;

import static io.queenmq.push.TestEngine.item;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Goal: of several messages of a lane with one transactionId the first is the original, whoever
 * finds it. Method: random lanes that were written while there was no window, short ones that the
 * database looks through under the lock, and long ones that the broker reads.
 */
class PushOriginalPropertyTest {
    private static final int PUSHES = 40;

    private static TestDatabase server;

    @BeforeAll
    static void open() {
        server = TestDatabase.migrated();
    }

    @AfterAll
    static void close() {
        server.close();
    }

    /** One message to a segment, each with one of so many ids. */
    private static void fill(
            Connection connection, String queue, Random random, int segments, int ids)
            throws SQLException {
        Long[] numbers = new Long[segments];
        for (int i = 0; i < segments; i++) {
            numbers[i] = (long) random.nextInt(ids);
        }
        TestDatabase.rows(
                connection,
                """
                insert into queen_store.segments
                select 1, p.id, i.ordinal, i.ordinal, clock_timestamp(), i.ordinal, e.keys, e.frames
                from queen_store.partitions p
                join queen_store.queues q on q.id = p.queue_id and q.name = ?
                cross join unnest(?) with ordinality i (number, ordinal)
                cross join lateral queen_store.encode_frames(
                    array['t' || i.number], array['1'::bytea], array[null::uuid], null,
                    array[null::uuid]) e
                """,
                queue,
                connection.createArrayOf("int8", numbers));
        TestDatabase.rows(
                connection,
                """
                update queen_store.partitions p
                set last_offset = ?, last_created_at = clock_timestamp()
                from queen_store.queues q where q.id = p.queue_id and q.name = ?
                """,
                segments,
                queue);
    }

    private static Map<String, UUID> originals(Connection connection, String queue)
            throws SQLException {
        Map<String, UUID> originals = new HashMap<>();
        for (@Nullable Object[] row :
                TestDatabase.rows(
                        connection,
                        "select transaction_id, message_id from queen.messages where queue = ?"
                                + " order by \"offset\"",
                        queue)) {
            if (row[1] instanceof UUID id) {
                originals.putIfAbsent(String.valueOf(row[0]), id);
            }
        }
        return originals;
    }

    @ParameterizedTest
    @CsvSource({"1,600", "2,600", "3,2500", "4,2500"})
    @Contract("dedup-9")
    void theFirstIsTheOriginal(long seed, int segments) throws SQLException {
        Random random = new Random(seed);
        String queue = "q" + seed;
        try (Connection connection = server.connect()) {
            try (TestEngine before = new TestEngine(server)) {
                before.push(item(queue, "a", "first", "1"));
            }
            fill(connection, queue, random, segments, segments / 3);
            Map<String, UUID> originals = originals(connection, queue);
            int duplicates = 0;
            try (TestEngine engine = new TestEngine(server)) {
                for (int i = 0; i < PUSHES; i++) {
                    String id = "t" + random.nextInt(segments / 2);
                    PushResult result = engine.push(item(queue, "a", id, "1")).getFirst();
                    UUID original = originals.get(id);
                    if (original == null) {
                        originals.put(
                                id,
                                assertInstanceOf(PushResult.Queued.class, result, id).messageId());
                    } else {
                        assertEquals(
                                original,
                                assertInstanceOf(PushResult.Duplicate.class, result, id)
                                        .messageId(),
                                id);
                        duplicates++;
                    }
                }
                assertTrue(duplicates > PUSHES / 4);
                boolean isLong = segments > 1_000;
                assertEquals(isLong, engine.push.meters().cold.count() > 0, "who looked");
            }
        }
    }
}
