package io.queenmq.ready;

import java.util.Arrays;
import java.util.function.IntSupplier;

/**
 * The lanes of one (queue, group) that may have work, in flat arrays: at most 64 bytes for each,
 * nothing for the others. A lane is ready (in a first-in first-out list), taken (in a claim under
 * way) or waiting (in a heap of due times). Not thread-safe: {@link GroupLanes} guards it.
 *
 * <p>Staleness is always in excess. A lane leaves only when a claim or an ack has seen its last
 * offset and nothing newer was announced meanwhile: {@code known} is the highest offset announced,
 * and news without an offset sets {@link #MARKED} until the next claim takes the lane.
 *
 * <p>Times are milliseconds that wrap around; due times lie minutes ahead at most.
 */
final class LaneTable {
    private static final byte FREE = 0;
    private static final byte READY = 1;
    private static final byte TAKEN = 2;
    private static final byte WAITING = 3;
    private static final byte STATE = 3;

    /** Given free since it was last taken, without saying up to where there is work. */
    private static final byte MARKED = 4;

    /** Given free by its holder since it was last taken. */
    private static final byte FREED = 8;

    private static final int NONE = -1;
    private static final int CAPACITY_MIN = 8;

    private final IntSupplier clock;
    private long[] number;
    private long[] known;

    /** When a waiting lane is due, and since when any other has been ready. */
    private int[] due;

    /** Next in the ready or free list, or the position in the heap of a waiting lane. */
    private int[] link;

    private byte[] flags;
    private int[] heap;

    /** Open addressing from number to slot + 1; 0 = vacant. */
    private int[] buckets;

    private int size;
    private int ready;
    private int waiting;
    private int readyHead = NONE;
    private int readyTail = NONE;
    private int freeHead;

    LaneTable(IntSupplier clock) {
        this.clock = clock;
        allocate(CAPACITY_MIN);
    }

    int size() {
        return size;
    }

    int readyCount() {
        return ready;
    }

    /** How long the first ready lane has been; 0 = none is. */
    int waitedMillis() {
        return ready == 0 ? 0 : clock.getAsInt() - due[readyHead];
    }

    int takenCount() {
        return size - ready - waiting;
    }

    boolean hasDue() {
        return waiting > 0;
    }

    /** When the first waiting lane is due; only if {@link #hasDue()}. */
    int nextDue() {
        return due[heap[0]];
    }

    /** Highest offset announced of a lane; -1 = none, or the lane has no work. */
    long known(long lane) {
        int slot = find(lane);
        return slot == NONE ? -1 : known[slot];
    }

    /** What the arrays take. */
    long bytes() {
        return 25L * number.length + 4L * heap.length + 4L * buckets.length;
    }

    /**
     * A write of messages up to {@code offset} committed.
     *
     * @return how many messages of the lane are news, at most
     */
    long written(long lane, long offset) {
        int slot = find(lane);
        if (slot == NONE) {
            appendReady(insert(lane, offset));
            return offset + 1;
        }
        long news = Math.max(0, offset - known[slot]);
        known[slot] += news;
        return news;
    }

    /** A reseed found the lane with messages beyond its cursor, and nobody holds it. */
    void foundFree(long lane, long offset) {
        written(lane, offset);
        int slot = find(lane);
        if ((flags[slot] & STATE) == WAITING) {
            leaveHeap(slot);
            appendReady(slot);
        }
    }

    /** A reseed found the lane with messages beyond its cursor, under a lease that ends then. */
    void foundLeased(long lane, long offset, int dueAt) {
        int slot = find(lane);
        if (slot == NONE) {
            await(insert(lane, offset), dueAt);
        } else {
            known[slot] = Math.max(known[slot], offset);
        }
    }

    /**
     * The holder gave the lane free with its cursor at {@code committed} when {@code lastOffset}
     * was the newest message.
     */
    void freed(long lane, long committed, long lastOffset) {
        int slot = find(lane);
        if (slot == NONE) {
            if (lastOffset > committed) {
                appendReady(insert(lane, lastOffset));
            }
            return;
        }
        known[slot] = Math.max(known[slot], lastOffset);
        switch (flags[slot] & STATE) {
            case WAITING -> {
                leaveHeap(slot);
                settle(slot, committed);
            }
            case TAKEN -> flags[slot] |= FREED;
            default -> {}
        }
    }

    /** The holder gave the lane free, how far is not known. */
    void freed(long lane) {
        int slot = find(lane);
        if (slot == NONE) {
            appendReady(insert(lane, -1));
            return;
        }
        switch (flags[slot] & STATE) {
            case WAITING -> {
                leaveHeap(slot);
                appendReady(slot);
            }
            case TAKEN -> flags[slot] |= FREED | MARKED;
            default -> {}
        }
    }

    /** Makes every lane whose time has come ready. */
    void releaseDue(int now) {
        while (waiting > 0 && due[heap[0]] - now <= 0) {
            int slot = heap[0];
            leaveHeap(slot);
            appendReady(slot);
        }
    }

    /** Makes every waiting lane ready: what it waits for may have changed. */
    void releaseAll() {
        while (waiting > 0) {
            int slot = heap[waiting - 1];
            leaveHeap(slot);
            appendReady(slot);
        }
    }

    /** The lanes that have been ready longest. */
    long[] peek(int max) {
        long[] lanes = new long[Math.min(max, ready)];
        int slot = readyHead;
        for (int i = 0; i < lanes.length; i++) {
            lanes[i] = number[slot];
            slot = link[slot];
        }
        return lanes;
    }

    /** Takes the lane that has been ready longest; only if {@link #readyCount()} is positive. */
    long take() {
        int slot = readyHead;
        readyHead = link[slot];
        if (readyHead == NONE) {
            readyTail = NONE;
        }
        ready--;
        flags[slot] = TAKEN;
        return number[slot];
    }

    /** A claim found nothing for its group up to {@code lastOffset}, or served all up to there. */
    void drainedTo(long lane, long lastOffset) {
        int slot = findTaken(lane);
        if (slot != NONE) {
            settle(slot, lastOffset);
        }
    }

    /** A claim served messages up to {@code end} and left no lease behind. */
    void served(long lane, long end, long lastOffset) {
        int slot = findTaken(lane);
        if (slot != NONE) {
            known[slot] = Math.max(known[slot], lastOffset);
            settle(slot, end);
        }
    }

    /** A claim leased the lane, or found it not to be had before {@code dueAt}. */
    void revisit(long lane, long lastOffset, int dueAt) {
        int slot = findTaken(lane);
        if (slot == NONE) {
            return;
        }
        known[slot] = Math.max(known[slot], lastOffset);
        if ((flags[slot] & FREED) != 0) {
            appendReady(slot);
        } else {
            await(slot, dueAt);
        }
    }

    /** A claim did not come to the lane: it keeps its place at the head. */
    void untouched(long lane) {
        int slot = findTaken(lane);
        if (slot == NONE) {
            return;
        }
        flags[slot] = (byte) ((flags[slot] & ~STATE) | READY);
        link[slot] = readyHead;
        readyHead = slot;
        if (readyTail == NONE) {
            readyTail = slot;
        }
        ready++;
    }

    /** The lane is gone. */
    void forget(long lane) {
        int slot = findTaken(lane);
        if (slot != NONE) {
            remove(slot);
        }
    }

    private void settle(int slot, long upTo) {
        if ((flags[slot] & (MARKED | FREED)) != 0 || known[slot] > upTo) {
            appendReady(slot);
        } else {
            remove(slot);
        }
    }

    private int findTaken(long lane) {
        int slot = find(lane);
        return slot != NONE && (flags[slot] & STATE) == TAKEN ? slot : NONE;
    }

    private void appendReady(int slot) {
        due[slot] = clock.getAsInt();
        append(slot);
    }

    private void append(int slot) {
        flags[slot] = (byte) ((flags[slot] & ~STATE) | READY);
        link[slot] = NONE;
        if (readyTail == NONE) {
            readyHead = slot;
        } else {
            link[readyTail] = slot;
        }
        readyTail = slot;
        ready++;
    }

    private void await(int slot, int dueAt) {
        flags[slot] = (byte) ((flags[slot] & ~STATE) | WAITING);
        due[slot] = dueAt;
        if (waiting == heap.length) {
            heap = Arrays.copyOf(heap, Math.min(number.length, waiting + waiting / 2 + 8));
        }
        siftUp(waiting++, slot);
    }

    private void leaveHeap(int slot) {
        int position = link[slot];
        int last = heap[--waiting];
        if (last != slot) {
            if (position > 0 && due[last] - due[heap[(position - 1) >>> 1]] < 0) {
                siftUp(position, last);
            } else {
                siftDown(position, last);
            }
        }
    }

    private void siftUp(int from, int slot) {
        int position = from;
        while (position > 0) {
            int parent = (position - 1) >>> 1;
            if (due[slot] - due[heap[parent]] >= 0) {
                break;
            }
            place(position, heap[parent]);
            position = parent;
        }
        place(position, slot);
    }

    private void siftDown(int from, int slot) {
        int position = from;
        while (true) {
            int child = 2 * position + 1;
            if (child >= waiting) {
                break;
            }
            if (child + 1 < waiting && due[heap[child + 1]] - due[heap[child]] < 0) {
                child++;
            }
            if (due[heap[child]] - due[slot] >= 0) {
                break;
            }
            place(position, heap[child]);
            position = child;
        }
        place(position, slot);
    }

    private void place(int position, int slot) {
        heap[position] = slot;
        link[slot] = position;
    }

    private int home(long lane) {
        long hash = lane * 0x9E3779B97F4A7C15L;
        return (int) (((hash >>> 32) * buckets.length) >>> 32);
    }

    private int find(long lane) {
        for (int at = home(lane); ; at = at + 1 == buckets.length ? 0 : at + 1) {
            int slot = buckets[at] - 1;
            if (slot == NONE || number[slot] == lane) {
                return slot;
            }
        }
    }

    private int insert(long lane, long offset) {
        if (freeHead == NONE) {
            resize(number.length + number.length / 4 + CAPACITY_MIN);
        }
        int slot = freeHead;
        freeHead = link[slot];
        number[slot] = lane;
        known[slot] = offset;
        flags[slot] = TAKEN;
        size++;
        bind(slot);
        return slot;
    }

    private void bind(int slot) {
        int at = home(number[slot]);
        while (buckets[at] != 0) {
            at = at + 1 == buckets.length ? 0 : at + 1;
        }
        buckets[at] = slot + 1;
    }

    /** Removes a lane that is in neither list nor heap. */
    private void remove(int slot) {
        unbind(number[slot]);
        flags[slot] = FREE;
        link[slot] = freeHead;
        freeHead = slot;
        size--;
        // Grown to 80 % full, shrunk below 60 %: so no lane ever costs more than 60 bytes.
        if (number.length > 64 && size < number.length / 5 * 3) {
            resize(number.length / 4 * 3);
        }
    }

    private void unbind(long lane) {
        int length = buckets.length;
        int hole = home(lane);
        while (number[buckets[hole] - 1] != lane) {
            hole = hole + 1 == length ? 0 : hole + 1;
        }
        // Entries behind the hole move up if their home lies at or before it, so that a search
        // never stops short of them.
        int at = hole;
        while (true) {
            at = at + 1 == length ? 0 : at + 1;
            int bucket = buckets[at];
            if (bucket == 0) {
                buckets[hole] = 0;
                return;
            }
            int home = home(number[bucket - 1]);
            if (Math.floorMod(at - home, length) >= Math.floorMod(at - hole, length)) {
                buckets[hole] = bucket;
                hole = at;
            }
        }
    }

    /** Moves everything to arrays of another length; slots get new numbers. */
    private void resize(int capacity) {
        long[] oldNumber = number;
        long[] oldKnown = known;
        int[] oldDue = due;
        int[] oldLink = link;
        byte[] oldFlags = flags;
        int[] oldHeap = heap;
        int slot = readyHead;
        int oldWaiting = waiting;
        allocate(capacity);
        while (slot != NONE) {
            append(move(oldNumber[slot], oldKnown[slot], oldDue[slot], oldFlags[slot]));
            slot = oldLink[slot];
        }
        for (int i = 0; i < oldWaiting; i++) {
            int from = oldHeap[i];
            await(
                    move(oldNumber[from], oldKnown[from], oldDue[from], oldFlags[from]),
                    oldDue[from]);
        }
        for (int from = 0; from < oldNumber.length; from++) {
            if ((oldFlags[from] & STATE) == TAKEN) {
                move(oldNumber[from], oldKnown[from], oldDue[from], oldFlags[from]);
            }
        }
    }

    private int move(long lane, long offset, int oldDue, byte oldFlags) {
        int slot = insert(lane, offset);
        due[slot] = oldDue;
        flags[slot] = oldFlags;
        return slot;
    }

    private void allocate(int capacity) {
        number = new long[capacity];
        known = new long[capacity];
        due = new int[capacity];
        link = new int[capacity];
        flags = new byte[capacity];
        heap = new int[Math.min(capacity, 8)];
        buckets = new int[capacity + capacity / 2];
        for (int i = 0; i < capacity; i++) {
            link[i] = i + 1 < capacity ? i + 1 : NONE;
        }
        freeHead = 0;
        readyHead = NONE;
        readyTail = NONE;
        size = 0;
        ready = 0;
        waiting = 0;
    }
}
