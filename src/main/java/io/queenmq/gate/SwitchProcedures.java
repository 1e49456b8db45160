package io.queenmq.gate;

import io.queenmq.db.Database;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;

/** The rows of the switches. */
final class SwitchProcedures {
    private final Database database;

    SwitchProcedures(Database database) {
        this.database = database;
    }

    /** Those that are off; names that this version does not know are skipped. */
    Set<Switch> readOff() {
        return database.repeatable(
                "read_switches",
                session -> {
                    Set<Switch> off = EnumSet.noneOf(Switch.class);
                    try (PreparedStatement statement =
                                    session.connection()
                                            .prepareStatement(
                                                    "select name from queen_store.read_switches()"
                                                            + " where not enabled");
                            ResultSet rows = statement.executeQuery()) {
                        while (rows.next()) {
                            for (Switch one : Switch.values()) {
                                if (one.key().equals(rows.getString(1))) {
                                    off.add(one);
                                }
                            }
                        }
                    }
                    return off;
                });
    }

    void write(Map<Switch, Boolean> wanted) {
        database.repeatable(
                "set_switches",
                session -> {
                    Object[] names = wanted.keySet().stream().map(Switch::key).toArray();
                    Object[] enabled = wanted.values().toArray();
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement("select queen_store.set_switches(?, ?)")) {
                        statement.setArray(1, session.connection().createArrayOf("text", names));
                        statement.setArray(2, session.connection().createArrayOf("bool", enabled));
                        return statement.execute();
                    }
                });
    }
}
