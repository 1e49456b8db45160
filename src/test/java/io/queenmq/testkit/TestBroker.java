package io.queenmq.testkit;

import io.queenmq.Broker;
import io.queenmq.BrokerConfig;
import io.queenmq.config.Settings;
import io.queenmq.db.DatabaseConfig;
import io.queenmq.metrics.Metrics;
import io.queenmq.push.PushConfig;
import io.queenmq.web.Router;
import io.queenmq.web.WebConfig;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A whole broker on a free port, over a database of its own or one that the test keeps. */
public final class TestBroker implements AutoCloseable {
    private static final Duration BORROW_TIMEOUT = Duration.ofMillis(300);

    private final TestDatabase database;
    private final boolean ownsDatabase;
    private final Broker broker;
    private final Http http;

    private TestBroker(TestDatabase database, boolean ownsDatabase, BrokerConfig config) {
        this.database = database;
        this.ownsDatabase = ownsDatabase;
        this.broker = new Broker(config);
        broker.start();
        this.http = new Http(broker.port());
    }

    public static TestBroker start() {
        return owning(false);
    }

    /** One that reads {@code x-queen-tenant}. */
    public static TestBroker withTenancy() {
        return owning(true);
    }

    private static TestBroker owning(boolean tenancy) {
        TestDatabase database = TestDatabase.migrated();
        BrokerConfig config = BrokerConfig.on(database.config());
        WebConfig web = config.web();
        return new TestBroker(
                database,
                true,
                config.with(
                        WebConfig.of(
                                web.host(),
                                web.port(),
                                web.bodyBytesMax(),
                                web.keepAlive(),
                                tenancy)));
    }

    /** One of several, or one after another, over the same database. */
    public static TestBroker on(TestDatabase database) {
        return new TestBroker(database, false, BrokerConfig.on(database.config()));
    }

    /** One that is set up as an operator does it: by the environment. */
    public static TestBroker withEnvironment(TestDatabase database, Map<String, String> variables) {
        Map<String, String> environment =
                new HashMap<>(
                        Map.of(
                                "PG_HOST",
                                database.host(),
                                "PG_PORT",
                                Integer.toString(database.port()),
                                "PG_DATABASE",
                                database.name(),
                                "PG_USER",
                                database.user(),
                                "DB_POOL_SIZE",
                                "8",
                                "QUEEN_BIND_ADDR",
                                "127.0.0.1",
                                "PORT",
                                "0",
                                "QUEEN_KV_TRUSTED_PROXY",
                                "true"));
        environment.putAll(variables);
        return new TestBroker(database, false, BrokerConfig.from(Settings.of(environment)));
    }

    /** One that reaches the database over a link that the test can break. */
    public static TestBroker over(TcpProxy link, TestDatabase database) {
        return over(link, database, PushConfig.defaults());
    }

    /** The same with other bounds for pushes. */
    public static TestBroker over(TcpProxy link, TestDatabase database, PushConfig push) {
        return over(link.port(), database, push);
    }

    /** One whose calls to the database the test can stop by their names. */
    public static TestBroker over(PostgresLink link, TestDatabase database) {
        return over(link.port(), database, PushConfig.defaults());
    }

    /** The same with other bounds for pushes. */
    public static TestBroker over(PostgresLink link, TestDatabase database, PushConfig push) {
        return over(link.port(), database, push);
    }

    private static TestBroker over(int port, TestDatabase database, PushConfig push) {
        DatabaseConfig reached =
                DatabaseConfig.of("127.0.0.1", port, database.name(), database.user(), "")
                        .withPoolSize(8)
                        .withBorrowTimeout(BORROW_TIMEOUT);
        return new TestBroker(database, false, BrokerConfig.on(reached).with(push));
    }

    public Http http() {
        return http;
    }

    public int port() {
        return broker.port();
    }

    /** What it serves over HTTP. */
    public List<Router.Route> routes() {
        return broker.routes();
    }

    public TestDatabase database() {
        return database;
    }

    /** What is measured, as Prometheus reads it. */
    public String metrics() {
        return broker.metrics().prometheus();
    }

    /** The same, one by one. */
    public Metrics meters() {
        return broker.metrics();
    }

    /** Waits until exactly so many polls are parked. */
    public void awaitParked(int polls) {
        await("queen_ready_polls", polls);
    }

    /** Waits until exactly so many requests with a body are worked on. */
    public void awaitRequests(int requests) {
        await("queen_web_requests_inflight", requests);
    }

    /** Waits until others were told of all that happened here. */
    public void awaitTold() {
        await("queen_notify_unsent", 0);
    }

    /** Waits until others can tell this one. */
    public void awaitListening() {
        await("queen_notify_listening", 1);
    }

    /**
     * A metric's value now, -1 if there is none; the name is a pattern, which may go on with tags.
     */
    public double metric(String name) {
        Matcher value =
                Pattern.compile("^" + name + "(?:\\{[^}]*})? (\\S+)$", Pattern.MULTILINE)
                        .matcher(metrics());
        return value.find() ? Double.parseDouble(value.group(1)) : -1;
    }

    private void await(String gauge, int wanted) {
        Await.until(gauge + " is " + wanted, () -> metric(gauge) == wanted);
    }

    @Override
    public void close() {
        broker.close();
        http.close();
        if (ownsDatabase) {
            database.close();
        }
    }
}
