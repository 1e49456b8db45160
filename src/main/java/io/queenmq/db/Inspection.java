package io.queenmq.db;

import io.queenmq.runtime.Clock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * One connection for questions about the server itself. There is no pool, since one session has to
 * answer; none of the broker's settings, since those of the role are asked for; and a standby
 * answers too. For one thread.
 */
public final class Inspection implements AutoCloseable {
    private static final int STATEMENT_SECONDS = 20;

    private final Connection connection;
    private final Backend handshake;

    private Inspection(Connection connection) throws SQLException {
        this.connection = connection;
        this.handshake = Connector.backendOf(connection);
    }

    /** The server refused a question; the message is its own. */
    public static final class Refused extends RuntimeException {
        private static final long serialVersionUID = 1L;

        Refused(SQLException error) {
            super(error.getMessage(), error);
        }

        /** What it said, on one line. */
        public String reason() {
            String message = getMessage();
            return message == null ? "no reason given" : message.replaceAll("\\s+", " ").strip();
        }
    }

    /**
     * Which functions and views there are.
     *
     * @param own of this broker
     * @param applied of the database; empty = none yet
     * @param compatibleFrom lowest that a broker may have to use the database
     */
    public record Corpora(int own, Optional<Integer> applied, int compatibleFrom) {}

    /** A row of an answer; a column that is null is not there. */
    public record Row(Map<String, Object> columns) {
        public Optional<String> find(String column) {
            return Optional.ofNullable(columns.get(column)).map(Object::toString);
        }

        public String text(String column) {
            return find(column).orElse("");
        }

        /** Null counts as 0. */
        public long number(String column) {
            return columns.get(column) instanceof Number number ? number.longValue() : 0;
        }

        /** Null counts as false. */
        public boolean is(String column) {
            return Boolean.TRUE.equals(columns.get(column));
        }
    }

    /**
     * Opens a connection.
     *
     * @throws DatabaseRefused with a sentence for the operator
     */
    public static Inspection open(DatabaseConfig config) {
        try {
            return new Inspection(Connector.openPlain(config));
        } catch (SQLException e) {
            throw new DatabaseRefused(
                    "cannot reach " + config + ": " + TlsFailure.sentence(config, e), e);
        }
    }

    /**
     * All rows of an answer.
     *
     * @throws Refused the server said no
     */
    public List<Row> rows(String sql, Object... arguments) {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setQueryTimeout(STATEMENT_SECONDS);
            for (int i = 0; i < arguments.length; i++) {
                statement.setObject(i + 1, arguments[i]);
            }
            List<Row> rows = new ArrayList<>();
            if (statement.execute()) {
                try (ResultSet answer = statement.getResultSet()) {
                    while (answer.next()) {
                        rows.add(read(answer));
                    }
                }
            }
            return rows;
        } catch (SQLException e) {
            throw new Refused(e);
        }
    }

    private static Row read(ResultSet answer) throws SQLException {
        ResultSetMetaData names = answer.getMetaData();
        Map<String, Object> columns = new HashMap<>();
        for (int i = 1; i <= names.getColumnCount(); i++) {
            Object value = answer.getObject(i);
            if (value != null) {
                columns.put(names.getColumnLabel(i), value);
            }
        }
        return new Row(columns);
    }

    /** The only row of an answer. */
    public Row row(String sql, Object... arguments) {
        return rows(sql, arguments).getFirst();
    }

    /** The server process, as it was named when the connection was made. */
    public int handshakePid() {
        return handshake.pid();
    }

    /**
     * Whether the server process runs on this machine: a tunnel may end here and lead elsewhere.
     */
    public boolean isLocal() {
        return isPostgres(row("select pg_backend_pid() as pid").number("pid"));
    }

    private static boolean isPostgres(long pid) {
        return ProcessHandle.of(pid)
                .map(ProcessHandle::info)
                .flatMap(info -> info.commandLine().or(info::command))
                .filter(command -> command.contains("postgres"))
                .isPresent();
    }

    /** Room on the disk of the server's files; empty = it cannot be seen from here. */
    public OptionalLong usableDiskBytes() {
        try {
            return usableDiskBytes(connection);
        } catch (SQLException e) {
            throw new Refused(e);
        }
    }

    /** The same for a connection of the pool. */
    public static OptionalLong usableDiskBytes(Connection connection) throws SQLException {
        try (PreparedStatement statement =
                        connection.prepareStatement(
                                "select pg_backend_pid(), (select setting from pg_settings where"
                                        + " name = 'data_directory')");
                ResultSet answer = statement.executeQuery()) {
            answer.next();
            String folder = answer.getString(2);
            // Shown to members of pg_read_all_settings alone.
            if (folder == null
                    || !isPostgres(answer.getLong(1))
                    || !Files.exists(Path.of(folder))) {
                return OptionalLong.empty();
            }
            return OptionalLong.of(Path.of(folder).toFile().getUsableSpace());
        }
    }

    /** Why a broker would get no connection; empty = it would. */
    public static Optional<String> brokerIsRefused(DatabaseConfig config, Clock clock) {
        try (Connection connection = new Connector(config, clock).getConnection()) {
            return connection.isValid(STATEMENT_SECONDS)
                    ? Optional.empty()
                    : Optional.of("the connection broke at once");
        } catch (SQLException e) {
            return Optional.of(new Refused(e).reason());
        }
    }

    /** What the database holds, and what this broker was built with. */
    public Corpora corpora() {
        try {
            Optional<Corpus.Applied> applied = Corpus.applied(connection);
            return new Corpora(
                    Corpus.bundled().number(),
                    applied.map(Corpus.Applied::number),
                    applied.map(Corpus.Applied::compatibleFrom).orElse(0));
        } catch (SQLException e) {
            throw new Refused(e);
        }
    }

    @Override
    public void close() {
        try {
            connection.close();
        } catch (SQLException e) {
            throw new Refused(e);
        }
    }
}
