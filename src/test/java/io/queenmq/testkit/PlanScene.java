package io.queenmq.testkit;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A database in which plans are made at the worst time: generic ones, while all tables are empty
 * and vacuumed as such. Then rows come, without an analyze, and the same connection, with the same
 * plans, may touch only so many buffers, and scan no table that has become large.
 */
public final class PlanScene implements AutoCloseable {
    /** More often than it takes for a plan to become generic by itself. */
    private static final int ROUNDS = 7;

    private final TestDatabase database = TestDatabase.migrated();
    private final Connection connection;
    private final String large;

    /**
     * A call, and how many buffers it may touch.
     *
     * @param sql what stands behind "select * from"
     */
    public record Call(String sql, int buffersMax) {}

    /**
     * @param large tables of queen_store that are not to be scanned, as patterns of their names
     */
    public PlanScene(String... large) throws SQLException {
        this.connection = database.connect();
        this.large = "^(" + String.join("|", large) + ")$";
        run("set plan_cache_mode = force_generic_plan");
    }

    public Connection connection() {
        return connection;
    }

    public List<@Nullable Object[]> run(String sql) throws SQLException {
        return TestDatabase.rows(connection, sql);
    }

    /** Lets the planner believe that the tables stay as they are. */
    public void vacuum() throws SQLException {
        for (@Nullable Object[] table :
                run(
                        "select relname from pg_class where relnamespace ="
                                + " 'queen_store'::regnamespace and relkind = 'r'")) {
            run("alter table queen_store." + table[0] + " set (autovacuum_enabled = off)");
            run("vacuum analyze queen_store." + table[0]);
        }
    }

    /** Epochs up to this one, which is open; those before are sealed. */
    public void epochs(int last) throws SQLException {
        for (int epoch = 2; epoch <= last; epoch++) {
            run(
                    "create table queen_store.segments_%d partition of queen_store.segments for values in (%d)"
                            .formatted(epoch, epoch));
        }
        run(
                "update queen_store.epochs set state = 'sealed', closed_at = opened_at where epoch = 1");
        run(
                "insert into queen_store.epochs (epoch, state, closed_at) select e, case when e = "
                        + last
                        + " then 'open' else 'sealed' end, clock_timestamp() from"
                        + " generate_series(2, "
                        + last
                        + ") e");
    }

    public void plan(List<Call> calls) throws SQLException {
        for (Call call : calls) {
            for (int i = 0; i < ROUNDS; i++) {
                undone(() -> run("select * from " + call.sql()));
            }
        }
    }

    /** What is wrong with each of these calls; empty = nothing is. */
    public String findings(List<Call> calls) throws SQLException {
        StringBuilder findings = new StringBuilder();
        for (Call call : calls) {
            long before = scans();
            int buffers = undone(() -> Buffers.of(connection, call.sql()));
            long scans = scans() - before;
            if (buffers > call.buffersMax() || scans > 0) {
                findings.append(
                        "%d buffers of %d, %d scans: %s%n"
                                .formatted(buffers, call.buffersMax(), scans, call.sql()));
            }
        }
        return findings.toString();
    }

    /** What a query says; what it did is undone. */
    public String answer(String sql) throws SQLException {
        return undone(() -> String.join(" ", Lines.lines(connection, sql)));
    }

    private interface Step<T> {
        T run() throws SQLException;
    }

    /** Every call finds what was there for the first. */
    private <T> T undone(Step<T> step) throws SQLException {
        connection.setAutoCommit(false);
        try {
            return step.run();
        } finally {
            connection.rollback();
            connection.setAutoCommit(true);
        }
    }

    /** Sequential scans of large tables so far, as the server counts them. */
    private long scans() throws SQLException {
        run("select pg_stat_force_next_flush()");
        Object scans =
                TestDatabase.rows(
                                connection,
                                "select sum(seq_scan)::bigint from pg_stat_user_tables where"
                                        + " schemaname = 'queen_store' and relname ~ ?",
                                large)
                        .getFirst()[0];
        return scans instanceof Long count ? count : -1;
    }

    @Override
    public void close() throws SQLException {
        connection.close();
        database.close();
    }
}
