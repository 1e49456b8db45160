package io.queenmq.testkit;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A TCP link between two processes that a test can watch and break: it counts round trips, swallows
 * or holds the answers of a server that goes on working, and cuts what is open.
 */
public final class TcpProxy implements AutoCloseable {
    private final ServerSocket server;
    private final String targetHost;
    private final int targetPort;
    private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
    private final AtomicInteger roundTrips = new AtomicInteger();
    private final AtomicLong bytes = new AtomicLong();
    private volatile boolean swallowing;
    private volatile boolean refusing;
    private final Set<Link> links = ConcurrentHashMap.newKeySet();
    private volatile CompletableFuture<Void> gate = CompletableFuture.completedFuture(null);

    public TcpProxy(String targetHost, int targetPort) throws IOException {
        this.targetHost = targetHost;
        this.targetPort = targetPort;
        this.server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        Thread.ofVirtual().start(this::accept);
    }

    public int port() {
        return server.getLocalPort();
    }

    /** How often the link turned from sending to the server to receiving from it. */
    public int roundTrips() {
        return roundTrips.get();
    }

    /** Bytes that passed, in both directions. */
    public long bytes() {
        return bytes.get();
    }

    /** From now on the server's answers vanish; what is sent to it still arrives. */
    public void swallowAnswers(boolean on) {
        swallowing = on;
    }

    /** From now on the server's answers wait here until they are let go, or their link is cut. */
    public void holdAnswers() {
        gate = new CompletableFuture<>();
    }

    /** What was held arrives, and what comes from now on passes. */
    public void letGo() {
        gate.complete(null);
    }

    /** Returns when the server has answered all that it was asked: everything else waits here. */
    public void awaitAllHeld() {
        Await.until(
                "answers to all that was sent",
                () ->
                        links.stream().anyMatch(Link::isHeld)
                                && links.stream().noneMatch(Link::isAsking));
    }

    /** From now on new connections are closed at once, also one that is just being made. */
    public synchronized void refuse(boolean on) {
        refusing = on;
    }

    /** Breaks every open connection, on both sides. */
    public synchronized void cut() {
        for (Socket socket : sockets) {
            closeQuietly(socket);
        }
        sockets.clear();
    }

    @Override
    public void close() throws IOException {
        server.close();
        cut();
        letGo();
    }

    private void accept() {
        while (!server.isClosed()) {
            Socket client;
            try {
                client = server.accept();
            } catch (IOException e) {
                return;
            }
            if (refusing || !forward(client)) {
                closeQuietly(client);
            }
        }
    }

    /** Whether the target took the connection too. */
    private boolean forward(Socket client) {
        try {
            Socket target = new Socket(targetHost, targetPort);
            client.setTcpNoDelay(true);
            target.setTcpNoDelay(true);
            if (!register(client, target)) {
                closeQuietly(target);
                return false;
            }
            Link link = new Link();
            links.add(link);
            Thread.ofVirtual().start(() -> pump(client, target, link, true));
            Thread.ofVirtual().start(() -> pump(target, client, link, false));
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    /** Whether they may talk: nobody has refused it while they were being joined. */
    private synchronized boolean register(Socket client, Socket target) {
        if (refusing) {
            return false;
        }
        sockets.add(client);
        sockets.add(target);
        return true;
    }

    private static final class Link {
        private boolean sending;
        private boolean held;

        synchronized boolean isAsking() {
            return sending;
        }

        synchronized boolean isHeld() {
            return held;
        }

        /** Whether this answers what was sent: the first bytes that come back. */
        synchronized boolean turns(boolean toServer, boolean holding) {
            boolean answers = !toServer && sending;
            sending = toServer;
            held = !toServer && holding;
            return answers;
        }
    }

    private void pump(Socket from, Socket to, Link link, boolean toServer) {
        byte[] buffer = new byte[1 << 16];
        try {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            int n;
            while ((n = in.read(buffer)) >= 0) {
                bytes.addAndGet(n);
                CompletableFuture<Void> passage = gate;
                if (link.turns(toServer, !passage.isDone())) {
                    roundTrips.incrementAndGet();
                }
                if (!toServer) {
                    passage.join();
                }
                if (toServer || !swallowing) {
                    out.write(buffer, 0, n);
                    out.flush();
                }
            }
        } catch (IOException e) {
            // Either side went away: closing both below is all there is to do.
        } finally {
            closeQuietly(from);
            closeQuietly(to);
            sockets.remove(from);
            sockets.remove(to);
            links.remove(link);
        }
    }

    private static void closeQuietly(Socket socket) {
        try {
            socket.close();
        } catch (IOException e) {
            // Closed is closed.
        }
    }
}
