package io.queenmq.push;

import io.queenmq.dedup.KeyIndex;
import io.queenmq.dedup.KeyMemory;
import io.queenmq.dedup.Range;
import io.queenmq.push.PushProcedures.KeyPage;
import io.queenmq.segment.Frame;
import io.queenmq.segment.MessageKey;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/**
 * Reads the keys of a lane back, newest first, without holding anything in the database. What is
 * read is immutable, so it both fills the memory and decides: a key found there within the window
 * is a duplicate, whatever happens meanwhile.
 */
final class KeySearch {
    private static final int SEGMENTS_OF_PAGE = 256;

    private final PushProcedures procedures;
    private final KeyMemory memory;

    KeySearch(PushProcedures procedures, KeyMemory memory) {
        this.procedures = procedures;
        this.memory = memory;
    }

    /**
     * Looks for the messages of an attempt that append found too much to look for. Those that are
     * stored get their fate; for the others the works know afterwards where they are not.
     *
     * @param stop asked between pages; true leaves everything open
     */
    void search(Attempt attempt, BooleanSupplier stop) {
        List<Frame> frames = attempt.frames();
        KeyIndex wanted = new KeyIndex(frames.size());
        for (int i = 0; i < frames.size(); i++) {
            wanted.put(0, frames.get(i).key().high(), frames.get(i).key().low(), i);
        }
        long[] originals = new long[frames.size()];
        Arrays.fill(originals, -1);
        long number = attempt.number();
        int window = attempt.windowSeconds();
        boolean noneRemembered = !memory.vouch(number, window, attempt.segments()).isNothing();
        Walk walk = new Walk(number, window, noneRemembered);
        boolean complete =
                walk.go(
                        stop,
                        page -> {
                            if (page.inWindow()) {
                                match(page, wanted, originals);
                            }
                        });
        if (complete) {
            decide(attempt, originals);
            // Read down to the head, it holds for any window: append takes -1 for that.
            Range searched =
                    walk.newest < 0
                            ? Range.NOTHING
                            : new Range(walk.low == 0 ? -1 : walk.low, walk.newest);
            attempt.works().forEach(work -> work.searched(searched));
        }
    }

    /** Fills the memory of a lane; given up as soon as there is no room for all of it. */
    void readBack(long number, int window) {
        new Walk(number, window, true).go(() -> !memory.hasRoom(), page -> {});
    }

    private static void match(KeyPage page, KeyIndex wanted, long[] originals) {
        byte[] keys = page.keys();
        for (int i = keys.length / MessageKey.BYTES - 1; i >= 0; i--) {
            MessageKey key = MessageKey.read(keys, i);
            int index = wanted.find(0, key.high(), key.low());
            if (index >= 0) {
                // Newest first, so that the lowest offset stays: that one is the original.
                originals[index] = page.baseOffset() + i;
            }
        }
    }

    private void decide(Attempt attempt, long[] originals) {
        int found = 0;
        for (long offset : originals) {
            found += offset >= 0 ? 1 : 0;
        }
        if (found == 0) {
            return;
        }
        int[] positions = new int[found];
        long[] offsets = new long[found];
        int at = 0;
        for (int i = 0; i < originals.length; i++) {
            if (originals[i] >= 0) {
                positions[at] = i;
                offsets[at++] = originals[i];
            }
        }
        UUID[] ids = procedures.messageIds(attempt.number(), offsets);
        attempt.duplicates(positions, ids);
    }

    /** One way down a lane. */
    private final class Walk {
        private final long number;
        private final int window;
        private final boolean mayJoin;
        private long newest = -1;
        private long low;

        Walk(long number, int window, boolean mayJoin) {
            this.number = number;
            this.window = window;
            this.mayJoin = mayJoin;
        }

        /** False when it was stopped on the way. */
        boolean go(BooleanSupplier stop, Consumer<KeyPage> visit) {
            int epoch = memory.epoch();
            Range known = mayJoin ? memory.known(number, window) : Range.NOTHING;
            long sinceMillis = memory.cutoffMillis(window);
            boolean remember = memory.hasRoom();
            long to = Long.MAX_VALUE - 1;
            long lowMillis = 0;
            long newestMillis = 0;
            boolean more = true;
            while (more && to >= 0) {
                if (stop.getAsBoolean()) {
                    return false;
                }
                List<KeyPage> pages =
                        procedures.readKeys(number, window, to, sinceMillis, SEGMENTS_OF_PAGE);
                more = pages.size() == SEGMENTS_OF_PAGE;
                for (KeyPage page : pages) {
                    if (newest < 0) {
                        newest = page.endOffset();
                        newestMillis = page.createdMillis();
                    }
                    if (remember) {
                        memory.read(number, window, page.createdMillis(), page.keys());
                    }
                    visit.accept(page);
                    low = page.baseOffset();
                    lowMillis = page.createdMillis();
                    to = low - 1;
                    if (known.from() < low && low <= known.to() + 1) {
                        // From here down to its beginning the memory knows them all.
                        low = known.from();
                        lowMillis = Long.MIN_VALUE;
                        to = low - 1;
                        more = true;
                        break;
                    }
                }
            }
            if (remember && newest >= 0 && epoch == memory.epoch()) {
                memory.hydrated(
                        number,
                        window,
                        new Range(low, newest),
                        low == 0 ? Long.MIN_VALUE : sinceMillis,
                        lowMillis,
                        newestMillis);
            }
            return true;
        }
    }
}
