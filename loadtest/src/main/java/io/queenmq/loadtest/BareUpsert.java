package io.queenmq.loadtest;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * What keys are held against: one prepared upsert per commit into a table of the same shape, from
 * clients with a connection each. No HTTP, no JSON, no expectations, no tenants.
 */
final class BareUpsert implements AutoCloseable {
    private static final String TABLE =
            """
            create schema if not exists bench;
            create table bench.pairs (
                namespace text collate "C" not null,
                key text collate "C" not null,
                value text not null,
                version bigint not null,
                updated_at timestamptz not null,
                primary key (namespace, key)
            ) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0,
                    autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);
            """;
    private static final String UPSERT =
            """
            insert into bench.pairs as p (namespace, key, value, version, updated_at)
            values (?, ?, ?, 1, clock_timestamp())
            on conflict (namespace, key) do update
            set value = excluded.value, version = p.version + 1, updated_at = excluded.updated_at
            """;

    private final List<Connection> connections = new ArrayList<>();
    private final ExecutorService executor;

    BareUpsert(String jdbcUrl, int clients) {
        this.executor = Executors.newFixedThreadPool(clients);
        try {
            for (int i = 0; i < clients; i++) {
                connections.add(DriverManager.getConnection(jdbcUrl + "&prepareThreshold=-1"));
            }
            try (Statement statement = connections.getFirst().createStatement()) {
                statement.execute(TABLE);
            }
        } catch (SQLException e) {
            close();
            throw new IllegalStateException("bare upsert", e);
        }
    }

    /** Upserts per second, of the keys that {@link Puts} writes. */
    double run(long nanos) {
        List<Callable<Long>> tasks = new ArrayList<>();
        for (Connection connection : connections) {
            tasks.add(() -> upsert(connection, nanos));
        }
        try {
            long start = System.nanoTime();
            long upserts = 0;
            for (Future<Long> done : executor.invokeAll(tasks)) {
                upserts += done.get();
            }
            return upserts / ((System.nanoTime() - start) / 1e9);
        } catch (ExecutionException e) {
            throw new IllegalStateException("bare upsert", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    private static long upsert(Connection connection, long nanos) throws SQLException {
        Rng rng = Rng.seeded();
        long until = System.nanoTime() + nanos;
        long upserts = 0;
        try (PreparedStatement statement = connection.prepareStatement(UPSERT)) {
            while (System.nanoTime() < until) {
                statement.setString(1, "bench-" + rng.below(Puts.NAMESPACES));
                statement.setString(2, "key-" + rng.below(Puts.KEYS));
                statement.setString(3, "{\"n\":" + rng.below(1_000_000) + "}");
                statement.executeUpdate();
                upserts++;
            }
        }
        return upserts;
    }

    @Override
    public void close() {
        executor.shutdown();
        for (Connection connection : connections) {
            try {
                connection.close();
            } catch (SQLException e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
