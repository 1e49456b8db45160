package io.queenmq.push;

import io.queenmq.cipher.PayloadCipher;
import io.queenmq.combine.Work;
import io.queenmq.dedup.Range;
import io.queenmq.model.Ids;
import io.queenmq.model.QueenException;
import io.queenmq.queue.LaneName;
import io.queenmq.segment.Frame;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The messages of one request for one lane: stored together or not at all.
 *
 * <p>Who may end it is decided by its state alone. A flusher takes it from WAITING to SENT, and
 * only from WAITING can its caller give up: so "given up" means that certainly nothing was stored.
 */
final class LaneBatch implements Work<LaneName> {
    /** What became of a message. */
    enum Fate {
        OPEN,
        QUEUED,
        DUPLICATE
    }

    /** What keeps it from being stored: what its caller is told at the deadline. */
    enum Delay {
        TURN("earlier pushes are still being served"),
        HELD("the partition is held by somebody else"),
        SEARCH("the recent keys of the partition are still being read"),
        LANE("the partition is being created by somebody else");

        final String sentence;

        Delay(String sentence) {
            this.sentence = sentence;
        }
    }

    private enum State {
        WAITING,
        SENT,
        ANSWERED,
        GIVEN_UP
    }

    private static final int OVERHEAD_BYTES = 64;

    private final LaneName lane;
    private volatile List<Frame> frames;
    private volatile int bytes;
    private final Fate[] fates;
    private final UUID[] ids;
    private final CountDownLatch answered;
    private final long deadlineNanos;
    private final AtomicReference<State> state = new AtomicReference<>(State.WAITING);
    private int open;

    /** Number of the lane; another one once the lane turned out to be gone. */
    private volatile long number;

    private volatile int windowSeconds;

    /** {@link io.queenmq.dedup.KeyMemory#epoch} of the server that the number is of. */
    private volatile int epoch;

    private volatile Delay delay = Delay.TURN;

    /** Offsets at which the database was searched for these keys without holding the lane. */
    private volatile Range searched = Range.NOTHING;

    private volatile @Nullable QueenException refusal;

    /** Why the caller would give up; null before its deadline. */
    private volatile @Nullable QueenException late;

    LaneBatch(LaneName lane, List<Frame> frames, CountDownLatch answered, long deadlineNanos) {
        this.lane = lane;
        this.frames = frames;
        this.answered = answered;
        this.deadlineNanos = deadlineNanos;
        this.open = frames.size();
        this.fates = new Fate[frames.size()];
        this.ids = new UUID[frames.size()];
        for (int i = 0; i < frames.size(); i++) {
            fates[i] = Fate.OPEN;
            ids[i] = Ids.NIL;
        }
        this.bytes = bytesOf(frames);
    }

    private static int bytesOf(List<Frame> frames) {
        long sum = 0;
        for (Frame frame : frames) {
            sum += frame.payload().length() + OVERHEAD_BYTES;
        }
        return (int) Math.min(sum, Integer.MAX_VALUE);
    }

    /** Encrypts what is not; before a call carries it, as it would else be stored in the clear. */
    void seal(PayloadCipher cipher) {
        List<Frame> sealed = frames.stream().map(cipher::seal).toList();
        frames = sealed;
        bytes = bytesOf(sealed);
    }

    @Override
    public LaneName key() {
        return lane;
    }

    @Override
    public Object tenant() {
        return lane.tenant();
    }

    @Override
    public Object queue() {
        return lane.queue();
    }

    @Override
    public int items() {
        return frames.size();
    }

    @Override
    public int bytes() {
        return bytes;
    }

    List<Frame> frames() {
        return frames;
    }

    long deadlineNanos() {
        return deadlineNanos;
    }

    long number() {
        return number;
    }

    int windowSeconds() {
        return windowSeconds;
    }

    /** The epoch of the server that the number is of. */
    int epoch() {
        return epoch;
    }

    /**
     * @param ofEpoch read before the number was looked up
     */
    void resolve(int ofEpoch, long laneNumber, int dedupWindowSeconds) {
        epoch = ofEpoch;
        number = laneNumber;
        windowSeconds = dedupWindowSeconds;
        searched = Range.NOTHING;
    }

    Range searched() {
        return searched;
    }

    void searched(Range range) {
        searched = range;
    }

    /** Whether the message has no fate yet; asked and decided by whoever holds the lane. */
    boolean isOpen(int index) {
        return fates[index] == Fate.OPEN;
    }

    int open() {
        return open;
    }

    void decide(int index, Fate fate, UUID id) {
        if (fates[index] == Fate.OPEN) {
            fates[index] = fate;
            ids[index] = id;
            open--;
        }
    }

    /** A call is about to carry it, perhaps not the first; false = it is answered or given up. */
    boolean send() {
        return state.compareAndSet(State.WAITING, State.SENT) || state.get() == State.SENT;
    }

    /** The call certainly stored nothing of it, for this reason. */
    void unsend(Delay reason) {
        delay = reason;
        unsend();
    }

    /** The call certainly stored nothing of it. */
    void unsend() {
        if (state.compareAndSet(State.SENT, State.WAITING)) {
            giveUpIfLate();
        }
    }

    /** Every message has its fate. */
    void answer() {
        if (end()) {
            answered.countDown();
        }
    }

    /** Nothing more will be done for what is still open; without effect on what is answered. */
    void refuse(QueenException why) {
        if (end()) {
            refusal = why;
            answered.countDown();
        }
    }

    private boolean end() {
        return state.compareAndSet(State.SENT, State.ANSWERED)
                || state.compareAndSet(State.WAITING, State.ANSWERED);
    }

    /** The caller's deadline has come: given up now, or as soon as no call carries it. */
    void expire(QueenException why) {
        late = why;
        giveUpIfLate();
    }

    private void giveUpIfLate() {
        QueenException why = late;
        if (why != null && state.compareAndSet(State.WAITING, State.GIVEN_UP)) {
            refusal = why;
            answered.countDown();
        }
    }

    /** What kept it from being stored so far. */
    Delay delay() {
        return delay;
    }

    boolean isGivenUp() {
        return state.get() == State.GIVEN_UP;
    }

    boolean isAnswered() {
        State now = state.get();
        return now == State.ANSWERED || now == State.GIVEN_UP;
    }

    /** Why it was not stored; null = every message has its fate. Read once it is answered. */
    @Nullable QueenException refusal() {
        return refusal;
    }

    Fate fate(int index) {
        return fates[index];
    }

    UUID id(int index) {
        return ids[index];
    }
}
