package io.queenmq.db;

import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** Reads what a statement answers. */
public final class Rows {
    private Rows() {}

    /** Reads the row that the cursor is on. */
    @FunctionalInterface
    public interface Reader<T> {
        T read(ResultSet row) throws SQLException;
    }

    /** All rows, in their order. */
    public static <T> List<T> list(PreparedStatement statement, Reader<T> reader)
            throws SQLException {
        List<T> all = new ArrayList<>();
        try (ResultSet rows = statement.executeQuery()) {
            while (rows.next()) {
                all.add(reader.read(rows));
            }
        }
        return all;
    }

    /** The row of a statement that answers with one. */
    public static <T> T only(PreparedStatement statement, Reader<T> reader) throws SQLException {
        try (ResultSet row = statement.executeQuery()) {
            row.next();
            return reader.read(row);
        }
    }
}
