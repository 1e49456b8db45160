package io.queenmq.db;

import io.queenmq.runtime.Clock;
import java.io.PrintWriter;
import java.lang.System.Logger.Level;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.logging.Logger;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.postgresql.Driver;
import org.postgresql.PGConnection;

/**
 * Opens connections with the settings of the broker. Each carries an application name that no other
 * connection ever had, so that (pid, name) identifies its server process even after the pid was
 * given to another. Safe for any thread.
 */
final class Connector implements DataSource {
    private static final System.Logger LOG = System.getLogger(Connector.class.getName());

    private static final Driver DRIVER = new Driver();

    /** Logs are rotated, and who reads them later sees that it goes on. */
    private static final long TOLD_AGAIN_NANOS = Duration.ofMinutes(5).toNanos();

    private final DatabaseConfig config;
    private final String bootId;
    private final String options;
    private final Clock clock;
    private final AtomicLong opened = new AtomicLong();
    private final AtomicReference<@Nullable Outage> outage = new AtomicReference<>();

    /**
     * No connection could be opened since then; the error is the last one, the sentence the one
     * that was logged last, and when.
     */
    record Outage(long sinceNanos, SQLException error, String told, long toldNanos) {
        /** Whether the log does not know it yet, or heard it long ago. */
        private boolean isNews(String sentence, long nanos) {
            return !told.equals(sentence) || nanos - toldNanos >= TOLD_AGAIN_NANOS;
        }

        private Outage goesOn(SQLException latest, String sentence, long nanos) {
            return isNews(sentence, nanos)
                    ? new Outage(sinceNanos, latest, sentence, nanos)
                    : new Outage(sinceNanos, latest, told, toldNanos);
        }
    }

    Connector(DatabaseConfig config, Clock clock) {
        this(config, clock, "");
    }

    /**
     * Opens connections with further settings of the server.
     *
     * @param options as the program {@code postgres} takes them
     */
    Connector(DatabaseConfig config, Clock clock, String options) {
        this.config = config;
        this.options = options;
        this.clock = clock;
        this.bootId = "%08x".formatted(ThreadLocalRandom.current().nextInt());
    }

    /** The start of the application name of every connection of this broker. */
    String applicationPrefix() {
        return "queen-" + bootId + "-";
    }

    @Override
    public Connection getConnection() throws SQLException {
        return open(config.statementTimeout());
    }

    /**
     * @param statementTimeout the server cancels a statement after it; zero = never, and reads of
     *     the socket wait without limit
     */
    Connection open(Duration statementTimeout) throws SQLException {
        Properties properties = login(config);
        properties.setProperty("ApplicationName", applicationPrefix() + opened.incrementAndGet());
        // Prepared on the server from the first use: a hot call is parsed once per connection.
        properties.setProperty("prepareThreshold", "1");
        properties.setProperty("binaryTransfer", "true");
        // Details of errors show values of rows: they are for applications, not for logs.
        properties.setProperty("logServerErrorDetail", "false");
        properties.setProperty("preparedStatementCacheQueries", "256");
        properties.setProperty("preparedStatementCacheSizeMiB", "8");
        // A server that was demoted after a failover takes connections but no writes.
        properties.setProperty("targetServerType", "primary");
        // The server cancels first and answers; the socket gives up only when it does not.
        long seconds = statementTimeout.plusMillis(999).toSeconds();
        properties.setProperty(
                "socketTimeout", Long.toString(seconds + Math.min(5, (seconds + 1) / 2)));
        // Compiling a plan costs more than running any of ours.
        properties.setProperty(
                "options",
                "-c jit=off"
                        // Every function is written for statements that see what locks waited for.
                        + " -c default_transaction_isolation=read\\ committed"
                        + " -c statement_timeout="
                        + statementTimeout.toMillis()
                        + " "
                        + options);
        try {
            Connection connection = connect(config, properties);
            Outage over = outage.getAndSet(null);
            if (over != null) {
                LOG.log(
                        Level.INFO,
                        "the database is reached again address={0} after_ms={1}",
                        config,
                        Long.toString((clock.nanos() - over.sinceNanos()) / 1_000_000));
            }
            return connection;
        } catch (SQLException e) {
            failed(e);
            throw e;
        }
    }

    /** Of many that fail at once, and go on to, one tells. */
    private void failed(SQLException error) {
        String sentence = TlsFailure.sentence(config, error);
        long nanos = clock.nanos();
        Outage before =
                outage.getAndUpdate(
                        known ->
                                known == null
                                        ? new Outage(nanos, error, sentence, nanos)
                                        : known.goesOn(error, sentence, nanos));
        if (before == null || before.isNews(sentence, nanos)) {
            long since = before == null ? nanos : before.sinceNanos();
            LOG.log(
                    Level.WARNING,
                    "the database cannot be reached address={0} after_ms={1} error={2}",
                    config,
                    Long.toString((nanos - since) / 1_000_000),
                    sentence);
        }
    }

    /**
     * Opens a connection as any application would: with the settings that the server has for the
     * role, nothing prepared there, and to a standby where no server takes writes.
     */
    static Connection openPlain(DatabaseConfig config) throws SQLException {
        Properties properties = login(config);
        properties.setProperty("ApplicationName", "queen-inspection");
        properties.setProperty("targetServerType", "preferPrimary");
        properties.setProperty("prepareThreshold", "0");
        properties.setProperty("socketTimeout", "30");
        return connect(config, properties);
    }

    private static Properties login(DatabaseConfig config) {
        Properties properties = new Properties();
        properties.setProperty("user", config.user());
        properties.setProperty("password", config.password());
        properties.setProperty("tcpKeepAlive", "true");
        properties.setProperty("connectTimeout", "5");
        properties.setProperty("loginTimeout", "10");
        properties.setProperty("cancelSignalTimeout", "5");
        TlsSockets.configure(properties, config.tls());
        return properties;
    }

    private static Connection connect(DatabaseConfig config, Properties properties)
            throws SQLException {
        Connection connection = DRIVER.connect(url(config), properties);
        if (connection == null) {
            throw new SQLException("not a PostgreSQL address: " + config);
        }
        return connection;
    }

    /** Null while connections can be opened. */
    @Nullable Outage outage() {
        return outage.get();
    }

    private static String url(DatabaseConfig config) {
        StringBuilder hosts = new StringBuilder();
        for (String host : config.host().split(",", -1)) {
            hosts.append(hosts.isEmpty() ? "" : ",")
                    .append(host.strip())
                    .append(':')
                    .append(config.port());
        }
        return "jdbc:postgresql://" + hosts + "/" + encode(config.database());
    }

    private static String encode(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }

    static Backend backendOf(Connection connection) throws SQLException {
        PGConnection pg = connection.unwrap(PGConnection.class);
        String name = pg.getParameterStatus("application_name");
        return new Backend(pg.getBackendPID(), name == null ? "" : name);
    }

    @Override
    public Connection getConnection(String user, String password) throws SQLException {
        throw new SQLFeatureNotSupportedException("one user per broker");
    }

    @Override
    public @Nullable PrintWriter getLogWriter() {
        return null;
    }

    @Override
    public void setLogWriter(@Nullable PrintWriter out) {
        // The driver logs through java.util.logging.
    }

    @Override
    public void setLoginTimeout(int seconds) {
        // The pool sets it to its own patience, which is longer than the one set above.
    }

    /**
     * So long a pool that is being closed waits for a connection under way: nobody else closes it.
     */
    @Override
    public int getLoginTimeout() {
        return 5;
    }

    @Override
    public Logger getParentLogger() throws SQLFeatureNotSupportedException {
        throw new SQLFeatureNotSupportedException();
    }

    @Override
    public <T> T unwrap(Class<T> type) throws SQLException {
        return type.cast(this);
    }

    @Override
    public boolean isWrapperFor(Class<?> type) {
        return type.isInstance(this);
    }
}
