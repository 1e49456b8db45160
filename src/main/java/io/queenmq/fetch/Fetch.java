package io.queenmq.fetch;

import io.queenmq.db.Database;
import io.queenmq.ready.Poll;
import io.queenmq.ready.ReadyLanes;
import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/**
 * Reads the log of partitions from offsets on; who finds nothing may wait for it, holding no
 * connection. Called from the thread of the request.
 */
public final class Fetch {
    /** Of one call, but for the first commit that is read. */
    private static final int BYTES_MAX = 64 << 20;

    /** Bounds the silence where a hint of another broker was lost. */
    private static final Duration REVISIT = Duration.ofSeconds(1);

    private final FetchProcedures procedures;
    private final ReadyLanes ready;
    private final Clock clock;

    public Fetch(Database database, ReadyLanes ready, Clock clock) {
        this.procedures = new FetchProcedures(database);
        this.ready = ready;
        this.clock = clock;
    }

    /**
     * Reads, or waits until there is enough to read, or an entry cannot be read.
     *
     * @param onGone runs what it is given when the client has gone
     * @param isGone whether it has
     * @return one answer per entry, in their order
     */
    public List<Fetched> fetch(
            FetchRequest request, Consumer<Runnable> onGone, BooleanSupplier isGone) {
        long deadline = clock.nanos() + request.patience().toNanos();
        List<Fetched> found = procedures.fetch(request, BYTES_MAX);
        if (request.patience().isZero() || isEnough(request, found)) {
            return found;
        }
        Poll poll = ready.open();
        try {
            onGone.accept(poll::wake);
            while (true) {
                enter(request, poll);
                try {
                    // Entered first: what is stored from here on wakes it.
                    found = procedures.fetch(request, BYTES_MAX);
                    if (isEnough(request, found)
                            || isGone.getAsBoolean()
                            || ready.isStopping()
                            || clock.nanos() - deadline >= 0
                            || Thread.currentThread().isInterrupted()) {
                        return found;
                    }
                    poll.await(Math.min(deadline, clock.nanos() + REVISIT.toNanos()));
                } finally {
                    leave(request, poll);
                }
                poll.rearm();
            }
        } finally {
            ready.close(poll);
        }
    }

    private static boolean isEnough(FetchRequest request, List<Fetched> found) {
        long bytes = 0;
        for (Fetched fetched : found) {
            if (fetched.verdict() != Fetched.Verdict.OK) {
                return true;
            }
            bytes += fetched.bytes();
        }
        return bytes >= request.bytesMin();
    }

    private void enter(FetchRequest request, Poll poll) {
        for (FetchRequest.Entry entry : request.entries()) {
            ready.enterNamed(request.tenant(), entry.queue(), entry.partition(), poll);
        }
    }

    private void leave(FetchRequest request, Poll poll) {
        for (FetchRequest.Entry entry : request.entries()) {
            ready.leaveNamed(request.tenant(), entry.queue(), entry.partition(), poll);
        }
    }
}
