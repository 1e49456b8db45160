package io.queenmq.testkit;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A link between a broker and PostgreSQL that reads along: it knows which procedure of {@code
 * queen_store} a request calls, and stops the next call of one where a test wants it to, until that
 * says how it goes on. All other connections run meanwhile.
 */
public final class PostgresLink implements AutoCloseable {
    /** Where a call stops. */
    public enum Point {
        /** All of the request has left the broker, nothing of it has reached the server. */
        REQUEST,
        /** The server has done the work and committed, nothing of its answer has left for home. */
        ANSWER
    }

    private static final long PATIENCE_SECONDS = 60;
    private static final int SSL_REQUEST = 80877103;
    private static final int GSS_REQUEST = 80877104;
    private static final Pattern PROCEDURE = Pattern.compile("queen_store\\.([a-z_]+)");

    /** Messages of the client that are answered only together with a later one. */
    private static final String UNANSWERED = "PBDEC";

    private final ServerSocket server;
    private final String targetHost;
    private final int targetPort;
    private final Set<Connection> connections = ConcurrentHashMap.newKeySet();
    private final Queue<Halt> armed = new ConcurrentLinkedQueue<>();
    private final Queue<Halt> halts = new ConcurrentLinkedQueue<>();
    private volatile boolean refusing;
    private final Map<String, Long> calls = new ConcurrentHashMap<>();

    public PostgresLink(String targetHost, int targetPort) throws IOException {
        this.targetHost = targetHost;
        this.targetPort = targetPort;
        this.server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        Thread.ofVirtual().start(this::accept);
    }

    public int port() {
        return server.getLocalPort();
    }

    /** The next call of that procedure stops at that point; one call, whoever makes it. */
    public Halt haltAt(String procedure, Point point) {
        Halt halt = new Halt(procedure, point);
        halts.add(halt);
        armed.add(halt);
        return halt;
    }

    /** Names of the procedures that were called over this link. */
    public Set<String> called() {
        return Set.copyOf(calls.keySet());
    }

    /** How often each of them was. */
    public Map<String, Long> calls() {
        return Map.copyOf(calls);
    }

    /** Breaks every open connection, on both sides; what is held never arrives. */
    public synchronized void cut() {
        connections.forEach(Connection::cut);
    }

    /** From now on new connections are closed at once, also one that is just being made. */
    public synchronized void refuse(boolean on) {
        refusing = on;
    }

    @Override
    public void close() throws IOException {
        server.close();
        armed.clear();
        cut();
        halts.forEach(Halt::cut);
    }

    /** One stop of one call, which the test has to let go again. */
    public static final class Halt {
        private enum Fate {
            PASS,
            CUT,
            SWALLOW
        }

        private final String procedure;
        private final Point point;
        private final CompletableFuture<Void> reached = new CompletableFuture<>();
        private final CompletableFuture<Fate> fate = new CompletableFuture<>();

        private Halt(String procedure, Point point) {
            this.procedure = procedure;
            this.point = point;
        }

        /** Returns when the call stands. */
        public void awaitReached() throws InterruptedException {
            try {
                reached.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
            } catch (TimeoutException | ExecutionException e) {
                throw new AssertionError(procedure + " was not called", e);
            }
        }

        public boolean isReached() {
            return reached.isDone();
        }

        /** Goes on as if nothing had happened. */
        public void pass() {
            fate.complete(Fate.PASS);
        }

        /** What is held is lost, and the connection breaks on both sides. */
        public void cut() {
            fate.complete(Fate.CUT);
        }

        /** What is held is lost; the connection stays open, and nothing comes through any more. */
        public void swallow() {
            fate.complete(Fate.SWALLOW);
        }

        private Fate stop() throws IOException {
            reached.complete(null);
            try {
                return fate.get();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IOException(e);
            } catch (ExecutionException e) {
                throw new IOException(e);
            }
        }
    }

    private Optional<Halt> take(String procedure, Point point) {
        return armed.stream()
                .filter(halt -> halt.procedure.equals(procedure) && halt.point == point)
                .findFirst()
                .filter(armed::remove);
    }

    private void accept() {
        while (!server.isClosed()) {
            Socket client;
            try {
                client = server.accept();
            } catch (IOException e) {
                return;
            }
            if (refusing || !join(client)) {
                closeQuietly(client);
            }
        }
    }

    /** Whether the target took the connection too, and nobody has refused it meanwhile. */
    private boolean join(Socket client) {
        try {
            Connection connection = new Connection(client, new Socket(targetHost, targetPort));
            return register(connection);
        } catch (IOException e) {
            return false;
        }
    }

    private synchronized boolean register(Connection connection) {
        if (refusing) {
            closeQuietly(connection.target);
            return false;
        }
        connection.start();
        return true;
    }

    /** One connection of the broker, and the one to the server that it is led on to. */
    private final class Connection {
        private final Socket client;
        private final Socket target;

        /** Statements that the client has prepared; its own thread's. */
        private final Map<String, String> procedures = new HashMap<>();

        /** Of every request under way, what waits for its answer. */
        private final Queue<Optional<Halt>> underWay = new ArrayDeque<>();

        private volatile boolean plainAnswerDue;
        private volatile boolean mute;

        Connection(Socket client, Socket target) throws IOException {
            this.client = client;
            this.target = target;
            client.setTcpNoDelay(true);
            target.setTcpNoDelay(true);
        }

        void start() {
            connections.add(this);
            Thread.ofVirtual().start(() -> run(this::requests));
            Thread.ofVirtual().start(() -> run(this::answers));
        }

        private void run(Pump pump) {
            try {
                pump.run();
            } catch (IOException e) {
                // One side went away: the other has to hear of it, below.
            } finally {
                cut();
            }
        }

        void cut() {
            closeQuietly(client);
            closeQuietly(target);
            connections.remove(this);
        }

        private void requests() throws IOException {
            DataInputStream in =
                    new DataInputStream(new BufferedInputStream(client.getInputStream()));
            OutputStream out = new BufferedOutputStream(target.getOutputStream());
            startUp(in, out);
            ByteArrayOutputStream request = new ByteArrayOutputStream();
            String procedure = "";
            while (true) {
                int type = in.readUnsignedByte();
                byte[] body = body(in);
                write(request, type, body);
                if (type == 'P') {
                    procedures.put(text(body, 0), procedure(body));
                } else if (type == 'B') {
                    int portal = text(body, 0).getBytes(StandardCharsets.UTF_8).length + 1;
                    procedure = procedures.getOrDefault(text(body, portal), "");
                }
                if (UNANSWERED.indexOf(type) >= 0) {
                    continue;
                }
                forward(request.toByteArray(), procedure, type == 'S' || type == 'Q', out);
                request.reset();
                procedure = "";
            }
        }

        private void startUp(DataInputStream in, OutputStream out) throws IOException {
            while (true) {
                byte[] body = body(in);
                int code = ByteBuffer.wrap(body).getInt();
                boolean asksForCipher = code == SSL_REQUEST || code == GSS_REQUEST;
                plainAnswerDue = asksForCipher;
                out.write(ByteBuffer.allocate(4).putInt(body.length + 4).array());
                out.write(body);
                out.flush();
                if (!asksForCipher) {
                    return;
                }
            }
        }

        private void forward(byte[] request, String procedure, boolean answered, OutputStream out)
                throws IOException {
            if (!procedure.isEmpty()) {
                calls.merge(procedure, 1L, Long::sum);
                Optional<Halt> before = take(procedure, Point.REQUEST);
                if (before.isPresent()) {
                    stop(before.get());
                }
            }
            if (answered) {
                synchronized (underWay) {
                    underWay.add(mute ? Optional.empty() : take(procedure, Point.ANSWER));
                }
            }
            send(request, out);
        }

        private void answers() throws IOException {
            DataInputStream in =
                    new DataInputStream(new BufferedInputStream(target.getInputStream()));
            OutputStream out = new BufferedOutputStream(client.getOutputStream());
            ByteArrayOutputStream held = new ByteArrayOutputStream();
            while (true) {
                int type = in.readUnsignedByte();
                if (plainAnswerDue) {
                    plainAnswerDue = false;
                    send(new byte[] {(byte) type}, out);
                    continue;
                }
                byte[] body = body(in);
                Optional<Halt> halt = due(type == 'Z');
                write(held, type, body);
                if (halt.isPresent() && type == 'Z') {
                    stop(halt.get());
                    send(held.toByteArray(), out);
                    held.reset();
                } else if (halt.isEmpty() && (type == 'Z' || in.available() == 0)) {
                    send(held.toByteArray(), out);
                    held.reset();
                }
            }
        }

        private Optional<Halt> due(boolean complete) {
            synchronized (underWay) {
                Optional<Halt> halt = complete ? underWay.poll() : underWay.peek();
                return halt == null ? Optional.empty() : halt;
            }
        }

        private void stop(Halt halt) throws IOException {
            switch (halt.stop()) {
                case PASS -> {}
                case CUT -> throw new IOException("cut by the test");
                case SWALLOW -> mute = true;
            }
        }

        private void send(byte[] bytes, OutputStream out) throws IOException {
            if (!mute) {
                out.write(bytes);
                out.flush();
            }
        }
    }

    private interface Pump {
        void run() throws IOException;
    }

    private static byte[] body(DataInputStream in) throws IOException {
        byte[] body = new byte[in.readInt() - 4];
        in.readFully(body);
        return body;
    }

    private static void write(ByteArrayOutputStream out, int type, byte[] body) {
        out.write(type);
        out.writeBytes(ByteBuffer.allocate(4).putInt(body.length + 4).array());
        out.writeBytes(body);
    }

    /** A name or statement as the protocol writes it: up to a zero. */
    private static String text(byte[] body, int from) {
        int end = from;
        while (body[end] != 0) {
            end++;
        }
        return new String(body, from, end - from, StandardCharsets.UTF_8);
    }

    private static String procedure(byte[] parse) {
        int statement = text(parse, 0).getBytes(StandardCharsets.UTF_8).length + 1;
        Matcher call = PROCEDURE.matcher(text(parse, statement));
        return call.find() ? call.group(1) : "";
    }

    private static void closeQuietly(Socket socket) {
        try {
            socket.close();
        } catch (IOException e) {
            // Closed is closed.
        }
    }
}
