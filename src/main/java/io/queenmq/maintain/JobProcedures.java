package io.queenmq.maintain;

import io.queenmq.db.Database;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Which broker runs a job, and when. */
final class JobProcedures {
    /** A run that this broker has claimed. */
    record Held(String job, UUID holder, long fence) {}

    private final Database database;

    JobProcedures(Database database) {
        this.database = database;
    }

    void register(Collection<Job> jobs) {
        database.call(
                "register_jobs",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement("select queen_store.register_jobs(?, ?)")) {
                        statement.setArray(
                                1,
                                session.connection()
                                        .createArrayOf(
                                                "text", jobs.stream().map(Job::name).toArray()));
                        statement.setArray(
                                2,
                                session.connection()
                                        .createArrayOf(
                                                "int4",
                                                jobs.stream()
                                                        .map(job -> millis(job.period()))
                                                        .toArray()));
                        return statement.execute();
                    }
                });
    }

    /** For each job that has a row the time until it may be run; empty = it is paused. */
    Map<String, OptionalLong> waits(List<String> names) {
        return database.call(
                "job_waits",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement(
                                            "select name, wait_ms from queen_store.job_waits(?)")) {
                        statement.setArray(
                                1, session.connection().createArrayOf("text", names.toArray()));
                        Map<String, OptionalLong> waits = new HashMap<>();
                        try (ResultSet rows = statement.executeQuery()) {
                            while (rows.next()) {
                                String name = rows.getString(1);
                                long wait = rows.getLong(2);
                                waits.put(
                                        name,
                                        rows.wasNull()
                                                ? OptionalLong.empty()
                                                : OptionalLong.of(wait));
                            }
                        }
                        return waits;
                    }
                });
    }

    /** Null = it is not to be run here now. */
    @Nullable Held claim(String name, UUID holder, Duration lease) {
        return database.call(
                "claim_job",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement("select queen_store.claim_job(?, ?, ?)")) {
                        statement.setString(1, name);
                        statement.setObject(2, holder);
                        statement.setInt(3, millis(lease));
                        try (ResultSet row = statement.executeQuery()) {
                            row.next();
                            long fence = row.getLong(1);
                            return row.wasNull() ? null : new Held(name, holder, fence);
                        }
                    }
                });
    }

    /** False = another broker has taken it over. */
    boolean keep(Held held, Duration lease) {
        return database.call(
                "keep_job",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement("select queen_store.keep_job(?, ?, ?, ?)")) {
                        statement.setString(1, held.job());
                        statement.setObject(2, held.holder());
                        statement.setLong(3, held.fence());
                        statement.setInt(4, millis(lease));
                        try (ResultSet row = statement.executeQuery()) {
                            return row.next() && row.getBoolean(1);
                        }
                    }
                });
    }

    /** False = another broker has taken it over. */
    boolean release(Held held, int steps, boolean more, @Nullable String error) {
        return database.call(
                "release_job",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement(
                                            "select queen_store.release_job(?, ?, ?, ?, ?, ?)")) {
                        statement.setString(1, held.job());
                        statement.setObject(2, held.holder());
                        statement.setLong(3, held.fence());
                        statement.setInt(4, steps);
                        statement.setBoolean(5, more);
                        statement.setString(6, error);
                        try (ResultSet row = statement.executeQuery()) {
                            return row.next() && row.getBoolean(1);
                        }
                    }
                });
    }

    private static int millis(Duration time) {
        return Math.toIntExact(time.toMillis());
    }
}
