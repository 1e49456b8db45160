package io.queenmq.segment;

import io.queenmq.model.Slice;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.UUID;

/** Messages of every shape, the same for the same seed. */
public final class RandomFrames {
    private static final String LETTERS = "abcXYZ019-_ äßñ漢字🦊\"\\";

    private final Random random;

    public RandomFrames(long seed) {
        this.random = new Random(seed);
    }

    public List<Frame> list(int count, int payloadBytesMax) {
        List<Frame> frames = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            frames.add(frame(payloadBytesMax));
        }
        return frames;
    }

    Frame frame(int payloadBytesMax) {
        byte[] payload = new byte[random.nextInt(payloadBytesMax + 1)];
        random.nextBytes(payload);
        UUID trace = random.nextBoolean() ? uuid() : null;
        Slice producer = random.nextInt(3) == 0 ? Slice.utf8(text(40)) : null;
        int content = random.nextInt(4) * Frame.ENCRYPTED;
        UUID promised = random.nextInt(3) == 0 ? uuid() : null;
        if (random.nextInt(3) == 0) {
            return new Frame(
                    MessageKey.of(uuid()),
                    null,
                    promised == null,
                    promised,
                    trace,
                    producer,
                    content,
                    Slice.of(payload));
        }
        String id = random.nextBoolean() ? uuid().toString() : text(60);
        Frame plain = Frame.of(id, trace, null, Slice.of(payload));
        return new Frame(
                plain.key(),
                plain.transactionId(),
                false,
                promised,
                trace,
                producer,
                content,
                Slice.of(payload));
    }

    /** Of version 7 and the RFC variant, as every minted one. */
    private UUID uuid() {
        return new UUID(
                (random.nextLong() & ~0xF000L) | 0x7000L,
                (random.nextLong() >>> 2) | 0x8000_0000_0000_0000L);
    }

    private String text(int lengthMax) {
        int[] letters = LETTERS.codePoints().toArray();
        StringBuilder text = new StringBuilder();
        int length = 1 + random.nextInt(lengthMax);
        for (int i = 0; i < length; i++) {
            text.appendCodePoint(letters[random.nextInt(letters.length)]);
        }
        return text.toString();
    }
}
