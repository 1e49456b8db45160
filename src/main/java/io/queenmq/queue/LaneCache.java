package io.queenmq.queue;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Lanes by name and by number, some 70 bytes each: columns and one byte array for the names instead
 * of objects, for there may be millions. Bounded by two generations: what is used moves to the
 * young one, and when that has taken half of the memory the old one is forgotten. Safe for any
 * thread.
 */
final class LaneCache {
    private static final int FORGOTTEN = -1;
    private static final int NONE = -1;

    private final long bytesOfGeneration;

    /** Guards both generations. */
    private final ReentrantLock state = new ReentrantLock();

    private Generation young = new Generation();
    private Generation old = new Generation();

    LaneCache(long bytesMax) {
        this.bytesOfGeneration = bytesMax / 2;
    }

    /** The number of a lane; 0 = not known. */
    long number(int queueId, String name) {
        byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
        state.lock();
        try {
            int at = young.find(queueId, bytes);
            if (at != NONE) {
                return young.numbers[at];
            }
            at = old.find(queueId, bytes);
            if (at == NONE) {
                return 0;
            }
            long number = old.numbers[at];
            add(queueId, bytes, number, old.lastOffsets[at]);
            return number;
        } finally {
            state.unlock();
        }
    }

    void put(int queueId, String name, long number, long lastOffset) {
        byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
        state.lock();
        try {
            int at = young.find(number);
            if (at == NONE) {
                add(queueId, bytes, number, lastOffset);
            } else {
                young.lastOffsets[at] = Math.max(young.lastOffsets[at], lastOffset);
            }
        } finally {
            state.unlock();
        }
    }

    /** The lane has reached this offset. */
    void wrote(long number, long lastOffset) {
        state.lock();
        try {
            Generation holder = young.find(number) == NONE ? old : young;
            int at = holder.find(number);
            if (at != NONE) {
                holder.lastOffsets[at] = lastOffset;
            }
        } finally {
            state.unlock();
        }
    }

    /** An offset the lane has certainly reached; -1 when none is known. */
    long lastOffset(long number) {
        state.lock();
        try {
            Generation holder = young.find(number) == NONE ? old : young;
            int at = holder.find(number);
            return at == NONE ? -1 : holder.lastOffsets[at];
        } finally {
            state.unlock();
        }
    }

    void forget(long number) {
        state.lock();
        try {
            young.forget(number);
            old.forget(number);
        } finally {
            state.unlock();
        }
    }

    void clear() {
        state.lock();
        try {
            young = new Generation();
            old = new Generation();
        } finally {
            state.unlock();
        }
    }

    /** Bytes of all arrays. */
    long bytes() {
        state.lock();
        try {
            return young.bytes() + old.bytes();
        } finally {
            state.unlock();
        }
    }

    private void add(int queueId, byte[] name, long number, long lastOffset) {
        if (young.bytesWith(name.length) > bytesOfGeneration && young.count > 0) {
            old = young;
            young = new Generation();
        }
        young.add(queueId, name, number, lastOffset);
    }

    /** Columns of lanes in the order they came, with two hash tables of row numbers beside them. */
    private static final class Generation {
        private static final int ROWS_FIRST = 64;

        private int count;
        private long[] numbers = new long[ROWS_FIRST];
        private long[] lastOffsets = new long[ROWS_FIRST];
        private int[] queueIds = new int[ROWS_FIRST];
        private int[] nameEnds = new int[ROWS_FIRST];
        private byte[] names = new byte[ROWS_FIRST * 16];

        /** Row + 1 by hash of queue and name, and by hash of number; 0 = free. */
        private int[] byName = new int[ROWS_FIRST * 2];

        private int[] byNumber = new int[ROWS_FIRST * 2];

        long bytes() {
            return numbers.length * 24L + names.length + byName.length * 8L;
        }

        long bytesWith(int nameLength) {
            long bytes = bytes();
            if (count == numbers.length) {
                bytes += numbers.length * 40L;
            }
            return nameStart(count) + nameLength > names.length ? bytes + names.length : bytes;
        }

        void add(int queueId, byte[] name, long number, long lastOffset) {
            if (count == numbers.length) {
                growRows();
            }
            int start = nameStart(count);
            if (start + name.length > names.length) {
                names = Arrays.copyOf(names, Math.max(names.length * 2, start + name.length));
            }
            System.arraycopy(name, 0, names, start, name.length);
            nameEnds[count] = start + name.length;
            numbers[count] = number;
            lastOffsets[count] = lastOffset;
            queueIds[count] = queueId;
            index(count);
            count++;
        }

        int find(int queueId, byte[] name) {
            int mask = byName.length - 1;
            int slot = hash(queueId, name, 0, name.length) & mask;
            while (byName[slot] != 0) {
                int row = byName[slot] - 1;
                if (queueIds[row] == queueId
                        && Arrays.equals(
                                names, nameStart(row), nameEnds[row], name, 0, name.length)) {
                    return row;
                }
                slot = (slot + 1) & mask;
            }
            return NONE;
        }

        int find(long number) {
            int mask = byNumber.length - 1;
            int slot = hash(number) & mask;
            while (byNumber[slot] != 0) {
                int row = byNumber[slot] - 1;
                if (numbers[row] == number && queueIds[row] != FORGOTTEN) {
                    return row;
                }
                slot = (slot + 1) & mask;
            }
            return NONE;
        }

        void forget(long number) {
            int row = find(number);
            if (row != NONE) {
                queueIds[row] = FORGOTTEN;
            }
        }

        /** Where the name of a row begins: the end of the one before. */
        private int nameStart(int row) {
            return row == 0 ? 0 : nameEnds[row - 1];
        }

        private void growRows() {
            int rows = numbers.length * 2;
            numbers = Arrays.copyOf(numbers, rows);
            lastOffsets = Arrays.copyOf(lastOffsets, rows);
            queueIds = Arrays.copyOf(queueIds, rows);
            nameEnds = Arrays.copyOf(nameEnds, rows);
            byName = new int[rows * 2];
            byNumber = new int[rows * 2];
            for (int row = 0; row < count; row++) {
                index(row);
            }
        }

        private void index(int row) {
            insert(byName, hash(queueIds[row], names, nameStart(row), nameEnds[row]), row);
            insert(byNumber, hash(numbers[row]), row);
        }

        private static void insert(int[] table, int hash, int row) {
            int mask = table.length - 1;
            int slot = hash & mask;
            while (table[slot] != 0) {
                slot = (slot + 1) & mask;
            }
            table[slot] = row + 1;
        }

        private static int hash(long number) {
            long mixed = number * 0x9E37_79B9_7F4A_7C15L;
            return (int) (mixed >>> 32);
        }

        private static int hash(int queueId, byte[] name, int from, int to) {
            int hash = queueId;
            for (int i = from; i < to; i++) {
                hash = hash * 31 + name[i];
            }
            return hash(hash);
        }
    }
}
