package io.queenmq.combine;

import java.time.Duration;

/**
 * Bounds of one combiner.
 *
 * @param name of its threads and meters: {@code push}
 * @param flushers threads that make calls for many keys
 * @param patients threads that make calls for one busy key each
 * @param backOffMax longest rest of a key that stays busy
 */
public record CombinerConfig(
        String name, int flushers, int patients, Call call, Room room, Duration backOffMax) {

    /**
     * What one call takes; a single work that exceeds it has a call to itself.
     *
     * @param keys most keys
     * @param items most items
     * @param bytes most bytes
     * @param aloneBytes a work with more has a call to itself; such calls hold one flusher at most
     */
    public record Call(int keys, int items, long bytes, long aloneBytes) {
        public Call {
            if (keys < 1 || items < 1 || bytes < 1 || aloneBytes < 1) {
                throw new IllegalArgumentException("a call needs room for something");
            }
        }
    }

    /**
     * What may wait or be under way.
     *
     * @param items most items in all
     * @param bytes most bytes in all
     * @param keyShare one key takes at most the n-th part of both, so that one that is stuck leaves
     *     room for others
     * @param waiters callers that wait for room; more are refused at once
     * @param patience longest wait for room
     */
    public record Room(long items, long bytes, int keyShare, int waiters, Duration patience) {}

    /** Large enough to amortize a commit, small enough to answer soon. */
    public static final Call CALL = new Call(1_024, 5_000, 4 << 20, 1 << 20);

    /** Room for some seconds of load. */
    public static final Room ROOM = new Room(200_000, 256L << 20, 16, 4_096, Duration.ofSeconds(5));

    public CombinerConfig {
        if (flushers < 1 || patients < 1) {
            throw new IllegalArgumentException("a combiner needs a thread of each kind");
        }
    }

    /** Three flushers keep one commit on disk, one on its way and one in the making. */
    public static CombinerConfig named(String name) {
        return new CombinerConfig(name, 3, 2, CALL, ROOM, Duration.ofSeconds(1));
    }
}
