package io.queenmq.fuzz;

import io.queenmq.segment.MessageKey;
import io.queenmq.segment.Segment;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Random;

/** A segment and what a disk, a bug or a hand may have done to its bytes. */
final class Damage {
    private static final int[] ENTRIES = {
        0, 1, Integer.MAX_VALUE, Integer.MIN_VALUE, -1, 0x7FFF_FFF0, 0x0001_0000
    };
    private static final byte[][] NO_UTF8 = {
        {(byte) 0xFF}, {(byte) 0xC0, (byte) 0x80}, {(byte) 0xED, (byte) 0xA0, (byte) 0x80}, {0}
    };

    private final Random random;
    private final int messages;
    private byte[] keys;
    private byte[] frames;

    Damage(Segment segment, Random random) {
        this.random = random;
        this.messages = segment.messageCount();
        this.keys = segment.keys().clone();
        this.frames = segment.frames().clone();
    }

    byte[] keys() {
        return keys;
    }

    byte[] frames() {
        return frames;
    }

    /** Where message {@code index} begins, if the directory is whole. */
    int start(int index) {
        return messages * 4 + (index == 0 ? 0 : ByteBuffer.wrap(frames).getInt(index * 4 - 4));
    }

    /** Spoils one message and nothing else. */
    void withinMessage(int index) {
        int start = start(index);
        int length = start(index + 1) - start;
        for (int i = 1 + random.nextInt(4); i > 0; i--) {
            frames[start + random.nextInt(Math.min(length, 1 + random.nextInt(40)))] =
                    (byte) random.nextInt();
        }
    }

    /** Does one thing to any of the bytes. */
    void anywhere() {
        switch (random.nextInt(12)) {
            case 0 -> flip(frames, frames.length);
            case 1 -> flip(frames, messages * 4);
            case 2 -> frames = Arrays.copyOf(frames, random.nextInt(frames.length + 1));
            case 3 -> frames = Arrays.copyOf(frames, frames.length + random.nextInt(20));
            case 4 -> random.nextBytes(frames);
            case 5 -> entry(random.nextInt(messages), ENTRIES[random.nextInt(ENTRIES.length)]);
            case 6 -> entry(random.nextInt(messages), random.nextInt(frames.length + 2));
            case 7 -> entry(random.nextInt(messages), read(random.nextInt(messages)));
            case 8 -> put(messages * 4 + 1, new byte[] {(byte) 0xFF, (byte) random.nextInt()});
            case 9 -> put(random.nextInt(frames.length + 1), NO_UTF8[random.nextInt(4)]);
            case 10 -> flip(keys, keys.length);
            default -> keys = Arrays.copyOf(keys, random.nextInt(messages + 2) * MessageKey.BYTES);
        }
    }

    private void flip(byte[] bytes, int length) {
        if (Math.min(length, bytes.length) > 0) {
            bytes[random.nextInt(Math.min(length, bytes.length))] ^=
                    (byte) (1 << random.nextInt(8));
        }
    }

    private int read(int index) {
        return index * 4 + 4 <= frames.length ? ByteBuffer.wrap(frames).getInt(index * 4) : 7;
    }

    private void entry(int index, int value) {
        put(index * 4, ByteBuffer.allocate(4).putInt(value).array());
    }

    private void put(int at, byte[] bytes) {
        for (int i = 0; i < bytes.length && at + i < frames.length; i++) {
            frames[at + i] = bytes[i];
        }
    }
}
