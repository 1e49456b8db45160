package io.queenmq.segment;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.model.Ids;
import io.queenmq.model.Slice;
import io.queenmq.model.UuidMint;
import io.queenmq.testkit.TestDatabase;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The codec of the database and that of the broker are one: each reads what the other wrote. */
class SegmentProceduresTest {
    private static final Timestamp CREATED_AT =
            Timestamp.from(Instant.parse("2026-03-01T12:00:00.123999Z"));
    private static final long CREATED_AT_MILLIS = 1_772_366_400_123L;
    private static final long LANE = (7L << 24) + 99;

    private static TestDatabase database;
    private static Connection connection;

    @BeforeAll
    static void connect() throws SQLException {
        database = TestDatabase.migrated();
        connection = database.connect();
    }

    @AfterAll
    static void disconnect() throws SQLException {
        connection.close();
        database.close();
    }

    @Test
    void idsAreTheSameOnBothSides() throws SQLException {
        Random random = new Random(1);
        for (int i = 0; i < 200; i++) {
            long number = 1 + random.nextLong(Ids.PARTITION_NUMBER_LIMIT - 1);
            long offset = random.nextLong(1L << 40);
            UUID minted = new UuidMint(System::currentTimeMillis).mint();
            @Nullable Object[] row =
                    one(
                            "select queen_store.partition_uuid(?),"
                                    + " queen_store.partition_number(queen_store.partition_uuid(?)),"
                                    + " queen_store.message_id(?, ?, ?),"
                                    + " queen_store.lease_uuid(?, ?),"
                                    + " queen_store.lease_number(queen_store.lease_uuid(?, ?))",
                            number,
                            number,
                            CREATED_AT,
                            number,
                            offset,
                            minted,
                            number,
                            minted,
                            number);
            assertArrayEquals(
                    new Object[] {
                        Ids.partitionId(number),
                        number,
                        Ids.messageId(CREATED_AT_MILLIS, number, offset),
                        Ids.leaseId(minted, number),
                        number
                    },
                    row);
        }
    }

    @Test
    void idsOfAnotherFormHaveNoNumber() throws SQLException {
        assertArrayEquals(
                new Object[] {null, null, null, 0L},
                one(
                        "select queen_store.partition_number(?), queen_store.partition_number(?),"
                                + " queen_store.lease_number(?), queen_store.lease_number(?)",
                        Ids.NIL,
                        Ids.partitionId(Ids.PARTITION_NUMBER_LIMIT),
                        Ids.partitionId(1),
                        Ids.leaseId(new UuidMint(() -> 1).mint(), 0)));
    }

    @Test
    void keysAreTheSameOnBothSides() throws SQLException {
        UUID id = new UuidMint(System::currentTimeMillis).mint();
        for (String text :
                List.of(
                        "a",
                        "",
                        "漢字🦊",
                        id.toString(),
                        id.toString().toUpperCase(java.util.Locale.ROOT),
                        id + "\n",
                        "0199aaaa-1111-7222-c333-444444444444")) {
            assertArrayEquals(
                    MessageKey.of(text).bytes(),
                    (byte[]) one("select queen_store.key_of(?)", text)[0],
                    text);
        }
    }

    @Test
    void mintsVersion7OfNow() throws SQLException {
        UUID id = (UUID) one("select queen_store.mint_uuid()")[0];
        assertTrue(MessageKey.isCanonicalUuid(String.valueOf(id)));
        assertEquals(7, id == null ? 0 : id.version());
        assertEquals(
                true,
                one(
                        "select abs(extract(epoch from clock_timestamp()) * 1000"
                                + " - ('x' || left(replace(?, '-', ''), 12))::bit(48)::bigint)"
                                + " < 60000",
                        String.valueOf(id))[0]);
    }

    @Test
    void databaseReadsWhatTheBrokerWrote() throws SQLException {
        for (long seed = 1; seed <= 30; seed++) {
            List<Frame> frames = new RandomFrames(seed).list(30, 200);
            Segment segment = FrameWriter.segments(frames).getFirst();
            List<@Nullable Object[]> rows = decode(segment.keys(), segment.frames());
            FrameReader reader =
                    new FrameReader(
                            LANE,
                            500,
                            CREATED_AT_MILLIS,
                            segment.keys(),
                            segment.frames(),
                            0,
                            segment.messageCount());
            for (@Nullable Object[] row : rows) {
                assertTrue(reader.next());
                String what = "seed " + seed;
                assertEquals(reader.offset(), row[0], what);
                assertEquals(reader.messageId(), row[1], what);
                assertEquals(reader.transactionId(), row[2], what);
                assertArrayEquals(reader.key().bytes(), (byte[]) row[3], what);
                assertEquals(reader.flags(), row[4], what);
                assertEquals(reader.traceId(), row[5], what);
                assertEquals(reader.producer(), row[6], what);
                assertArrayEquals(reader.payload().copy(), (byte[]) row[7], what);
            }
            assertFalse(reader.next());
        }
    }

    @Test
    void brokerReadsWhatTheDatabaseWrote() throws SQLException {
        UUID id = new UuidMint(System::currentTimeMillis).mint();
        UUID promised = new UuidMint(System::currentTimeMillis).mint();
        UUID trace = new UuidMint(System::currentTimeMillis).mint();
        List<@Nullable Object[]> rows =
                TestDatabase.rows(
                        connection,
                        "select keys, frames, message_count, first_ordinal, transaction_ids::text,"
                                + " message_ids[2], message_ids[3], message_ids[4] from"
                                + " queen_store.encode_frames(array['ord-ä', null, ?, null],"
                                + " array['{}', '1', '[]', '\"é\"']::bytea[],"
                                + " array[null, ?, null, null]::uuid[], 'Jürgen',"
                                + " array[null, null, ?, ?]::uuid[])",
                        id.toString(),
                        trace,
                        promised,
                        promised);
        assertEquals(1, rows.size());
        @Nullable Object[] row = rows.getFirst();
        assertEquals(4, row[2]);
        assertEquals(1, row[3]);
        FrameReader reader =
                new FrameReader(LANE, 0, CREATED_AT_MILLIS, bytes(row[0]), bytes(row[1]), 0, 4);
        assertTrue(reader.next());
        assertEquals("ord-ä", reader.transactionId());
        assertEquals(Ids.messageId(CREATED_AT_MILLIS, LANE, 0), reader.messageId());
        assertEquals("Jürgen", reader.producer());
        assertEquals(Slice.utf8("{}"), reader.payload());
        assertTrue(reader.next());
        assertEquals(row[5], reader.messageId());
        assertEquals(reader.messageId().toString(), reader.transactionId());
        assertEquals(trace, reader.traceId());
        assertTrue(reader.next());
        assertEquals(id.toString(), reader.transactionId());
        assertEquals(promised, reader.messageId());
        assertEquals(promised, row[6]);
        assertTrue(reader.next());
        assertEquals(promised.toString(), reader.transactionId());
        assertEquals(promised, reader.messageId());
        assertEquals(promised, row[7]);
    }

    @Test
    void databaseCutsSegmentsWhereTheBrokerDoes() throws SQLException {
        List<@Nullable Object[]> byCount =
                TestDatabase.rows(
                        connection,
                        "select message_count, first_ordinal from queen_store.encode_frames(null,"
                                + " array_fill('1'::bytea, array[2500]), null, null, null)");
        assertEquals(
                "[[1000, 1], [1000, 1001], [500, 2001]]",
                byCount.stream().map(Arrays::toString).toList().toString());
        List<@Nullable Object[]> byBytes =
                TestDatabase.rows(
                        connection,
                        "select message_count from queen_store.encode_frames(null, (select"
                                + " array_agg(convert_to(repeat('x', n), 'UTF8') order by o) from"
                                + " unnest(array[400000, 400000, 400000, 2000000, 400000]) with"
                                + " ordinality as u(n, o)), null, null, null)");
        assertEquals(
                "[[2], [1], [1], [1]]", byBytes.stream().map(Arrays::toString).toList().toString());
    }

    @Test
    void encodeRefusesATransactionIdThatDoesNotFit() {
        SQLException refusal =
                assertThrows(
                        SQLException.class,
                        () ->
                                one(
                                        "select keys from queen_store.encode_frames(array[repeat('x',"
                                                + " 65536)], array['1']::bytea[], null, null, null)"));
        assertEquals("QN400", refusal.getSQLState());
    }

    @Test
    void decodingNeverRaises() throws SQLException {
        for (long seed = 1; seed <= 400; seed++) {
            Random random = new Random(seed);
            Segment segment =
                    FrameWriter.segments(new RandomFrames(seed).list(1 + random.nextInt(5), 40))
                            .getFirst();
            byte[] frames = segment.frames().clone();
            switch (random.nextInt(3)) {
                case 0 -> random.nextBytes(frames);
                case 1 -> frames = Arrays.copyOf(frames, random.nextInt(frames.length));
                default -> frames[random.nextInt(frames.length)] ^= (byte) (1 << random.nextInt(8));
            }
            byte[] keys = segment.keys().clone();
            if (random.nextInt(4) == 0) {
                random.nextBytes(keys);
            }
            try {
                assertEquals(segment.messageCount(), decode(keys, frames).size());
                TestDatabase.rows(
                        connection,
                        "select queen_store.stored_ids(1, 0, ?, ?, ?, array[0, 1, 2, 3, 4, 5])",
                        CREATED_AT,
                        keys,
                        frames);
            } catch (SQLException e) {
                throw new AssertionError("seed " + seed, e);
            }
        }
    }

    @Test
    void expiredPayloadsLeaveWhatTheKeyTells() throws SQLException {
        UUID id = new UuidMint(System::currentTimeMillis).mint();
        Segment segment =
                FrameWriter.segments(
                                List.of(
                                        Frame.of(id.toString(), null, null, Slice.utf8("1")),
                                        Frame.of("text", null, null, Slice.utf8("2"))))
                        .getFirst();
        List<@Nullable Object[]> rows = decode(segment.keys(), null);
        assertEquals(id.toString(), rows.get(0)[2]);
        assertNull(rows.get(1)[2]);
        for (@Nullable Object[] row : rows) {
            assertNull(row[1]);
            assertNull(row[4]);
            assertNull(row[7]);
        }
    }

    @Test
    void payloadTextIsNullUnlessItIsPlainText() throws SQLException {
        byte[] text = "{\"ä\":1}".getBytes(StandardCharsets.UTF_8);
        assertArrayEquals(
                new Object[] {"{\"ä\":1}", null, null, null, null},
                one(
                        "select queen_store.payload_text(17::smallint, ?),"
                                + " queen_store.payload_text(32::smallint, ?),"
                                + " queen_store.payload_text(64::smallint, ?),"
                                + " queen_store.payload_text(0::smallint, ?),"
                                + " queen_store.payload_text(0::smallint, ?)",
                        text,
                        text,
                        text,
                        new byte[] {(byte) 0xFF},
                        new byte[] {'a', 0}));
    }

    @Test
    void messageAtFindsOneMessageOfASegment() throws SQLException {
        List<Frame> frames = new RandomFrames(3).list(50, 100);
        Segment segment = FrameWriter.segments(frames).getFirst();
        TestDatabase.rows(
                connection,
                "insert into queen_store.segments values (1, ?, 500, 549, ?, 1, ?, ?)",
                LANE,
                CREATED_AT,
                segment.keys(),
                segment.frames());
        List<@Nullable Object[]> all = decode(segment.keys(), segment.frames());
        for (int i : new int[] {0, 17, 49}) {
            @Nullable Object[] row =
                    one("select * from queen_store.message_at(?, ?)", LANE, 500L + i);
            assertTrue(Arrays.deepEquals(all.get(i), Arrays.copyOf(row, 8)));
            assertEquals(CREATED_AT, row[8]);
        }
        for (long miss : new long[] {499, 550}) {
            assertTrue(
                    TestDatabase.rows(
                                    connection,
                                    "select * from queen_store.message_at(?, ?)",
                                    LANE,
                                    miss)
                            .isEmpty());
        }
    }

    private static List<@Nullable Object[]> decode(byte[] keys, byte @Nullable [] frames)
            throws SQLException {
        return TestDatabase.rows(
                connection,
                "select * from queen_store.decode_segment(?, 500, ?, ?, ?)",
                LANE,
                CREATED_AT,
                keys,
                frames);
    }

    private static @Nullable Object[] one(String sql, @Nullable Object... args)
            throws SQLException {
        return TestDatabase.rows(connection, sql, args).getFirst();
    }

    private static byte[] bytes(@Nullable Object value) {
        return value instanceof byte[] array ? array : new byte[0];
    }
}
