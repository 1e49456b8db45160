package io.queenmq.db;

import java.time.Duration;

/**
 * Where the database is and how much of it one broker takes.
 *
 * @param host one name, or several separated by commas: the one that takes writes is used
 * @param poolSize connections of the data plane; a broker has {@link #BESIDE_THE_POOL} more
 * @param statementTimeout after that long the server cancels a statement
 * @param borrowTimeout after that long without a free connection a caller is refused
 * @param tls how connections are encrypted
 * @param migrates whether a start may bring the database to the schema of this broker
 */
public record DatabaseConfig(
        String host,
        int port,
        String database,
        String user,
        String password,
        int poolSize,
        Duration statementTimeout,
        Duration borrowTimeout,
        Tls tls,
        boolean migrates) {

    /** Those of cold reads, two that carry hints, and that of health. */
    public static final int BESIDE_THE_POOL = ColdReads.RUNNING_MAX + 2 + 1;

    public static final Duration STATEMENT_TIMEOUT = Duration.ofSeconds(30);
    public static final Duration BORROW_TIMEOUT = Duration.ofSeconds(5);

    public DatabaseConfig {
        if (poolSize < 1) {
            throw new IllegalArgumentException("poolSize must be at least 1, got " + poolSize);
        }
    }

    /** With every bound at its default. */
    public static DatabaseConfig of(
            String host, int port, String database, String user, String password) {
        return new DatabaseConfig(
                host,
                port,
                database,
                user,
                password,
                defaultPoolSize(Runtime.getRuntime().availableProcessors()),
                STATEMENT_TIMEOUT,
                BORROW_TIMEOUT,
                Tls.NONE,
                true);
    }

    /** More connections than this only queue inside the server. */
    public static int defaultPoolSize(int cores) {
        return Math.min(48, 4 * cores + 8);
    }

    /** What of so many connections one kind of calls may have at once: a tenth, within reason. */
    public static int share(int poolSize) {
        return Math.clamp(poolSize / 10, 4, 32);
    }

    public DatabaseConfig withPoolSize(int size) {
        return new DatabaseConfig(
                host,
                port,
                database,
                user,
                password,
                size,
                statementTimeout,
                borrowTimeout,
                tls,
                migrates);
    }

    public DatabaseConfig withStatementTimeout(Duration timeout) {
        return new DatabaseConfig(
                host,
                port,
                database,
                user,
                password,
                poolSize,
                timeout,
                borrowTimeout,
                tls,
                migrates);
    }

    public DatabaseConfig withBorrowTimeout(Duration timeout) {
        return new DatabaseConfig(
                host,
                port,
                database,
                user,
                password,
                poolSize,
                statementTimeout,
                timeout,
                tls,
                migrates);
    }

    public DatabaseConfig withTls(Tls other) {
        return new DatabaseConfig(
                host,
                port,
                database,
                user,
                password,
                poolSize,
                statementTimeout,
                borrowTimeout,
                other,
                migrates);
    }

    public DatabaseConfig withMigrates(boolean whether) {
        return new DatabaseConfig(
                host,
                port,
                database,
                user,
                password,
                poolSize,
                statementTimeout,
                borrowTimeout,
                tls,
                whether);
    }

    /** The same bounds for a server on this machine, whose connections need no encryption. */
    public DatabaseConfig at(
            String localHost, int localPort, String name, String owner, String secret) {
        return new DatabaseConfig(
                localHost,
                localPort,
                name,
                owner,
                secret,
                poolSize,
                statementTimeout,
                borrowTimeout,
                Tls.NONE,
                migrates);
    }

    /** Without the password, which must not reach a log. */
    @Override
    public String toString() {
        return user + "@" + host + ":" + port + "/" + database;
    }
}
