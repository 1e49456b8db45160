package io.queenmq.db;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Optional;

/**
 * A set of schema, functions and views.
 *
 * @param number raised by every change of the SQL tree
 * @param locations where Flyway finds it
 */
record Corpus(int number, List<String> locations) {

    /** What a database holds. */
    record Applied(int number, int compatibleFrom) {}

    /** The one this broker was built with. */
    static Corpus bundled() {
        try (InputStream in = Corpus.class.getResourceAsStream("/sql/CORPUS")) {
            if (in == null) {
                throw new IllegalStateException("the jar lacks sql/CORPUS");
            }
            String text = new String(in.readAllBytes(), StandardCharsets.US_ASCII);
            return new Corpus(
                    Integer.parseInt(text.strip()),
                    List.of(
                            "classpath:sql/schema",
                            "classpath:sql/functions",
                            "classpath:sql/views"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Empty = none was ever applied to its end. */
    static Optional<Applied> applied(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            try (ResultSet result =
                    statement.executeQuery(
                            "select to_regclass('queen_store.corpus') is not null")) {
                result.next();
                if (!result.getBoolean(1)) {
                    return Optional.empty();
                }
            }
            try (ResultSet result =
                    statement.executeQuery(
                            "select number, compatible_from from queen_store.corpus")) {
                return result.next()
                        ? Optional.of(new Applied(result.getInt(1), result.getInt(2)))
                        : Optional.empty();
            }
        }
    }

    /** Notes that all of it is in the database; only a V file raises {@code compatible_from}. */
    void note(Connection connection, String version) throws SQLException {
        try (PreparedStatement statement =
                connection.prepareStatement(
                        "insert into queen_store.corpus (number, compatible_from, applied_by) values"
                                + " (?, 1, ?) on conflict (only_row) do update set number ="
                                + " excluded.number, applied_at = excluded.applied_at, applied_by ="
                                + " excluded.applied_by")) {
            statement.setInt(1, number);
            statement.setString(2, version);
            statement.execute();
        }
    }
}
