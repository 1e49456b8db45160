package io.queenmq.web;

import io.helidon.common.buffers.DataReader;
import io.helidon.common.buffers.DataWriter;
import io.helidon.common.socket.HelidonSocket;
import io.helidon.common.socket.PeerInfo;
import io.helidon.webserver.ConnectionContext;
import io.helidon.webserver.ListenerContext;
import io.helidon.webserver.ProxyProtocolData;
import io.helidon.webserver.Router;
import io.queenmq.runtime.Clock;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * A connection whose input passes through us, for two things the server itself does not offer: a
 * parked request learns that its client has left (a helper thread reads ahead; what it reads is the
 * next request, and nothing at all means gone), and input that stalls has a deadline.
 *
 * <p>Everything but {@link #closeIfLate} and the helper runs on the connection's own thread.
 */
final class ClientConnection implements ConnectionContext, Connection {
    /** The connection of the request that this thread handles. */
    static final ScopedValue<ClientConnection> CURRENT = ScopedValue.newInstance();

    private static final long NONE = Long.MAX_VALUE;

    private final ConnectionContext delegate;
    private final Clock clock;
    private final Duration headTime;
    private final DataReader reader;
    private final AtomicReference<@Nullable Runnable> action = new AtomicReference<>();
    private @Nullable FutureTask<byte @Nullable []> ahead;
    private boolean handling;
    private volatile boolean gone;
    private volatile long deadlineNanos = NONE;

    ClientConnection(ConnectionContext delegate, Clock clock, Duration headTime) {
        this.delegate = delegate;
        this.clock = clock;
        this.headTime = headTime;
        this.reader = DataReader.create(this::pull);
    }

    /** A request has been read up to its body. */
    void requestBegins() {
        handling = true;
        deadlineNanos = NONE;
    }

    /** The request is answered and its body read. */
    void requestEnds() {
        handling = false;
        deadlineNanos = NONE;
        action.set(null);
    }

    /** Closes the connection unless {@link #onTime} is called before so much time has passed. */
    void within(Duration time) {
        deadlineNanos = clock.nanos() + time.toNanos();
    }

    /** What had a deadline is done. */
    void onTime() {
        deadlineNanos = NONE;
    }

    /** Called by the watchdog; true if the connection was late and is closed now. */
    boolean closeIfLate(long nowNanos) {
        long deadline = deadlineNanos;
        if (deadline == NONE || nowNanos - deadline < 0) {
            return false;
        }
        deadlineNanos = NONE;
        delegate.serverSocket().close();
        return true;
    }

    /** A deadline in force becomes at most this long: the server is stopping. */
    void hurry(Duration time) {
        long soon = clock.nanos() + time.toNanos();
        if (deadlineNanos != NONE && deadlineNanos - soon > 0) {
            deadlineNanos = soon;
        }
    }

    @Override
    public boolean isGone() {
        return gone;
    }

    @Override
    public void onGone(Runnable newAction) {
        if (reader.available() > 0 || delegate.dataReader().available() > 0) {
            return; // the next request is here already: its sender still waits for both answers
        }
        action.set(newAction);
        if (gone) {
            fireGone();
        } else if (ahead == null) {
            FutureTask<byte @Nullable []> read = new FutureTask<>(this::readAhead);
            ahead = read;
            Thread.ofVirtual().name("read-ahead").start(read);
        }
    }

    private byte @Nullable [] readAhead() {
        byte[] bytes = receive();
        if (bytes == null) {
            fireGone();
        }
        return bytes;
    }

    private void fireGone() {
        gone = true;
        Runnable pending = action.getAndSet(null);
        if (pending != null) {
            pending.run();
        }
    }

    // Null means the end of the stream: an exception here would make the server write a stray 500.
    private byte @Nullable [] pull() {
        if (!handling && reader.available() > 0 && deadlineNanos == NONE) {
            within(headTime); // the first bytes of a request are here and the rest is not
        }
        DataReader detected = delegate.dataReader();
        int available = detected.available();
        if (available > 0) {
            return detected.readBytes(available);
        }
        FutureTask<byte @Nullable []> read = ahead;
        if (read == null) {
            return receive();
        }
        try {
            byte[] bytes = read.get();
            ahead = null;
            return bytes;
        } catch (ExecutionException e) {
            return null;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return null;
        }
    }

    private byte @Nullable [] receive() {
        try {
            return delegate.serverSocket().get();
        } catch (UncheckedIOException e) {
            return null;
        }
    }

    @Override
    public DataReader dataReader() {
        return reader;
    }

    @Override
    public ListenerContext listenerContext() {
        return delegate.listenerContext();
    }

    @Override
    public ExecutorService executor() {
        return delegate.executor();
    }

    @Override
    public DataWriter dataWriter() {
        return delegate.dataWriter();
    }

    @Override
    public Router router() {
        return delegate.router();
    }

    @Override
    public Optional<ProxyProtocolData> proxyProtocolData() {
        return delegate.proxyProtocolData();
    }

    @Override
    public HelidonSocket serverSocket() {
        return delegate.serverSocket();
    }

    @Override
    public PeerInfo remotePeer() {
        return delegate.remotePeer();
    }

    @Override
    public PeerInfo localPeer() {
        return delegate.localPeer();
    }

    @Override
    public boolean isSecure() {
        return delegate.isSecure();
    }

    @Override
    public String socketId() {
        return delegate.socketId();
    }

    @Override
    public String childSocketId() {
        return delegate.childSocketId();
    }
}
