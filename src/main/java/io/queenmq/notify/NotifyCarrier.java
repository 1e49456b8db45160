package io.queenmq.notify;

import io.helidon.metrics.api.Counter;
import io.queenmq.db.Database;
import io.queenmq.hint.HintOutbox;
import io.queenmq.hint.HintSink;
import io.queenmq.hint.HintText;
import io.queenmq.metrics.Metrics;
import io.queenmq.runtime.Clock;
import io.queenmq.runtime.Loop;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;

/**
 * Carries hints by LISTEN and NOTIFY on two connections of its own, which open again by themselves.
 * A new listener is followed by one look at everything, since hints were lost meanwhile; while it
 * is down, {@link #isListening} says so and others must look more often. The first hint after a
 * quiet spell leaves at once, later ones at most every 25 ms.
 */
public final class NotifyCarrier implements AutoCloseable {
    private static final String CHANNEL = "queen_hints";
    private static final int WAIT_MILLIS = 10_000;
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
                metrics.counter("queen_notify_received_total", "Notifications of others received.");
        this.sent = metrics.counter("queen_notify_sent_total", "Notifications sent to others.");
        this.connects =
                metrics.counter(
                        "queen_notify_listens_total", "Times the listener began to listen.");
        metrics.gauge(
                "queen_notify_listening",
                "1 while the listener hears notifications, else 0.",
                () -> listening ? 1 : 0);
    }

    public void start() {
        listener = Loop.start("notify-listener", PAUSE, this::listen, metrics, clock);
        sender = Loop.start("notify-sender", PAUSE, this::send, metrics, clock);
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
    }

    /** Until the connection breaks. */
    private void listen() throws SQLException, InterruptedException {
        try (Database.Session session = database.openDedicated()) {
            Connection connection = session.connection();
            try (Statement statement = connection.createStatement()) {
                statement.execute("listen " + CHANNEL);
            }
            listening = true;
            connects.increment();
            sink.everythingChanged();
            PGConnection notifications = connection.unwrap(PGConnection.class);
            while (true) {
                PGNotification[] some = notifications.getNotifications(WAIT_MILLIS);
                if (Thread.interrupted()) {
                    throw new InterruptedException("the carrier is being closed");
                }
                if (some == null || some.length == 0) {
                    if (!connection.isValid(PROBE_SECONDS)) {
                        throw new SQLException("the listener's connection is dead");
                    }
                } else {
                    hear(some);
                }
            }
        } finally {
            listening = false;
        }
    }

    private void hear(PGNotification[] notifications) {
        for (PGNotification notification : notifications) {
            if (notification.getPID() != ownPid) {
                received.increment();
                HintText.read(notification.getParameter(), sink);
            }
        }
    }

    /** Until the connection breaks. */
    private void send() throws SQLException, InterruptedException {
        try (Database.Session session = database.openDedicated()) {
            Connection connection = session.connection();
            ownPid = session.backend().pid();
            try (Statement statement = connection.createStatement()) {
                // A notification writes nothing worth waiting for.
                statement.execute("set synchronous_commit = off");
            }
            try (PreparedStatement statement =
                    connection.prepareStatement("select pg_catalog.pg_notify(?, ?)")) {
                statement.setString(1, CHANNEL);
                while (true) {
                    send(statement, outbox.take());
                    LockSupport.parkNanos(SEND_PAUSE_NANOS);
                }
            }
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
        }
    }
}
