package io.queenmq.trace;

import io.queenmq.db.Database;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.util.UUID;

/** Stores notes. */
final class TraceProcedures {
    private final Database database;
    private final String broker;

    /**
     * @param broker which one stores them, as they tell
     */
    TraceProcedures(Database database, String broker) {
        this.database = database;
        this.broker = broker;
    }

    boolean add(UUID tenant, UUID id, NewTrace trace) {
        return database.call(
                "add_trace",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement(
                                            "select queen_store.add_trace("
                                                    + "?, ?, ?, ?, ?, ?, ?, ?, ?)")) {
                        statement.setObject(1, tenant);
                        statement.setObject(2, id);
                        statement.setLong(3, trace.partitionNumber());
                        statement.setString(4, trace.transactionId());
                        statement.setString(5, trace.group());
                        statement.setString(6, trace.eventType());
                        statement.setString(7, trace.data().toString());
                        statement.setArray(
                                8,
                                session.connection()
                                        .createArrayOf(
                                                "text", trace.names().toArray(String[]::new)));
                        statement.setString(9, broker);
                        try (ResultSet result = statement.executeQuery()) {
                            return result.next() && result.getBoolean(1);
                        }
                    }
                });
    }
}
