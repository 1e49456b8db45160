package io.queenmq.count;

import io.queenmq.count.Activity.Sum;
import io.queenmq.db.Database;
import io.queenmq.runtime.Version;
import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.function.ToLongFunction;
import org.postgresql.PGConnection;

/** Tells the database what a broker has to report. */
final class ReportProcedures {
    private static final String BROKER =
            "select queen_store.report_broker(" + "?, ".repeat(24) + "?)";
    private static final String QUEUES =
            "select queen_store.report_queues(" + "?, ".repeat(12) + "?)";

    private final Database database;

    ReportProcedures(Database database) {
        this.database = database;
    }

    /** The number under which the broker reports from now on. */
    int register(String name, int port) {
        return database.call(
                "register_broker",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement(
                                            "select queen_store.register_broker(?, ?, ?)")) {
                        statement.setString(1, name);
                        statement.setInt(2, port);
                        statement.setString(3, Version.current());
                        try (ResultSet rows = statement.executeQuery()) {
                            rows.next();
                            return rows.getInt(1);
                        }
                    }
                });
    }

    /** False = the database does not know the broker, and has taken nothing. */
    boolean reportBroker(int brokerId, Sample sample, List<Activities.Parked> parked) {
        return database.call(
                "report_broker",
                session -> {
                    Connection connection = session.connection();
                    try (PreparedStatement statement = connection.prepareStatement(BROKER)) {
                        statement.setInt(1, brokerId);
                        bind(statement, sample);
                        statement.setArray(
                                24,
                                ids(
                                        connection,
                                        parked.stream()
                                                .mapToInt(queue -> queue.queue().queueId())
                                                .toArray()));
                        statement.setArray(
                                25,
                                ids(
                                        connection,
                                        parked.stream()
                                                .mapToInt(Activities.Parked::number)
                                                .toArray()));
                        try (ResultSet rows = statement.executeQuery()) {
                            rows.next();
                            return rows.getBoolean(1);
                        }
                    }
                });
    }

    private static void bind(PreparedStatement statement, Sample sample) throws SQLException {
        int at = 2;
        statement.setLong(at++, sample.spanMillis());
        for (long sum : sample.sums()) {
            statement.setLong(at++, sum);
        }
        statement.setLong(at++, sample.lagMillisMax());
        statement.setInt(at++, sample.parked());
        statement.setLong(at++, sample.ticks().averageMicros());
        statement.setLong(at++, sample.ticks().mostMicros());
        statement.setLong(at++, sample.cpu().userMicros());
        statement.setLong(at++, sample.cpu().systemMicros());
        statement.setLong(at++, sample.residentBytes());
        for (int value : sample.pool()) {
            statement.setInt(at++, value);
        }
    }

    void reportQueues(long spanMillis, List<Activity> queues) {
        database.call(
                "report_queues",
                session -> {
                    Connection connection = session.connection();
                    try (PreparedStatement statement = connection.prepareStatement(QUEUES)) {
                        statement.setLong(1, spanMillis);
                        statement.setArray(
                                2,
                                ids(
                                        connection,
                                        queues.stream().mapToInt(Activity::queueId).toArray()));
                        int at = 3;
                        for (Sum sum : Sum.values()) {
                            statement.setArray(
                                    at++, sums(connection, queues, queue -> queue.taken(sum)));
                        }
                        statement.setArray(at, sums(connection, queues, Activity::takenLagMax));
                        return statement.execute();
                    }
                });
    }

    private static Array ids(Connection connection, int[] ids) throws SQLException {
        return connection.unwrap(PGConnection.class).createArrayOf("int4", ids);
    }

    private static Array sums(
            Connection connection, List<Activity> queues, ToLongFunction<Activity> sum)
            throws SQLException {
        return connection
                .unwrap(PGConnection.class)
                .createArrayOf("int8", queues.stream().mapToLong(sum).toArray());
    }
}
