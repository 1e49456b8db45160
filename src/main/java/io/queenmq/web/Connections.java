package io.queenmq.web;

import io.helidon.common.buffers.BufferData;
import io.helidon.common.concurrency.limits.Limit;
import io.helidon.common.task.InterruptableTask;
import io.helidon.webserver.ConnectionContext;
import io.helidon.webserver.http1.Http1Connection;
import io.helidon.webserver.http1.Http1ConnectionSelector;
import io.helidon.webserver.spi.ServerConnection;
import io.helidon.webserver.spi.ServerConnectionSelector;
import io.micrometer.core.instrument.Counter;
import io.queenmq.metrics.Metrics;
import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Every open connection, each wrapped as a {@link ClientConnection}, and the watchdog that closes
 * those that stall in the middle of a request or an answer. One watchdog looks at all of them: a
 * deadline costs a request two writes to a field and no timer.
 */
final class Connections implements ServerConnectionSelector {
    private static final System.Logger LOG = System.getLogger(Connections.class.getName());
    private static final Duration WATCH_PERIOD_MAX = Duration.ofSeconds(1);

    private final Http1ConnectionSelector http1;
    private final Clock clock;
    private final Duration headTime;
    private final Duration watchPeriod;
    private final Counter late;
    private final Set<ClientConnection> open = ConcurrentHashMap.newKeySet();
    private final ReentrantLock watchLock = new ReentrantLock();
    private final Condition watchEnds = watchLock.newCondition();
    private boolean watching = true;

    Connections(Http1ConnectionSelector http1, WebConfig config, Clock clock, Metrics metrics) {
        this.http1 = http1;
        this.clock = clock;
        this.headTime = config.bodyTime();
        Duration quarter = config.bodyTime().dividedBy(4);
        this.watchPeriod = quarter.compareTo(WATCH_PERIOD_MAX) < 0 ? quarter : WATCH_PERIOD_MAX;
        this.late =
                metrics.counter(
                        "queen_web_connections_late_total",
                        "Connections closed because a request or an answer stalled.");
        metrics.gauge("queen_web_connections", "Open connections.", open::size);
        metrics.gauge(
                "queen_web_connections_max",
                "Connections there may be at once; further ones wait to be accepted.",
                config::connectionsMax);
    }

    /** Runs until {@link #stopWatching}, on a thread of its own. */
    void watch() {
        watchLock.lock();
        try {
            while (watching) {
                long now = clock.nanos();
                open.forEach(connection -> closeIfLate(connection, now));
                long left = watchPeriod.toNanos();
                while (watching && left > 0) {
                    left = watchEnds.awaitNanos(left);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            watchLock.unlock();
        }
    }

    private void closeIfLate(ClientConnection connection, long now) {
        try {
            if (connection.closeIfLate(now)) {
                late.increment();
            }
        } catch (RuntimeException e) {
            // Its own thread closes it at the same time; the others still need the watchdog.
            LOG.log(System.Logger.Level.DEBUG, "a late connection was not closed twice", e);
        }
    }

    void stopWatching() {
        watchLock.lock();
        try {
            watching = false;
            watchEnds.signalAll();
        } finally {
            watchLock.unlock();
        }
    }

    /** The server is stopping: whoever is in the middle of a request has this long to finish it. */
    void hurry(Duration time) {
        for (ClientConnection connection : open) {
            connection.hurry(time);
        }
    }

    @Override
    public int bytesToIdentifyConnection() {
        return http1.bytesToIdentifyConnection();
    }

    @Override
    public Support supports(BufferData data) {
        return http1.supports(data);
    }

    @Override
    public Set<String> supportedApplicationProtocols() {
        return http1.supportedApplicationProtocols();
    }

    @Override
    public ServerConnection connection(ConnectionContext context) {
        ClientConnection client = new ClientConnection(context, clock, headTime);
        return new Tracked(client, (Http1Connection) http1.connection(client));
    }

    /** The server's own connection, registered while it runs and named for its handlers. */
    private final class Tracked implements ServerConnection, InterruptableTask<Void> {
        private final ClientConnection client;
        private final Http1Connection delegate;

        Tracked(ClientConnection client, Http1Connection delegate) {
            this.client = client;
            this.delegate = delegate;
        }

        @Override
        public void handle(Limit limit) throws InterruptedException {
            open.add(client);
            try {
                ScopedValue.where(ClientConnection.CURRENT, client)
                        .call(
                                () -> {
                                    delegate.handle(limit);
                                    return Boolean.TRUE;
                                });
            } finally {
                open.remove(client);
            }
        }

        @Override
        public boolean canInterrupt() {
            return delegate.canInterrupt();
        }

        @Override
        public Duration idleTime() {
            return delegate.idleTime();
        }

        @Override
        public void close(boolean interrupt) {
            delegate.close(interrupt);
        }
    }
}
