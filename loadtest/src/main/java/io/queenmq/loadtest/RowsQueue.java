package io.queenmq.loadtest;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * The peer: a queue of rows, with clients that speak SQL to it and nothing between. Senders keep to
 * a rate, a message per commit; readers take a batch, delete it, and sleep while there is nothing.
 */
final class RowsQueue implements AutoCloseable {
    private static final int HIDDEN_SECONDS = 60;
    private static final int SLEEP_MILLIS = 20;
    private static final int FILL_BATCH = 10_000;

    private final String jdbcUrl;
    private final int bytes;
    private final ExecutorService executor = Executors.newCachedThreadPool();
    private final AtomicLong removed = new AtomicLong();
    private final AtomicLong sent = new AtomicLong();

    RowsQueue(Rig rig, int bytes) throws IOException {
        this.jdbcUrl = rig.jdbcUrl() + "&prepareThreshold=-1";
        this.bytes = bytes;
        try (InputStream script = RowsQueue.class.getResourceAsStream("rows_queue.sql")) {
            if (script == null) {
                throw new IllegalStateException("rows_queue.sql is missing");
            }
            rig.server().execute(new String(script.readAllBytes(), StandardCharsets.UTF_8));
        }
    }

    /** Messages that were read and deleted so far. */
    long removed() {
        return removed.get();
    }

    /** Standing rows, before anybody reads. */
    void fill(int messages) throws SQLException {
        Payload payload = new Payload(Payload.Kind.ORDER, bytes, Rng.seeded());
        try (Connection connection = DriverManager.getConnection(jdbcUrl);
                PreparedStatement send =
                        connection.prepareStatement(
                                "select count(*) from rows_queue.send_batch(?::jsonb[])")) {
            for (int from = 0; from < messages; from += FILL_BATCH) {
                String[] batch = new String[Math.min(FILL_BATCH, messages - from)];
                for (int i = 0; i < batch.length; i++) {
                    batch[i] = render(payload, from + i);
                }
                send.setArray(1, connection.createArrayOf("text", batch));
                send.execute();
            }
        }
    }

    private String render(Payload payload, long sequence) {
        Bytes message = new Bytes(bytes + 16);
        payload.render(message, 0, sequence, 0);
        return new String(message.array(), 0, message.size(), StandardCharsets.UTF_8);
    }

    /**
     * Senders and readers for a time.
     *
     * @param rate messages per second of all senders; 0 = nobody sends
     */
    void run(int senders, double rate, int readers, int batch, double seconds) {
        long until = System.nanoTime() + Plan.nanos(seconds);
        List<Callable<Object>> tasks = new ArrayList<>();
        for (int i = 0; i < senders && rate > 0; i++) {
            long interval = (long) (TimeUnit.SECONDS.toNanos(1) * senders / rate);
            tasks.add(Executors.callable(() -> inTime(() -> send(interval, until))));
        }
        for (int i = 0; i < readers; i++) {
            tasks.add(Executors.callable(() -> inTime(() -> read(batch, until))));
        }
        try {
            for (Future<Object> done : executor.invokeAll(tasks)) {
                done.get();
            }
        } catch (ExecutionException e) {
            throw new IllegalStateException("rows queue", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    private interface Work {
        void run() throws SQLException;
    }

    private static void inTime(Work work) {
        try {
            work.run();
        } catch (SQLException e) {
            throw new IllegalStateException("rows queue", e);
        }
    }

    private void send(long intervalNanos, long until) throws SQLException {
        Payload payload = new Payload(Payload.Kind.ORDER, bytes, Rng.seeded());
        try (Connection connection = DriverManager.getConnection(jdbcUrl);
                PreparedStatement send =
                        connection.prepareStatement("select rows_queue.send(?::jsonb)")) {
            long due = System.nanoTime();
            while (due < until) {
                while (System.nanoTime() < due) {
                    LockSupport.parkNanos(due - System.nanoTime());
                }
                send.setString(1, render(payload, sent.getAndIncrement()));
                send.execute();
                due += intervalNanos;
            }
        }
    }

    private void read(int batch, long until) throws SQLException {
        try (Connection connection = DriverManager.getConnection(jdbcUrl);
                PreparedStatement read =
                        connection.prepareStatement(
                                "select id, message from rows_queue.read(?, ?)");
                PreparedStatement remove =
                        connection.prepareStatement("select rows_queue.remove(?)")) {
            read.setInt(1, HIDDEN_SECONDS);
            read.setInt(2, batch);
            while (System.nanoTime() < until) {
                List<Long> ids = new ArrayList<>();
                try (ResultSet rows = read.executeQuery()) {
                    while (rows.next()) {
                        ids.add(rows.getLong(1));
                    }
                }
                if (ids.isEmpty()) {
                    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(SLEEP_MILLIS));
                    continue;
                }
                remove.setArray(1, connection.createArrayOf("int8", ids.toArray(Long[]::new)));
                try (ResultSet rows = remove.executeQuery()) {
                    rows.next();
                    removed.addAndGet(rows.getLong(1));
                }
            }
        }
    }

    @Override
    public void close() {
        executor.shutdown();
    }
}
