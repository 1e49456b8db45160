package io.queenmq.fetch;

import io.queenmq.db.Database;
import io.queenmq.ready.Poll;
import io.queenmq.ready.ReadyLanes;
import io.queenmq.runtime.Clock;
import java.util.List;

/**
 * Reads the log of partitions from offsets on; who finds nothing may wait for it, holding no
 * connection. Called from the thread of the request.
 */
public final class Fetch {
    /** Of one call, but for the first commit that is read. */
    private static final int BYTES_MAX = 64 << 20;

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
        client.expectAnswer(
                located.stream().mapToLong(Located::messages).sum(),
                located.stream().mapToLong(Located::bytes).sum());
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
            }
        } finally {
            ready.close(poll);
        }
    }

    private static boolean isEnough(FetchRequest request, List<Located> located) {
        long bytes = 0;
        for (Located lane : located) {
            if (lane.verdict() != Fetched.Verdict.OK) {
                return true;
            }
            bytes += lane.bytes();
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
