package io.queenmq.testkit;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

/** Answers of SQL as text, the way {@code psql -At} prints them: for assertions that read well. */
public final class Lines {
    private Lines() {}

    /** Every row of the last statement, its columns joined by bars; null is an empty column. */
    public static List<String> lines(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            List<String> lines = new ArrayList<>();
            boolean result = statement.execute(sql);
            while (result || statement.getUpdateCount() != -1) {
                if (result) {
                    lines = read(statement.getResultSet());
                }
                result = statement.getMoreResults();
            }
            return lines;
        }
    }

    /** The only row. */
    public static String line(Connection connection, String sql) throws SQLException {
        List<String> lines = lines(connection, sql);
        if (lines.size() != 1) {
            throw new AssertionError("expected one row, got " + lines + " from " + sql);
        }
        return lines.getFirst();
    }

    private static List<String> read(ResultSet result) throws SQLException {
        List<String> lines = new ArrayList<>();
        int columns = result.getMetaData().getColumnCount();
        while (result.next()) {
            List<String> values = new ArrayList<>();
            for (int i = 1; i <= columns; i++) {
                String value = result.getString(i);
                values.add(value == null ? "" : value);
            }
            lines.add(String.join("|", values));
        }
        return lines;
    }
}
