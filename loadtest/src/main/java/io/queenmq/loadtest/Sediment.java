package io.queenmq.loadtest;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.postgresql.PGConnection;

/**
 * What lies in a store beneath the traffic: many lanes, among which some are in use, and messages
 * in the others that everybody has read. They go in through {@code queen_store.append}, in segments
 * as pushes of a hundred would make them or of one; lane after lane in scattered order, so that the
 * index of the segments grows everywhere at once.
 */
final class Sediment {
    /** Lanes in use: lane-0 and on, evenly spread among the others. */
    static final int ACTIVE = 200;

    static final int BATCH = 100;
    static final int BYTES = 256;

    private static final int LANES_PER_CALL = 64;
    private static final int CALLERS = 4;

    /** Segments of one size, a lane each, that one call stores. */
    record Call(long firstSegment, long firstMessage, int segments, int messagesEach) {}

    private final Rig rig;
    private final String kept;
    private final Scatter scatter;
    private final long firstLane;
    private final double singles;
    private long segments;

    /** The database's clock before the messages that were added last. */
    private String begin = "";

    private Optional<Ageing> ageing = Optional.empty();

    private Sediment(Rig rig, String kept, Scatter scatter, long firstLane, double singles) {
        this.rig = rig;
        this.kept = kept;
        this.scatter = scatter;
        this.firstLane = firstLane;
        this.singles = singles;
    }

    /**
     * Makes the lanes, empty, with a cursor each.
     *
     * @param busy queue of the lanes in use
     * @param kept queue of all others; may be the same
     * @param singles share of the messages that will lie in segments of one
     */
    static Sediment prepare(Rig rig, String busy, String kept, int lanes, double singles) {
        if (lanes < ACTIVE + 2 * CALLERS * LANES_PER_CALL) {
            throw new IllegalArgumentException(
                    "--many-lanes must be at least "
                            + (ACTIVE + 2 * CALLERS * LANES_PER_CALL)
                            + ", got "
                            + lanes);
        }
        Scatter scatter = Scatter.of(lanes);
        Server server = rig.server();
        server.update(
                """
                insert into queen_store.partitions
                    (queue_id, name, last_offset, log_start, created_at, last_write_at,
                     last_created_at)
                select case when l.name < ? then ?::integer else ?::integer end,
                       'lane-' || l.name, 0, 1, t.at, t.at, t.at
                from generate_series(0::bigint, ?::bigint - 1) n
                cross join lateral (select n * ? % ? as name) l
                cross join lateral (
                    select clock_timestamp() - interval '1 day' + n * interval '10 ms' as at) t
                order by n
                """,
                ACTIVE,
                Lanes.queueNumber(server, busy),
                Lanes.queueNumber(server, kept),
                (long) lanes,
                scatter.inverse().multiplier(),
                (long) lanes);
        long first = (long) server.number("select min(id) from queen_store.partitions");
        if (server.number("select max(id) from queen_store.partitions") != first + lanes - 1) {
            throw new IllegalStateException("somebody else makes lanes in this database");
        }
        for (String queue : new LinkedHashSet<>(List.of(busy, kept))) {
            Lanes.group(server, queue, ReadPath.GROUP);
            Lanes.cursors(server, queue, ReadPath.GROUP);
        }
        Lanes.settle(server);
        return new Sediment(rig, kept, scatter, first, singles);
    }

    /** Lanes of a store that stays empty. */
    static void prepareEmpty(Rig rig, String busy, int lanes) {
        Lanes.group(rig.server(), busy, ReadPath.GROUP);
        Lanes.idle(rig.server(), busy, 0, lanes);
        Lanes.cursors(rig.server(), busy, ReadPath.GROUP);
        Lanes.settle(rig.server());
    }

    /** Leaves nothing of what a window has stored, as if all epochs had gone at once. */
    static void empty(Server server) {
        server.execute("truncate queen_store.segments");
        server.execute(
                "update queen_store.partitions"
                        + " set log_start = last_offset + 1, oldest_live_at = null,"
                        + " expiry_held_at = null where oldest_live_at is not null");
    }

    /** So many messages, exactly; those that fill no segment of a hundred lie alone, too. */
    static List<Call> calls(long messages, double singles, long firstSegment) {
        long alone = Math.round(messages * singles);
        long batches = (messages - alone) / BATCH;
        alone += (messages - alone) % BATCH;
        long callsOfOnes = (alone + LANES_PER_CALL - 1) / LANES_PER_CALL;
        long callsOfBatches = (batches + LANES_PER_CALL - 1) / LANES_PER_CALL;
        long all = callsOfOnes + callsOfBatches;
        List<Call> calls = new ArrayList<>();
        long segment = firstSegment;
        long message = 0;
        for (long call = 0; call < all; call++) {
            // Calls of either kind are spread evenly among those of the other.
            boolean ofOnes = (call + 1) * callsOfOnes / all > call * callsOfOnes / all;
            int size = (int) Math.min(LANES_PER_CALL, ofOnes ? alone : batches);
            int each = ofOnes ? 1 : BATCH;
            calls.add(new Call(segment, message, size, each));
            segment += size;
            message += (long) size * each;
            if (ofOnes) {
                alone -= size;
            } else {
                batches -= size;
            }
        }
        return calls;
    }

    /**
     * Adds messages, all read already.
     *
     * @param order in which they are to expire; empty = they are as old as they are
     */
    void grow(long messages, Optional<Ageing> order) {
        Server server = rig.server();
        ageing = order;
        begin = server.query("select clock_timestamp()::text", row -> row.getString(1)).getFirst();
        List<Call> calls = calls(messages, singles, segments);
        segments += calls.stream().mapToLong(Call::segments).sum();
        AtomicInteger next = new AtomicInteger();
        Callable<Integer> caller = () -> store(calls, next);
        try (ExecutorService executor = Executors.newFixedThreadPool(CALLERS)) {
            List<Callable<Integer>> callers = new ArrayList<>();
            for (int i = 0; i < CALLERS; i++) {
                callers.add(caller);
            }
            for (Future<Integer> done : executor.invokeAll(callers)) {
                done.get();
            }
        } catch (ExecutionException e) {
            throw new IllegalStateException("filling the store: " + e.getMessage(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
        server.execute(
                "update queen_store.cursors c set committed = p.last_offset"
                        + " from queen_store.partitions p"
                        + " where p.id = c.partition_id and c.committed < p.last_offset");
        // Else what was stored within seconds would be vacuumed while something is measured.
        server.execute("vacuum (analyze) queen_store.segments");
        Lanes.settle(server);
    }

    /** Calls until none is left; the number of those that it made. */
    private int store(List<Call> calls, AtomicInteger next) throws SQLException {
        byte[][] batches = frames(BATCH);
        byte[][] ones = frames(1);
        int made = 0;
        // Nothing is lost but time if the server falls over now.
        String url = rig.jdbcUrl() + "&prepareThreshold=-1&options=-c%20synchronous_commit=off";
        try (Connection connection = DriverManager.getConnection(url)) {
            for (int i = next.getAndIncrement(); i < calls.size(); i = next.getAndIncrement()) {
                Call call = calls.get(i);
                long[] lanes = lanes(call);
                if (ageing.isPresent()) {
                    date(connection, lanes, ageing.get().secondsTo(call.firstMessage()));
                }
                byte[][] frames = call.messagesEach() == 1 ? ones : batches;
                try (AppendCall append = new AppendCall(connection, lanes, call.messagesEach())) {
                    append.store(Arrays.copyOf(frames, lanes.length));
                }
                made++;
            }
        }
        return made;
    }

    private static byte[][] frames(int messages) {
        Payload payload = new Payload(Payload.Kind.ORDER, BYTES, Rng.seeded());
        byte[][] frames = new byte[LANES_PER_CALL][];
        for (int i = 0; i < frames.length; i++) {
            frames[i] = AppendCall.frames(i, 0, messages, BYTES, payload);
        }
        return frames;
    }

    /** Numbers of the lanes of a call, ascending. */
    private long[] lanes(Call call) {
        long[] lanes = new long[call.segments()];
        int others = scatter.size() - ACTIVE;
        Arrays.setAll(
                lanes,
                i -> firstLane + scatter.at(ACTIVE + (int) ((call.firstSegment() + i) % others)));
        Arrays.sort(lanes);
        return lanes;
    }

    /**
     * A message is never stamped earlier than the one before it in its lane: so lanes that claim to
     * have had one later are given what becomes old later.
     */
    private void date(Connection connection, long[] lanes, double seconds) throws SQLException {
        try (PreparedStatement statement =
                connection.prepareStatement(
                        "update queen_store.partitions set last_created_at = greatest("
                                + "last_created_at, ?::text::timestamptz + make_interval(secs => ?))"
                                + " where id = any (?)")) {
            statement.setString(1, begin);
            statement.setDouble(2, seconds);
            statement.setArray(
                    3, connection.unwrap(PGConnection.class).createArrayOf("int8", lanes));
            statement.executeUpdate();
        }
    }

    /**
     * From now on what was added last expires, the first of it at once, or the first whose turn is
     * that of the second load: what age that is depends on how long it took to come here.
     */
    void expireFrom(boolean second) {
        if (ageing.isEmpty()) {
            return;
        }
        double sinceBegin =
                rig.server()
                        .number(
                                "select extract(epoch from clock_timestamp()"
                                        + " - ?::text::timestamptz)",
                                begin);
        double age = sinceBegin - (second ? ageing.get().firstSeconds() : 0);
        rig.target().configure(kept, Maintain.keeps((int) Math.max(1, age)));
    }

    void expireNothing() {
        rig.target().configure(kept, Maintain.keeps(0));
    }

    /** Messages in the lanes that are not in use. */
    double retained() {
        return rig.server()
                .number(
                        "select coalesce(sum(last_offset - log_start + 1), 0)"
                                + " from queen_store.partitions where queue_id = ?",
                        Lanes.queueNumber(rig.server(), kept));
    }
}
