package io.queenmq.notify;

import io.micrometer.core.instrument.Counter;
import io.queenmq.db.Database;
import io.queenmq.hint.HintOutbox;
import io.queenmq.hint.HintSink;
import io.queenmq.hint.HintText;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import io.queenmq.runtime.Loop;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;
import org.postgresql.util.PSQLState;

/**
 * Carries hints by LISTEN and NOTIFY on two connections of its own, which open again by themselves.
 * A new listener is followed by one look at everything, since hints were lost meanwhile; while it
 * is down, {@link #isListening} says so and others must look more often. The first hint after a
 * quiet spell leaves at once, later ones at most every 25 ms.
 */
public final class NotifyCarrier implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger(NotifyCarrier.class.getName());
    private static final String CHANNEL = "queen_hints";
    private static final String LISTENING =
            "select c from pg_catalog.pg_listening_channels() c where c = '" + CHANNEL + "'";
    private static final String NOTIFY = "select pg_catalog.pg_notify(?, ?)";
    private static final Duration WAIT = Duration.ofSeconds(10);
    private static final int PROBE_SECONDS = 5;
    private static final Duration PAUSE = Duration.ofMillis(100);
    private static final long SEND_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(25);

    private final Database database;
    private final HintOutbox outbox;
    private final HintSink sink;
    private final Metrics metrics;
    private final Clock clock;
    private final Counter received;
    private final Counter sent;
    private final Counter connects;
    private volatile boolean listening;

    /** Notifications did not come the last time; the listener's own. */
    private boolean deaf;

    /** Of the connection that sends: what comes from there is our own. */
    private volatile int ownPid;

    private @Nullable Loop listener;
    private @Nullable Loop sender;

    public NotifyCarrier(
            Database database, HintOutbox outbox, HintSink sink, Metrics metrics, Clock clock) {
        this.database = database;
        this.outbox = outbox;
        this.sink = sink;
        this.metrics = metrics;
        this.clock = clock;
        this.received =
                metrics.counter("queen_notify_received_total", "Notifications of others acted on.");
        this.sent = metrics.counter("queen_notify_sent_total", "Notifications sent to others.");
        this.connects =
                metrics.counter(
                        "queen_notify_listens_total", "Times the listener began to listen.");
        metrics.gauge(
                "queen_notify_unsent",
                "Lanes and queues that the other brokers are still to be told of.",
                outbox::unsent);
        metrics.gauge(
                "queen_notify_listening",
                "1 while the listener hears notifications, else 0.",
                () -> listening ? 1 : 0);
    }

    public void start() {
        listener = Loop.startStanding("notify-listener", PAUSE, this::listen, metrics, clock);
        sender = Loop.startStanding("notify-sender", PAUSE, this::send, metrics, clock);
    }

    /** Whether notifications are heard at present. */
    public boolean isListening() {
        return listening;
    }

    @Override
    public void close() {
        if (listener != null) {
            listener.close();
        }
        if (sender != null) {
            sender.close();
        }
        sendTheRest();
    }

    /** What is still to be told; others would wait for their next look at the tables. */
    private void sendTheRest() {
        String rest = outbox.takeAll();
        if (rest.isEmpty()) {
            return;
        }
        try {
            database.call(
                    "pg_notify",
                    session -> {
                        try (PreparedStatement statement =
                                session.connection().prepareStatement(NOTIFY)) {
                            statement.setString(1, CHANNEL);
                            statement.setString(2, rest);
                            return statement.execute();
                        }
                    });
            sent.increment();
        } catch (QueenException e) {
            LOG.log(System.Logger.Level.WARNING, "the last hints were not sent cause=" + e);
        }
    }

    /** Until the connection breaks. */
    private void listen(Runnable atWork) throws InterruptedException {
        try (Database.Session session = database.openDedicated()) {
            Connection connection = session.connection();
            try (Statement statement = connection.createStatement()) {
                statement.execute("listen " + CHANNEL);
            }
            // Who was deaf the last time has to hear something first.
            listening = !deaf;
            connects.increment();
            sink.everythingChanged();
            PGConnection notifications = connection.unwrap(PGConnection.class);
            while (true) {
                atWork.run();
                PGNotification[] some = notifications.getNotifications((int) WAIT.toMillis());
                if (Thread.interrupted()) {
                    throw new InterruptedException("the carrier is being closed");
                }
                if (some == null || some.length == 0) {
                    probe(connection);
                    probeEars(connection);
                } else {
                    hear(some);
                }
                deaf = false;
                listening = true;
            }
        } catch (SQLException e) {
            deaf = Database.isShared(e);
            throw Database.ended("the connection for hints", e);
        } finally {
            listening = false;
        }
    }

    private static void probe(Connection connection) throws SQLException {
        if (!connection.isValid(PROBE_SECONDS)) {
            throw new SQLException(
                    "the carrier's connection is dead", PSQLState.CONNECTION_FAILURE.getState());
        }
    }

    /** A pooler takes LISTEN, and gives the server connection that listens to somebody else. */
    private void probeEars(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet channels = statement.executeQuery(LISTENING)) {
            if (!channels.next()) {
                throw new SQLException(
                        "LISTEN is forgotten: looks at the tables wake parked polls instead",
                        PSQLState.INVALID_SQL_STATEMENT_NAME.getState());
            }
        }
    }

    private void hear(PGNotification[] notifications) {
        for (PGNotification notification : notifications) {
            if (notification.getPID() != ownPid) {
                HintText.read(notification.getParameter(), sink);
                received.increment();
            }
        }
    }

    /** Until the connection breaks. */
    private void send(Runnable atWork) throws InterruptedException {
        try (Database.Session session = database.openDedicated()) {
            Connection connection = session.connection();
            ownPid = session.backend().pid();
            try (Statement statement = connection.createStatement()) {
                // A notification writes nothing worth waiting for.
                statement.execute("set synchronous_commit = off");
            }
            try (PreparedStatement statement = connection.prepareStatement(NOTIFY)) {
                statement.setString(1, CHANNEL);
                while (true) {
                    String text = outbox.take(WAIT);
                    if (text.isEmpty()) {
                        probe(connection);
                    } else {
                        send(statement, text);
                        LockSupport.parkNanos(SEND_PAUSE_NANOS);
                    }
                    // Not before: a connection on which nothing can be sent is no success.
                    atWork.run();
                }
            }
        } catch (SQLException e) {
            throw Database.ended("the connection for hints", e);
        }
    }

    private void send(PreparedStatement statement, String text) throws SQLException {
        try {
            statement.setString(2, text);
            statement.execute();
            sent.increment();
        } catch (SQLException e) {
            outbox.everythingChanged();
            throw e;
        } finally {
            outbox.sent();
        }
    }
}
