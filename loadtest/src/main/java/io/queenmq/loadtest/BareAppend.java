package io.queenmq.loadtest;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;

/**
 * The baseline: the function that stores every push, called over JDBC from several threads, each
 * with its own connection and its own lanes. No HTTP, no JSON, no duplicates to look for: what the
 * database can take at the most.
 */
final class BareAppend implements AutoCloseable {
    private static final int BUNDLES = 16;
    private static final long HIGHEST_MICROS = TimeUnit.MINUTES.toMicros(1);

    /** How the function is called. */
    record Shape(
            int threads, int lanesPerCall, int messagesPerLane, Payload.Kind payload, int bytes) {
        long messagesPerCall() {
            return (long) lanesPerCall * messagesPerLane;
        }
    }

    /**
     * @param calls calls that were committed
     * @param messages messages in them
     * @param micros time of each call
     */
    record Result(long calls, long messages, double seconds, Histogram micros) {
        double perSecond() {
            return messages / seconds;
        }
    }

    private record Caller(Connection connection, BundleCall call, byte[][][] bundles) {}

    private final Shape shape;
    private final List<Caller> callers = new ArrayList<>();
    private final ExecutorService executor;

    BareAppend(String jdbcUrl, String queue, Shape shape) {
        this(jdbcUrl, queue, shape, AppendCall::new);
    }

    /** The same bundles through another statement. */
    BareAppend(String jdbcUrl, String queue, Shape shape, BundleCall.Maker maker) {
        this.shape = shape;
        this.executor = Executors.newFixedThreadPool(shape.threads());
        // Binary from the first call on, as the broker does it.
        String url = jdbcUrl + (jdbcUrl.contains("?") ? "&" : "?") + "prepareThreshold=-1";
        try {
            long[] lanes =
                    Lanes.provision(url, queue, "bare-", shape.threads() * shape.lanesPerCall());
            for (int i = 0; i < shape.threads(); i++) {
                long[] own =
                        Arrays.copyOfRange(
                                lanes, i * shape.lanesPerCall(), (i + 1) * shape.lanesPerCall());
                Arrays.sort(own);
                Connection connection = DriverManager.getConnection(url);
                callers.add(
                        new Caller(
                                connection,
                                maker.make(connection, own, shape.messagesPerLane()),
                                bundles()));
            }
        } catch (SQLException e) {
            close();
            throw new IllegalStateException("baseline", e);
        }
    }

    private byte[][][] bundles() {
        Payload payload = new Payload(shape.payload(), shape.bytes(), Rng.seeded());
        byte[][][] bundles = new byte[BUNDLES][shape.lanesPerCall()][];
        for (byte[][] bundle : bundles) {
            for (int lane = 0; lane < bundle.length; lane++) {
                bundle[lane] =
                        AppendCall.frames(lane, 0, shape.messagesPerLane(), shape.bytes(), payload);
            }
        }
        return bundles;
    }

    /** Calls as fast as answers come. */
    Result run(long nanos) {
        List<Callable<Histogram>> tasks = new ArrayList<>();
        for (Caller caller : callers) {
            tasks.add(() -> call(caller, nanos));
        }
        try {
            long start = System.nanoTime();
            Histogram micros = new Histogram(HIGHEST_MICROS, 3);
            for (Future<Histogram> done : executor.invokeAll(tasks)) {
                micros.add(done.get());
            }
            double seconds = (System.nanoTime() - start) / 1e9;
            long calls = micros.getTotalCount();
            return new Result(calls, calls * shape.messagesPerCall(), seconds, micros);
        } catch (ExecutionException e) {
            throw new IllegalStateException("baseline", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    private static Histogram call(Caller caller, long nanos) throws SQLException {
        Histogram micros = new Histogram(HIGHEST_MICROS, 3);
        long start = System.nanoTime();
        long now = start;
        while (now - start < nanos) {
            caller.call().store(caller.bundles()[(int) (micros.getTotalCount() % BUNDLES)]);
            long done = System.nanoTime();
            micros.recordValue(Math.min((done - now) / 1_000, HIGHEST_MICROS));
            now = done;
        }
        return micros;
    }

    @Override
    public void close() {
        executor.shutdown();
        for (Caller caller : callers) {
            try {
                caller.call().close();
                caller.connection().close();
            } catch (SQLException e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
