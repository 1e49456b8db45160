package io.queenmq.fetch;

import io.queenmq.db.Database;
import io.queenmq.ready.Poll;
import io.queenmq.ready.ReadyLanes;
import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.util.List;

/**
 * Reads the log of partitions from offsets on; who finds nothing may wait for it, holding no
 * connection. Called from the thread of the request.
 */
public final class Fetch {
    /** Of one call, but for the first commit that is read. */
    private static final int BYTES_MAX = 64 << 20;

    /**
     * From a look at too little to the next one: else every push to a busy queue would ask for it.
     */
    private static final long LOOKS_APART_NANOS = Duration.ofMillis(20).toNanos();

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
     * @return one answer per entry, in their order; none if the client has left
     */
    public List<Fetched> fetch(FetchRequest request, FetchClient client) {
        // A waiting call may look many times at what is too little for it: messages are read once.
        List<Located> located = locate(request, client);
        if (client.isGone()) {
            return List.of();
        }
        client.expectAnswer(located.stream().mapToLong(Located::messages).sum(), bytes(located));
        return procedures.read(request, located);
    }

    private List<Located> locate(FetchRequest request, FetchClient client) {
        long deadline = clock.nanos() + request.patience().toNanos();
        List<Located> located = procedures.locate(request, BYTES_MAX);
        if (request.patience().isZero() || isEnough(request, located)) {
            return located;
        }
        Poll poll = ready.open();
        try {
            client.onGone(poll::wake);
            while (true) {
                long looked = clock.nanos();
                enter(request, poll);
                try {
                    // Entered first: what is stored from here on wakes it.
                    located = procedures.locate(request, BYTES_MAX);
                    if (isEnough(request, located)
                            || client.isGone()
                            || ready.isStopping()
                            || clock.nanos() - deadline >= 0
                            || Thread.currentThread().isInterrupted()) {
                        return located;
                    }
                    poll.await(deadline);
                } finally {
                    leave(request, poll);
                }
                poll.rearm();
                long again = looked + LOOKS_APART_NANOS;
                if (bytes(located) > 0 && again - deadline < 0) {
                    poll.await(again);
                }
            }
        } finally {
            ready.close(poll);
        }
    }

    private static boolean isEnough(FetchRequest request, List<Located> located) {
        return located.stream().anyMatch(lane -> lane.verdict() != Fetched.Verdict.OK)
                || bytes(located) >= request.bytesMin();
    }

    private static long bytes(List<Located> located) {
        return located.stream().mapToLong(Located::bytes).sum();
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
