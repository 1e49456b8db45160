package io.queenmq.push;

import io.queenmq.combine.Bundle;
import io.queenmq.dedup.KeyIndex;
import io.queenmq.dedup.KeyMemory;
import io.queenmq.dedup.Range;
import io.queenmq.model.Ids;
import io.queenmq.queue.LaneName;
import io.queenmq.segment.Frame;
import io.queenmq.segment.FrameWriter;
import io.queenmq.segment.MessageKey;
import io.queenmq.segment.Segment;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * One lane-batch on its way to the database: the messages of one or more requests for a lane, under
 * one flush id. When the answer is lost it is repeated exactly as it is.
 */
final class Attempt {
    /** No message of the lane has such a key, whatever its window is. */
    private static final Range NOWHERE = new Range(-1, Long.MAX_VALUE);

    /** Null for a lane-batch of a transaction, which no flusher serves. */
    private final @Nullable Bundle<LaneName, LaneBatch> bundle;

    private final List<LaneBatch> works;
    private final List<Frame> frames;

    /** Of each frame, which work it is of and where in that. */
    private final int[] work;

    private final int[] place;

    /** Messages whose key another request brings in this very batch, three numbers each. */
    private final int[] followers;

    private final List<Segment> segments;
    private final long flushId;
    private final long settleAbove;

    /** Whether every key is one that this broker has just made up. */
    private final boolean minted;

    private int memoryEpoch;
    private Range vouched = Range.NOTHING;

    private Attempt(
            @Nullable Bundle<LaneName, LaneBatch> bundle,
            Builder builder,
            LongUnaryOperator lastOffsets) {
        this.bundle = bundle;
        this.works = builder.works;
        this.frames = builder.frames;
        this.work = builder.work;
        this.place = builder.place;
        this.followers = builder.followers.stream().mapToInt(Integer::intValue).toArray();
        this.segments = FrameWriter.segments(frames);
        this.minted = frames.stream().allMatch(Frame::minted);
        this.flushId = ThreadLocalRandom.current().nextLong();
        this.settleAbove = lastOffsets.applyAsLong(number());
    }

    /**
     * What of the bundle goes into one call: its works up to the first that names another lane
     * number, was searched for otherwise, or without a window brings a key again. Works whose
     * callers have left drop out.
     *
     * @param lastOffsets an offset that the lane of a number has certainly reached
     * @return null when nobody is left
     */
    static @Nullable Attempt of(Bundle<LaneName, LaneBatch> bundle, LongUnaryOperator lastOffsets) {
        Builder builder = new Builder(bundle.works());
        return builder.works.isEmpty() ? null : new Attempt(bundle, builder, lastOffsets);
    }

    /** A lane-batch that goes into a call of its own, and is never answered by a flusher. */
    static Attempt of(LaneBatch work, LongUnaryOperator lastOffsets) {
        return new Attempt(null, new Builder(new ArrayList<>(List.of(work))), lastOffsets);
    }

    Bundle<LaneName, LaneBatch> bundle() {
        return Objects.requireNonNull(bundle, "a lane-batch of a transaction has no bundle");
    }

    LaneName lane() {
        return works.getFirst().key();
    }

    List<LaneBatch> works() {
        return works;
    }

    List<Frame> frames() {
        return frames;
    }

    List<Segment> segments() {
        return segments;
    }

    /** Of keys and frames, as the segments hold them. */
    long bytes() {
        long bytes = 0;
        for (int i = 0; i < segments.size(); i++) {
            bytes += segments.get(i).keys().length + segments.get(i).frames().length;
        }
        return bytes;
    }

    long number() {
        return works.getFirst().number();
    }

    int windowSeconds() {
        return works.getFirst().windowSeconds();
    }

    long flushId() {
        return flushId;
    }

    /** Where append begins to look for the flush id: the batch can only be stored above it. */
    long settleAbove() {
        return settleAbove;
    }

    Range vouched() {
        return vouched;
    }

    /** The epoch of the memory that vouched. */
    int epoch() {
        return memoryEpoch;
    }

    /** Whether its lane number is of a server that is not there any more. */
    boolean isOutdated() {
        return works.getFirst().epoch() != memoryEpoch;
    }

    /** Asks the memory what it can say about these keys, once the server is known. */
    void vouch(KeyMemory memory) {
        memoryEpoch = memory.epoch();
        Range searched = works.getFirst().searched();
        if (!searched.isNothing()) {
            vouched = searched;
        } else if (minted) {
            vouched = NOWHERE;
        } else {
            vouched = memory.vouch(number(), windowSeconds(), segments);
        }
    }

    /** Every message is stored, the first at this offset. */
    void queued(long baseOffset, long createdMillis) {
        UUID[] ids = new UUID[frames.size()];
        for (int i = 0; i < ids.length; i++) {
            Frame frame = frames.get(i);
            ids[i] =
                    frame.minted()
                            ? frame.key().uuid()
                            : Ids.messageId(createdMillis, number(), baseOffset + i);
            works.get(work[i]).decide(place[i], LaneBatch.Fate.QUEUED, ids[i]);
        }
        for (int f = 0; f < followers.length; f += 3) {
            decideFollower(f, ids[followers[f + 2]]);
        }
    }

    /** These messages are in the lane already. */
    void duplicates(int[] positions, UUID[] originalIds) {
        for (int i = 0; i < positions.length; i++) {
            int at = positions[i];
            works.get(work[at]).decide(place[at], LaneBatch.Fate.DUPLICATE, originalIds[i]);
            for (int f = 0; f < followers.length; f += 3) {
                if (followers[f + 2] == at) {
                    decideFollower(f, originalIds[i]);
                }
            }
        }
    }

    private void decideFollower(int f, UUID id) {
        works.get(followers[f]).decide(followers[f + 1], LaneBatch.Fate.DUPLICATE, id);
    }

    /** Nothing of it was stored: its callers may give up again. */
    void unsend() {
        works.forEach(LaneBatch::unsend);
    }

    /** The same, for a reason that its callers should know. */
    void unsend(LaneBatch.Delay reason) {
        works.forEach(work -> work.unsend(reason));
    }

    /** The dedup window turned out to be another one. */
    void renewWindow(int windowSeconds) {
        works.forEach(work -> work.resolve(work.epoch(), work.number(), windowSeconds));
    }

    /** Answers the works whose messages all have their fate, and takes them out of the bundle. */
    void answerDecided() {
        for (LaneBatch decided : works) {
            if (decided.open() == 0) {
                decided.answer();
            } else {
                decided.unsend();
            }
        }
        bundle().works().removeIf(LaneBatch::isAnswered);
    }

    /** Collects works and frames. */
    private static final class Builder {
        private final List<LaneBatch> waiting;
        private final List<LaneBatch> works = new ArrayList<>(1);
        private final List<Integer> followers = new ArrayList<>(0);

        /** Keys of the works so far, where the lane has no window. */
        private @Nullable KeyIndex unwindowed;

        private List<Frame> frames = List.of();
        private int[] work = new int[0];
        private int[] place = new int[0];

        Builder(List<LaneBatch> waiting) {
            this.waiting = waiting;
            int room = takeWorks();
            if (room > 0) {
                takeFrames(room);
            }
        }

        /** Returns how many messages have no fate yet. */
        private int takeWorks() {
            int room = 0;
            int i = 0;
            while (i < waiting.size()) {
                LaneBatch next = waiting.get(i);
                if (!works.isEmpty()
                        && (!goesWith(works.getFirst(), next) || bringsKeyAgain(next))) {
                    return room;
                }
                if (next.send()) {
                    works.add(next);
                    room += next.open();
                    i++;
                } else {
                    waiting.remove(i);
                }
            }
            return room;
        }

        // Without a window both messages are stored. That the window is still closed only append
        // knows, and it looks into the log, not into what it is given: one of them at a time.
        private boolean bringsKeyAgain(LaneBatch next) {
            if (works.getFirst().windowSeconds() > 0) {
                return false;
            }
            KeyIndex seen = unwindowed;
            if (seen == null) {
                int keys = waiting.stream().mapToInt(LaneBatch::items).sum();
                seen = new KeyIndex(keys);
                putAll(works.getFirst(), seen);
                unwindowed = seen;
            }
            return !putAll(next, seen);
        }

        /** False when one of its keys was there. */
        private static boolean putAll(LaneBatch batch, KeyIndex seen) {
            boolean fresh = true;
            for (int i = 0; i < batch.items(); i++) {
                if (batch.isOpen(i)) {
                    MessageKey key = batch.frames().get(i).key();
                    fresh &= seen.put(0, key.high(), key.low(), i) < 0;
                }
            }
            return fresh;
        }

        private static boolean goesWith(LaneBatch first, LaneBatch next) {
            return next.number() == first.number()
                    && next.epoch() == first.epoch()
                    && next.windowSeconds() == first.windowSeconds()
                    && next.searched().equals(first.searched());
        }

        private void takeFrames(int room) {
            frames = new ArrayList<>(room);
            work = new int[room];
            place = new int[room];
            boolean mayFollow = works.size() > 1 && works.getFirst().windowSeconds() > 0;
            KeyIndex seen = mayFollow ? new KeyIndex(room) : null;
            for (int w = 0; w < works.size(); w++) {
                LaneBatch batch = works.get(w);
                for (int i = 0; i < batch.items(); i++) {
                    if (!batch.isOpen(i)) {
                        continue;
                    }
                    Frame frame = batch.frames().get(i);
                    int leader =
                            seen == null
                                    ? -1
                                    : seen.put(
                                            0,
                                            frame.key().high(),
                                            frame.key().low(),
                                            frames.size());
                    if (leader >= 0) {
                        followers.add(w);
                        followers.add(i);
                        followers.add(leader);
                    } else {
                        work[frames.size()] = w;
                        place[frames.size()] = i;
                        frames.add(frame);
                    }
                }
            }
        }
    }
}
