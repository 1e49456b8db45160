package io.queenmq.fuzz;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.model.Ids;
import io.queenmq.segment.DamagedSegment;
import io.queenmq.segment.Frame;
import io.queenmq.segment.FrameReader;
import io.queenmq.segment.FrameWriter;
import io.queenmq.segment.MessageKey;
import io.queenmq.segment.RandomFrames;
import io.queenmq.segment.Segment;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.TestDatabase;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.sql.Array;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * The two codecs read the same out of any bytes. What one cannot make sense of the other cannot
 * either; the broker then throws what it documents, the database answers null.
 */
class FramesFuzzTest {
    private static final Timestamp CREATED_AT =
            Timestamp.from(Instant.parse("2026-03-01T12:00:00.123999Z"));
    private static final long CREATED_AT_MILLIS = 1_772_366_400_123L;
    private static final long BASE = 500;

    private static TestDatabase database;
    private static Connection connection;
    private static long lanes;

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

    /** What a codec says of one message. */
    private record Read(
            @Nullable UUID id,
            @Nullable String transactionId,
            int flags,
            @Nullable UUID traceId,
            @Nullable String producer,
            byte @Nullable [] payload) {}

    @Test
    @Contract("model-11")
    void bothReadTheSameOutOfAnyBytes() {
        Fuzz.rounds(
                "frames read",
                12,
                (seed, random) -> {
                    Segment segment = segment(seed, random);
                    Damage damage = new Damage(segment, random);
                    for (int i = random.nextInt(4); i > 0; i--) {
                        damage.anywhere();
                    }
                    assertAgree(1 + (seed & 0xFFFF), damage.keys(), damage.frames());
                    if (random.nextInt(4) == 0) {
                        assertStoredAgrees(damage.keys(), damage.frames());
                    }
                });
    }

    @Test
    void aPartOfASegmentHoldsTheSameMessages() {
        Fuzz.rounds(
                "frames cut",
                12,
                (seed, random) -> {
                    Segment segment = segment(seed, random);
                    Damage damage = new Damage(segment, random);
                    boolean whole = random.nextBoolean();
                    for (int i = whole ? 0 : random.nextInt(4); i > 0; i--) {
                        damage.anywhere();
                    }
                    byte[] keys = damage.keys();
                    int messages = keys.length / MessageKey.BYTES;
                    int first = random.nextInt(messages + 1);
                    int count = 1 + random.nextInt(messages + 1);
                    byte[] cut = cut(damage.frames(), messages, first, count);
                    if (cut == null) {
                        assertTrue(!whole || first + count > messages, "nothing is damaged");
                        return;
                    }
                    byte[] keysOfCut = Arrays.copyOfRange(keys, first * 16, (first + count) * 16);
                    for (int i = 0; i < count; i++) {
                        assertSame(
                                broker(1, keys, damage.frames(), first + i),
                                broker(1, BASE + first, keysOfCut, cut, i),
                                "message " + i + " of a part from " + first);
                    }
                });
    }

    @Test
    void aPartThatIsNotThereIsNoPart() throws SQLException {
        Segment segment = FrameWriter.segments(new RandomFrames(1).list(3, 40)).getFirst();
        for (int[] part : new int[][] {{-1, 1}, {0, 0}, {0, -1}, {0, 4}, {3, 1}, {1, 3}}) {
            assertNull(cut(segment.frames(), 3, part[0], part[1]), Arrays.toString(part));
        }
    }

    private static byte @Nullable [] cut(byte[] frames, int messages, int first, int count)
            throws SQLException {
        return (byte[])
                TestDatabase.rows(
                                connection,
                                "select queen_store.cut_frames(?, ?, ?, ?)",
                                frames,
                                messages,
                                first,
                                count)
                        .getFirst()[0];
    }

    @Test
    void aDamagedMessageSpoilsNoOther() {
        Fuzz.rounds(
                "frames spoiled",
                4,
                (seed, random) -> {
                    Segment segment = segment(seed, random);
                    int spoiled = random.nextInt(segment.messageCount());
                    Damage damage = new Damage(segment, random);
                    damage.withinMessage(spoiled);
                    assertAgree(1, damage.keys(), damage.frames());
                    for (int i = 0; i < segment.messageCount(); i++) {
                        if (i != spoiled) {
                            assertSame(
                                    broker(1, segment.keys(), segment.frames(), i),
                                    broker(1, damage.keys(), damage.frames(), i),
                                    "message " + i);
                        }
                    }
                    FrameReader walk =
                            new FrameReader(
                                    1,
                                    BASE,
                                    CREATED_AT_MILLIS,
                                    damage.keys(),
                                    damage.frames(),
                                    0,
                                    segment.messageCount());
                    assertEquals(segment.messageCount(), walkedOver(walk));
                });
    }

    private static int walkedOver(FrameReader walk) {
        int messages = 0;
        while (true) {
            try {
                if (!walk.next()) {
                    return messages;
                }
            } catch (DamagedSegment e) {
                // The next step goes on behind it.
                assertNotNull(e.getMessage());
            }
            messages++;
        }
    }

    private static Segment segment(long seed, Random random) {
        return FrameWriter.segments(new RandomFrames(seed).list(1 + random.nextInt(8), 40))
                .getFirst();
    }

    private static void assertAgree(long lane, byte[] keys, byte[] frames) throws SQLException {
        List<@Nullable Object[]> rows =
                TestDatabase.rows(
                        connection,
                        "select d.message_id, d.transaction_id, d.flags, d.trace_id, d.producer,"
                                + " d.payload, d.\"offset\", d.key,"
                                + " (queen_store.stored_ids(?, 500, ?, ?, ?,"
                                + " array[0, d.\"offset\"]))[2],"
                                + " queen_store.payload_text(d.flags, d.payload)"
                                + " from queen_store.decode_segment(?, 500, ?, ?, ?) d",
                        lane,
                        CREATED_AT,
                        keys,
                        frames,
                        lane,
                        CREATED_AT,
                        keys,
                        frames);
        assertEquals(keys.length / MessageKey.BYTES, rows.size());
        for (int i = 0; i < rows.size(); i++) {
            String what = "message " + i;
            @Nullable Object[] row = rows.get(i);
            Read inDatabase = read(row);
            Read inBroker = broker(lane, keys, frames, i);
            if (inBroker == null) {
                assertTrue(
                        inDatabase.transactionId() == null || inDatabase.payload() == null,
                        what + ": only the broker finds damage");
            } else {
                assertSame(inBroker, inDatabase, what);
            }
            assertEquals(BASE + i, row[6], what);
            assertArrayEquals(Arrays.copyOfRange(keys, i * 16, i * 16 + 16), (byte[]) row[7], what);
            assertEquals(row[0] == null ? Ids.NIL : row[0], row[8], what);
            assertEquals(textOf(inDatabase), row[9], what);
        }
        for (long offset : new long[] {BASE - 1, BASE + rows.size(), 0, 1L << 40, -1}) {
            @Nullable Object[] row =
                    TestDatabase.rows(
                                    connection,
                                    "select (queen_store.stored_ids(?, 500, ?, ?, ?, array[?::bigint]))[1]",
                                    lane,
                                    CREATED_AT,
                                    keys,
                                    frames,
                                    offset)
                            .getFirst();
            assertEquals(Ids.NIL, row[0], "offset " + offset);
        }
    }

    /**
     * The same bytes in the table, one message at a time, and a segment that lies about its end.
     */
    private static void assertStoredAgrees(byte[] keys, byte[] frames) throws SQLException {
        long lane = ++lanes;
        TestDatabase.rows(
                connection,
                "insert into queen_store.segments values (1, ?, 500, ?, ?, 1, ?, ?)",
                lane,
                Long.MAX_VALUE,
                CREATED_AT,
                keys,
                frames);
        int messages = keys.length / MessageKey.BYTES;
        for (int i = 0; i < messages; i++) {
            List<@Nullable Object[]> rows = messageAt(lane, BASE + i);
            assertEquals(1, rows.size());
            Read inBroker = broker(lane, keys, frames, i);
            if (inBroker != null) {
                assertSame(inBroker, read(rows.getFirst()), "stored message " + i);
            }
        }
        for (long offset : new long[] {BASE + messages, BASE + (1L << 33), Long.MAX_VALUE}) {
            for (@Nullable Object[] row : messageAt(lane, offset)) {
                assertEquals(new Read(null, null, -1, null, null, null), read(row));
            }
        }
        assertEquals(List.of(), messageAt(lane, BASE - 1));
    }

    private static List<@Nullable Object[]> messageAt(long lane, long offset) throws SQLException {
        return TestDatabase.rows(
                connection,
                "select message_id, transaction_id, flags, trace_id, producer, payload"
                        + " from queen_store.message_at(?, ?)",
                lane,
                offset);
    }

    private static Read read(@Nullable Object[] row) {
        return new Read(
                (UUID) row[0],
                (String) row[1],
                row[2] instanceof Integer flags ? flags : -1,
                (UUID) row[3],
                (String) row[4],
                (byte[]) row[5]);
    }

    private static @Nullable Read broker(long lane, byte[] keys, byte[] frames, int index) {
        return broker(lane, BASE, keys, frames, index);
    }

    private static @Nullable Read broker(
            long lane, long base, byte[] keys, byte[] frames, int index) {
        try {
            FrameReader reader =
                    new FrameReader(lane, base, CREATED_AT_MILLIS, keys, frames, index, 1);
            assertTrue(reader.next());
            return new Read(
                    reader.messageId(),
                    reader.transactionId(),
                    reader.flags(),
                    reader.traceId(),
                    reader.producer(),
                    reader.payload().copy());
        } catch (DamagedSegment e) {
            return null;
        }
    }

    private static void assertSame(@Nullable Read broker, @Nullable Read other, String what) {
        if (broker == null || other == null) {
            assertEquals(broker, other, what);
            return;
        }
        assertEquals(broker.id(), other.id(), what);
        assertEquals(broker.flags(), other.flags(), what);
        assertEquals(broker.traceId(), other.traceId(), what);
        assertArrayEquals(broker.payload(), other.payload(), what);
        assertSameText(broker.transactionId(), other.transactionId(), what);
        assertSameText(broker.producer(), other.producer(), what);
    }

    /** Java has a character for bytes that are no text; the database says null. */
    private static void assertSameText(
            @Nullable String broker, @Nullable String other, String what) {
        if (other == null && broker != null) {
            assertTrue(broker.indexOf('\ufffd') >= 0 || broker.indexOf('\0') >= 0, what);
        } else {
            assertEquals(broker, other, what);
        }
    }

    private static @Nullable String textOf(Read read) {
        if (read.payload() == null || (read.flags() & (Frame.ENCRYPTED | Frame.NOT_JSON)) != 0) {
            return null;
        }
        try {
            String text =
                    StandardCharsets.UTF_8
                            .newDecoder()
                            .decode(ByteBuffer.wrap(read.payload()))
                            .toString();
            return text.indexOf('\0') < 0 ? text : null;
        } catch (CharacterCodingException e) {
            return null;
        }
    }

    @Test
    void bothWriteTheSame() {
        Fuzz.rounds("frames written", 6, (seed, random) -> assertWrittenAlike(random));
    }

    private static void assertWrittenAlike(Random random) throws SQLException {
        int count = 1 + random.nextInt(random.nextInt(20) == 0 ? 2_200 : 12);
        int largest = random.nextInt(10) == 0 ? 2_000_000 / count : 60;
        Strange strange = new Strange(random);
        @Nullable String producer = random.nextBoolean() ? null : strange.text(300);
        @Nullable String[] transactionIds = new @Nullable String[count];
        @Nullable UUID[] traceIds = new @Nullable UUID[count];
        @Nullable UUID[] promised = new @Nullable UUID[count];
        byte[][] payloads = new byte[count][];
        for (int i = 0; i < count; i++) {
            transactionIds[i] =
                    switch (random.nextInt(6)) {
                        case 0 -> null;
                        case 1 -> new UUID(random.nextLong(), random.nextLong()).toString();
                        case 2 -> strange.text(70_000);
                        default -> strange.uuid().toString();
                    };
            if (transactionIds[i] != null
                    && transactionIds[i].getBytes(StandardCharsets.UTF_8).length
                            > Frame.TEXT_BYTES_MAX) {
                transactionIds[i] = "x".repeat(Frame.TEXT_BYTES_MAX);
            }
            traceIds[i] = random.nextBoolean() ? null : strange.uuid();
            // Without the RFC variant the id is no key of its own, so its text is hashed.
            promised[i] =
                    switch (random.nextInt(4)) {
                        case 0 -> strange.uuid();
                        case 1 -> new UUID(random.nextLong(), random.nextLong());
                        default -> null;
                    };
            payloads[i] = new byte[random.nextInt(largest + 1)];
            random.nextBytes(payloads[i]);
        }
        List<@Nullable Object[]> rows =
                TestDatabase.rows(
                        connection,
                        "select keys, frames, message_count, first_ordinal, transaction_ids,"
                                + " message_ids from queen_store.encode_frames(?, ?, ?, ?, ?)",
                        connection.createArrayOf("text", transactionIds),
                        connection.createArrayOf("bytea", payloads),
                        connection.createArrayOf("uuid", traceIds),
                        producer,
                        connection.createArrayOf("uuid", promised));
        List<Frame> frames = new ArrayList<>();
        for (@Nullable Object[] row : rows) {
            @Nullable Object[] ids = array(row[4]);
            @Nullable Object[] messageIds = array(row[5]);
            for (int i = 0; i < ids.length; i++) {
                int at = frames.size();
                frames.add(
                        Written.frame(
                                transactionIds[at],
                                String.valueOf(ids[i]),
                                promised[at],
                                (UUID) messageIds[i],
                                traceIds[at],
                                producer,
                                payloads[at]));
            }
        }
        assertEquals(count, frames.size());
        List<Segment> expected = FrameWriter.segments(frames);
        assertEquals(expected.size(), rows.size());
        int first = 1;
        for (int i = 0; i < rows.size(); i++) {
            assertEquals(expected.get(i).messageCount(), rows.get(i)[2]);
            assertEquals(first, rows.get(i)[3]);
            assertArrayEquals(expected.get(i).keys(), (byte[]) rows.get(i)[0]);
            assertArrayEquals(expected.get(i).frames(), (byte[]) rows.get(i)[1]);
            first += expected.get(i).messageCount();
        }
    }

    private static @Nullable Object[] array(@Nullable Object value) throws SQLException {
        return value instanceof Array array ? (@Nullable Object[]) array.getArray() : new Object[0];
    }
}
