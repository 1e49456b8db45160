package io.queenmq.dedup;

import io.queenmq.runtime.Clock;
import io.queenmq.segment.Segment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.security.SecureRandom;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The memory of recent keys. It answers one question: at which offsets of a lane does none of these
 * keys occur, as far as that matters within the dedup window? There the database need not look.
 *
 * <p>It may forget, never invent: a key it has seen is found until it is forgotten, and what is
 * forgotten is not vouched for. The reverse does not hold: keys stand as fingerprints under a
 * secret of this process, so in one of some 10^7 questions a key seems known that is not, which
 * costs one look in the database. The database alone decides what a duplicate is.
 *
 * <p>Some 6 bytes per key where there are many, bounded by {@link DedupConfig}. Lanes with windows
 * of about one length share buckets of an eighth of it, so forgetting costs the same for a million
 * idle lanes as for one. Safe for any thread. Commits of one lane may be told in any order, for a
 * transaction writes beside the pushes: what comes before its turn is remembered and not vouched
 * for.
 */
public final class KeyMemory {
    private static final int SECTIONS_OF_POOL = 64;
    private static final int BUCKETS_OF_WINDOW = 8;
    private static final long BUCKET_BYTES_MAX = 8L << 20;
    private static final long OPEN_BYTES_MAX = 4L << 20;

    /** The clocks of server and broker are compared by what commits say, which takes a moment. */
    private static final long SLACK_MILLIS = 5_000;

    private static final long EXPIRE_INTERVAL_MILLIS = 5_000;

    /** A lane that was looked up in the database so often is worth reading back. */
    private static final int UNCOVERED_MAX = 8;

    /** How many pushes a lane waits for the next reading back. */
    private static final int UNCOVERED_PAUSE = 200;

    private static final VarHandle LONGS =
            MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

    /** All lanes whose window is at most this many seconds, and more than half of it. */
    private record Pool(Section[] sections) {}

    private final long bytesMax;
    private final Clock clock;
    private final long secret;
    private final long secondSecret;
    private final ConcurrentHashMap<Integer, Pool> pools = new ConcurrentHashMap<>();
    private final AtomicLong expiredMillis = new AtomicLong(Long.MIN_VALUE);
    private final AtomicLong evictions = new AtomicLong();

    /** Guards the identity of the server. */
    private final ReentrantLock identityLock = new ReentrantLock();

    private @Nullable String identity;

    /** Raised when the memory is cleared because the server is another one. */
    private final AtomicInteger epoch = new AtomicInteger();

    /** Time of the server less {@link Clock#nanos} in milliseconds, as the last commit showed. */
    private volatile long serverAhead = Long.MAX_VALUE;

    public KeyMemory(DedupConfig config, Clock clock) {
        this.bytesMax = config.bytesMax();
        this.clock = clock;
        SecureRandom random = new SecureRandom();
        this.secret = random.nextLong();
        this.secondSecret = random.nextLong();
    }

    /**
     * Which server is asked, and what time it has. Another one, or the same after a fail-over or a
     * restore, may lack what was committed: all that is remembered goes.
     *
     * @param serverIdentity names the server and its timeline
     * @param changed run when it is another one, before the epoch is raised, so that nothing of the
     *     old server passes for new; must not call the database
     */
    public void serverIs(String serverIdentity, long serverMillis, Runnable changed) {
        identityLock.lock();
        try {
            if (identity != null && !identity.equals(serverIdentity)) {
                changed.run();
                epoch.incrementAndGet();
                pools.clear();
            }
            identity = serverIdentity;
            tellTime(serverMillis);
        } finally {
            identityLock.unlock();
        }
    }

    /** Which server this memory is of: to be handed back with what that server answers. */
    public int epoch() {
        return epoch.get();
    }

    /** The offsets of the lane at which none of these keys occurs within the window. */
    public Range vouch(long lane, int windowSeconds, List<Segment> batch) {
        if (bytesMax == 0 || windowSeconds == 0) {
            return Range.NOTHING;
        }
        long[] fingerprints = fingerprints(lane, batch);
        return section(lane, windowSeconds)
                .vouch(lane, fingerprints, fingerprints.length, cutoffMillis(windowSeconds));
    }

    /** The offsets of the lane whose keys are all remembered. */
    public Range known(long lane, int windowSeconds) {
        return bytesMax == 0 || windowSeconds == 0
                ? Range.NOTHING
                : section(lane, windowSeconds).known(lane, cutoffMillis(windowSeconds));
    }

    /**
     * The batch was committed at this offset.
     *
     * @param ofEpoch {@link #epoch} before the call that committed it
     */
    public void stored(
            int ofEpoch,
            long lane,
            int windowSeconds,
            long base,
            long createdMillis,
            List<Segment> batch) {
        if (bytesMax == 0 || windowSeconds == 0 || ofEpoch != epoch.get()) {
            return;
        }
        tellTime(createdMillis);
        long[] fingerprints = fingerprints(lane, batch);
        section(lane, windowSeconds)
                .stored(lane, base, createdMillis, fingerprints, fingerprints.length);
        makeRoom();
    }

    /** The lane has just been made and holds nothing. */
    public void created(long lane, int windowSeconds) {
        if (bytesMax > 0 && windowSeconds > 0) {
            section(lane, windowSeconds).created(lane, nowMillis());
            makeRoom();
        }
    }

    /** Whether to read back keys at all: not when they would only drive out others. */
    public boolean hasRoom() {
        return bytes() < bytesMax / 10 * 9;
    }

    /** Keys of one stored segment, read back. */
    public void read(long lane, int windowSeconds, long createdMillis, byte[] keys) {
        if (bytesMax == 0 || windowSeconds == 0) {
            return;
        }
        long[] fingerprints = new long[keys.length / 16];
        fingerprints(lane, keys, fingerprints, 0);
        section(lane, windowSeconds).read(createdMillis, fingerprints, fingerprints.length);
        makeRoom();
    }

    /**
     * Every key of the range has been read back.
     *
     * @param belowMillis what lies below the range was created then or earlier
     * @param lowMillis time of the first message of the range
     * @param lastMillis time of its last message
     */
    public void hydrated(
            long lane,
            int windowSeconds,
            Range range,
            long belowMillis,
            long lowMillis,
            long lastMillis) {
        if (bytesMax > 0 && windowSeconds > 0) {
            section(lane, windowSeconds).hydrated(lane, range, belowMillis, lowMillis, lastMillis);
        }
    }

    /** True now and then for a lane that the database keeps being asked about. */
    public boolean wantsHydration(long lane, int windowSeconds) {
        return bytesMax > 0
                && windowSeconds > 0
                && section(lane, windowSeconds).wantsHydration(lane, UNCOVERED_MAX, UNCOVERED_PAUSE)
                && hasRoom();
    }

    /** What was created before that is out of the window, whichever clock is right. */
    public long cutoffMillis(int windowSeconds) {
        return nowMillis() - windowSeconds * 1_000L - SLACK_MILLIS;
    }

    /** Memory in use. */
    public long bytes() {
        long bytes = 0;
        for (Pool pool : pools.values()) {
            for (Section section : pool.sections()) {
                bytes += section.bytes();
            }
        }
        return bytes;
    }

    /** Buckets that had to go although their keys still counted. */
    public long evictions() {
        return evictions.get();
    }

    /** Forgets what no window reaches any more; cheap, and called as keys come. */
    void expire() {
        pools.forEach(
                (windowSeconds, pool) -> {
                    long cutoff = cutoffMillis(windowSeconds);
                    for (Section section : pool.sections()) {
                        section.expire(cutoff);
                    }
                });
    }

    private void makeRoom() {
        long now = nowMillis();
        long last = expiredMillis.get();
        if (now - EXPIRE_INTERVAL_MILLIS >= last && expiredMillis.compareAndSet(last, now)) {
            expire();
        }
        while (bytes() > bytesMax) {
            Section fattest = null;
            for (Pool pool : pools.values()) {
                for (Section section : pool.sections()) {
                    if (fattest == null || section.bytes() > fattest.bytes()) {
                        fattest = section;
                    }
                }
            }
            if (fattest == null) {
                return;
            }
            long before = fattest.bytes();
            fattest.evict();
            evictions.incrementAndGet();
            if (fattest.bytes() >= before) {
                return;
            }
        }
    }

    private Section section(long lane, int windowSeconds) {
        // Rounded up to a power of two: a change of the window within it changes nothing here.
        int roundedUp = Math.max(1, Integer.highestOneBit(Math.max(1, windowSeconds - 1))) * 2;
        int bound = roundedUp <= 0 ? Integer.MAX_VALUE : roundedUp;
        Section[] sections = pools.computeIfAbsent(bound, this::pool).sections();
        return sections[(int) ((lane * 0x9E37_79B9_7F4A_7C15L) >>> 58)];
    }

    private Pool pool(int windowSeconds) {
        Section[] sections = new Section[SECTIONS_OF_POOL];
        long spanMillis = Math.max(1_000, windowSeconds * 1_000L / BUCKETS_OF_WINDOW);
        long bucketBytesMax = Math.clamp(bytesMax / 64, 4_096, BUCKET_BYTES_MAX);
        long openBytesMax = Math.clamp(bytesMax / 128, 4_096, OPEN_BYTES_MAX);
        for (int i = 0; i < sections.length; i++) {
            sections[i] = new Section(spanMillis, bucketBytesMax, openBytesMax);
        }
        return new Pool(sections);
    }

    private void tellTime(long serverMillis) {
        serverAhead = serverMillis - clock.nanos() / 1_000_000;
    }

    /** Never later than the server's clock unless both clocks are wrong by the same amount. */
    private long nowMillis() {
        long own = clock.now().toEpochMilli();
        long ahead = serverAhead;
        return ahead == Long.MAX_VALUE ? own : Math.min(own, ahead + clock.nanos() / 1_000_000);
    }

    private long[] fingerprints(long lane, List<Segment> batch) {
        int count = 0;
        for (int i = 0; i < batch.size(); i++) {
            count += batch.get(i).messageCount();
        }
        long[] fingerprints = new long[count];
        int at = 0;
        for (int i = 0; i < batch.size(); i++) {
            byte[] keys = batch.get(i).keys();
            fingerprints(lane, keys, fingerprints, at);
            at += keys.length / 16;
        }
        return fingerprints;
    }

    private void fingerprints(long lane, byte[] keys, long[] to, int at) {
        long ofLane = secret ^ (lane * 0x9E37_79B9_7F4A_7C15L);
        for (int i = 0; i < keys.length / 16; i++) {
            long mixed = scatter((long) LONGS.get(keys, i * 16) ^ ofLane);
            mixed = scatter(mixed ^ (long) LONGS.get(keys, i * 16 + 8) ^ secondSecret);
            to[at + i] = mixed == 0 ? 1 : mixed;
        }
    }

    private static long scatter(long value) {
        long z = (value ^ (value >>> 30)) * 0xBF58_476D_1CE4_E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D0_49BB_1331_11EBL;
        return z ^ (z >>> 31);
    }
}
