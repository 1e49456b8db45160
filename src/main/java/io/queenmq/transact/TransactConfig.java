package io.queenmq.transact;

import java.time.Duration;

/**
 * Bounds of transactions.
 *
 * @param deadline after that long nothing is tried again; clients give up at 30 s
 * @param grace how much longer a lost answer is asked after
 * @param inflightMax calls in the database at once, each of one or several transactions
 * @param sharedMax most transactions of a call
 * @param waitingMax calls beside these that wait in the database for what others hold
 * @param patience longest time a transaction waits for its turn
 * @param lanesMax most lanes that one pushes to, and most cursors that one moves
 * @param stepsMax most pushed items and acks of one
 * @param pushBytesMax most bytes of payload that one pushes
 */
public record TransactConfig(
        Duration deadline,
        Duration grace,
        int inflightMax,
        int sharedMax,
        int waitingMax,
        Duration patience,
        int lanesMax,
        int stepsMax,
        int pushBytesMax) {

    public static final TransactConfig DEFAULT =
            new TransactConfig(
                    Duration.ofSeconds(25),
                    Duration.ofSeconds(3),
                    4,
                    64,
                    2,
                    Duration.ofSeconds(10),
                    256,
                    10_000,
                    16 << 20);
}
