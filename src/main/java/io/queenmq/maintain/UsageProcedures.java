package io.queenmq.maintain;

import io.queenmq.db.Database;
import io.queenmq.db.Rows;
import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/** Measurements of keys and timers, by the clock of the database. */
final class UsageProcedures {
    /**
     * What a measurement would read.
     *
     * @param changes how often rows have changed since the server last forgot to count that
     * @param ageSeconds since a measurement last began; null = there was none
     */
    record Outlook(
            OffsetDateTime readAt,
            long kvPages,
            long timerPages,
            long changes,
            @Nullable Double ageSeconds) {}

    /** What a tenant has in some pages. */
    record Weighed(UUID tenant, long items, long bytes) {}

    /** What a tenant has. */
    record Footprint(long kvRows, long kvBytes, long timerRows, long timerBytes) {
        static final Footprint NONE = new Footprint(0, 0, 0, 0);

        Footprint plus(Footprint other) {
            return new Footprint(
                    kvRows + other.kvRows,
                    kvBytes + other.kvBytes,
                    timerRows + other.timerRows,
                    timerBytes + other.timerBytes);
        }
    }

    private final Database database;

    UsageProcedures(Database database) {
        this.database = database;
    }

    Outlook outlook() {
        return database.repeatable(
                "usage_outlook",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement(
                                            "select read_at, kv_pages, timer_pages, changes,"
                                                    + " age_seconds from"
                                                    + " queen_store.usage_outlook(clock_timestamp())")) {
                        return Rows.only(
                                statement,
                                row ->
                                        new Outlook(
                                                row.getObject(1, OffsetDateTime.class),
                                                row.getLong(2),
                                                row.getLong(3),
                                                row.getLong(4),
                                                row.getObject(5, Double.class)));
                    }
                });
    }

    /** Keys in pages from this one on that have not expired by then. */
    List<Weighed> weighKv(long firstPage, int pages, OffsetDateTime now) {
        return weigh(
                "weigh_kv",
                "select tenant_id, items, bytes from queen_store.weigh_kv(?, ?, ?)",
                firstPage,
                pages,
                now);
    }

    List<Weighed> weighTimers(long firstPage, int pages) {
        return weigh(
                "weigh_timers",
                "select tenant_id, items, bytes from queen_store.weigh_timers(?, ?)",
                firstPage,
                pages);
    }

    private List<Weighed> weigh(String name, String sql, Object... arguments) {
        return database.repeatable(
                name,
                session -> {
                    try (PreparedStatement statement = session.connection().prepareStatement(sql)) {
                        for (int i = 0; i < arguments.length; i++) {
                            statement.setObject(i + 1, arguments[i]);
                        }
                        return Rows.list(
                                statement,
                                row ->
                                        new Weighed(
                                                row.getObject(1, UUID.class),
                                                row.getLong(2),
                                                row.getLong(3)));
                    }
                });
    }

    void record(OffsetDateTime measuredAt, Map<UUID, Footprint> footprints) {
        List<Map.Entry<UUID, Footprint>> rows = List.copyOf(footprints.entrySet());
        database.repeatable(
                "record_usage",
                session -> {
                    Connection connection = session.connection();
                    try (PreparedStatement statement =
                            connection.prepareStatement(
                                    "select queen_store.record_usage(?, ?, ?, ?, ?, ?)")) {
                        statement.setObject(1, measuredAt);
                        statement.setArray(
                                2,
                                connection.createArrayOf(
                                        "uuid", rows.stream().map(Map.Entry::getKey).toArray()));
                        statement.setArray(3, numbers(connection, rows, Footprint::kvRows));
                        statement.setArray(4, numbers(connection, rows, Footprint::kvBytes));
                        statement.setArray(5, numbers(connection, rows, Footprint::timerRows));
                        statement.setArray(6, numbers(connection, rows, Footprint::timerBytes));
                        return statement.execute();
                    }
                });
    }

    private static Array numbers(
            Connection connection,
            List<Map.Entry<UUID, Footprint>> rows,
            ToLongFunction<Footprint> number)
            throws SQLException {
        return connection.createArrayOf(
                "int8",
                rows.stream().map(row -> number.applyAsLong(row.getValue())).toArray(Long[]::new));
    }
}
