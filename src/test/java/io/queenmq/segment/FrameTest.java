package io.queenmq.segment;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.model.Ids;
import io.queenmq.model.Slice;
import io.queenmq.testkit.Contract;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class FrameTest {
    private static final UUID ID = UUID.fromString("0199aaaa-1111-7222-8333-444444444444");
    private static final Slice PAYLOAD = Slice.utf8("{\"id\":1}");

    private static FrameReader reader(Segment segment) {
        return new FrameReader(
                42, 100, 1_000, segment.keys(), segment.frames(), 0, segment.messageCount());
    }

    @Test
    @Contract("dedup-10")
    void canonicalUuidIsItsOwnKeyAndTakesNoRoomInTheFrame() {
        Segment segment =
                FrameWriter.segments(List.of(Frame.of(ID.toString(), null, null, PAYLOAD)))
                        .getFirst();
        assertEquals(16, segment.keys().length);
        assertEquals(4 + 1 + PAYLOAD.length(), segment.frames().length);
        FrameReader reader = reader(segment);
        assertTrue(reader.next());
        assertEquals(
                new MessageKey(ID.getMostSignificantBits(), ID.getLeastSignificantBits()),
                reader.key());
        assertEquals(ID.toString(), reader.transactionId());
        assertEquals(Ids.messageId(1_000, 42, 100), reader.messageId());
        assertFalse(reader.next());
    }

    @Test
    @Contract("dedup-10")
    void textThatIsNoCanonicalUuidIsKeptAndHashed() {
        for (String text :
                List.of(
                        "ord-1",
                        ID.toString().toUpperCase(Locale.ROOT),
                        "0199aaaa-1111-7222-c333-444444444444",
                        "0199aaaa-1111-7222-8333-44444444444g",
                        "0199aaaa+1111-7222-8333-444444444444",
                        "0199aaaa11117222833344444444444444444",
                        "漢字")) {
            assertFalse(MessageKey.isCanonicalUuid(text), text);
            MessageKey key = MessageKey.of(text);
            assertFalse(key.isUuid());
            assertEquals(7, key.low() >>> 61);
            Segment segment =
                    FrameWriter.segments(List.of(Frame.of(text, null, null, PAYLOAD))).getFirst();
            FrameReader reader = reader(segment);
            assertTrue(reader.next());
            assertEquals(text, reader.transactionId());
            assertEquals(key, reader.key());
        }
        assertEquals(
                "ca978112ca1bbdcafac231b39a23dc4d",
                HexFormat.of().formatHex(MessageKey.of("a").bytes()));
    }

    @Test
    void mintedUuidIsTransactionIdKeyAndIdInOne() {
        Segment segment =
                FrameWriter.segments(List.of(Frame.minted(ID, null, null, PAYLOAD))).getFirst();
        FrameReader reader = reader(segment);
        assertTrue(reader.next());
        assertEquals(ID, reader.messageId());
        assertEquals(ID.toString(), reader.transactionId());
        assertEquals(MessageKey.of(ID), reader.key());
    }

    @Test
    void randomFramesComeBackAsTheyWere() {
        for (long seed = 1; seed <= 200; seed++) {
            List<Frame> frames = new RandomFrames(seed).list(1 + (int) (seed % 40), 300);
            int index = 0;
            for (Segment segment : FrameWriter.segments(frames)) {
                FrameReader reader = reader(segment);
                while (reader.next()) {
                    assertSame(frames.get(index++), reader, seed);
                }
            }
            assertEquals(frames.size(), index, "seed " + seed);
        }
    }

    @Test
    void readerGivesOnlyTheMessagesAskedFor() {
        List<Frame> frames = new RandomFrames(7).list(20, 50);
        Segment segment = FrameWriter.segments(frames).getFirst();
        FrameReader reader =
                new FrameReader(42, 100, 1_000, segment.keys(), segment.frames(), 5, 3);
        for (int i = 5; i < 8; i++) {
            assertTrue(reader.next());
            assertEquals(100 + i, reader.offset());
            assertSame(frames.get(i), reader, 7);
        }
        assertFalse(reader.next());
    }

    @Test
    void segmentsEndAtAThousandMessages() {
        List<Frame> frames = new ArrayList<>();
        for (int i = 0; i < 2_500; i++) {
            frames.add(Frame.of("t" + i, null, null, PAYLOAD));
        }
        assertEquals(
                List.of(1_000, 1_000, 500),
                FrameWriter.segments(frames).stream().map(Segment::messageCount).toList());
    }

    @Test
    void segmentsEndAtOneMebibyteAndALargerMessageIsAlone() {
        Slice small = Slice.of(new byte[400_000]);
        Slice large = Slice.of(new byte[2_000_000]);
        List<Segment> segments =
                FrameWriter.segments(
                        List.of(
                                Frame.minted(ID, null, null, small),
                                Frame.minted(ID, null, null, small),
                                Frame.minted(ID, null, null, small),
                                Frame.minted(ID, null, null, large),
                                Frame.minted(ID, null, null, small)));
        assertEquals(List.of(2, 1, 1, 1), segments.stream().map(Segment::messageCount).toList());
        Slice exact = Slice.of(new byte[FrameWriter.SEGMENT_BYTES_MAX / 2 - 5]);
        assertEquals(
                1,
                FrameWriter.segments(
                                List.of(
                                        Frame.minted(ID, null, null, exact),
                                        Frame.minted(ID, null, null, exact)))
                        .size());
    }

    @Test
    void contradictoryFramesAreRefused() {
        MessageKey hash = MessageKey.of("a");
        assertThrows(
                IllegalArgumentException.class,
                () -> new Frame(hash, null, false, null, null, null, 0, PAYLOAD));
        assertThrows(
                IllegalArgumentException.class,
                () -> new Frame(MessageKey.of(ID), null, true, ID, null, null, 0, PAYLOAD));
        assertThrows(
                IllegalArgumentException.class,
                () -> Frame.of("x".repeat(Frame.TEXT_BYTES_MAX + 1), null, null, PAYLOAD));
        assertThrows(
                IllegalArgumentException.class,
                () -> new Frame(MessageKey.of(ID), null, false, null, null, null, 128, PAYLOAD));
    }

    @Test
    void damagedSegmentsThrowNothingButDamagedSegment() {
        int damaged = 0;
        for (long seed = 1; seed <= 3_000; seed++) {
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
                FrameReader reader =
                        new FrameReader(1, 0, 0, keys, frames, 0, segment.messageCount());
                while (reader.next()) {
                    reader.transactionId();
                    reader.producer();
                    reader.traceId();
                    reader.messageId();
                    reader.payload();
                }
            } catch (DamagedSegment e) {
                damaged++;
            } catch (RuntimeException e) {
                throw new AssertionError("seed " + seed, e);
            }
        }
        assertNotEquals(0, damaged);
    }

    @Test
    void messagesBeyondTheSegmentAreDamage() {
        Segment segment =
                FrameWriter.segments(List.of(Frame.minted(ID, null, null, PAYLOAD))).getFirst();
        assertThrows(
                DamagedSegment.class,
                () -> new FrameReader(1, 0, 0, segment.keys(), segment.frames(), 1, 1));
        assertThrows(
                DamagedSegment.class,
                () -> new FrameReader(1, 0, 0, segment.keys(), new byte[3], 0, 1));
    }

    static void assertSame(Frame frame, FrameReader reader, long seed) {
        String what = "seed " + seed;
        assertEquals(frame.key(), reader.key(), what);
        assertEquals(frame.flags(), reader.flags(), what);
        assertEquals(frame.payload(), reader.payload(), what);
        assertEquals(frame.traceId(), reader.traceId(), what);
        assertEquals(
                frame.transactionId() == null
                        ? frame.key().uuid().toString()
                        : frame.transactionId().toString(),
                reader.transactionId(),
                what);
        assertEquals(
                frame.producer() == null ? null : frame.producer().toString(),
                reader.producer(),
                what);
        UUID id = reader.messageId();
        if (frame.promisedId() != null) {
            assertEquals(frame.promisedId(), id, what);
        } else if (frame.minted()) {
            assertEquals(frame.key().uuid(), id, what);
        } else {
            assertEquals(Ids.messageId(1_000, 42, reader.offset()), id, what);
        }
    }
}
