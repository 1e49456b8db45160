package io.queenmq.testkit;

import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import org.jspecify.annotations.Nullable;

/**
 * A proxy as people put before PostgreSQL: it hides process ids, and lends a server connection for
 * a transaction, or for a session. It lends the one first that came back last.
 */
public final class Pooler implements Closeable {
    /** How long a client has a server connection. */
    public enum Mode {
        TRANSACTION,
        SESSION
    }

    private static final int SSL_REQUEST = 80877103;
    private static final int KEY_PID = 12_345_678;

    private final ServerSocket listener;
    private final int serverPort;
    private final Mode mode;
    private final ConcurrentLinkedDeque<Link> idle = new ConcurrentLinkedDeque<>();
    private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();

    public Pooler(int serverPort, Mode mode) throws IOException {
        this.serverPort = serverPort;
        this.mode = mode;
        this.listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        Thread.ofVirtual().start(this::accept);
    }

    public int port() {
        return listener.getLocalPort();
    }

    @Override
    public void close() throws IOException {
        listener.close();
        for (Socket socket : sockets) {
            socket.close();
        }
    }

    /** One side of the proxy. */
    private final class Link {
        private final Socket socket;
        private final DataInputStream in;
        private final DataOutputStream out;

        /** What the server said to whoever made the connection. */
        private byte[] greeting = new byte[0];

        Link(Socket socket) throws IOException {
            sockets.add(socket);
            socket.setTcpNoDelay(true);
            this.socket = socket;
            this.in = new DataInputStream(socket.getInputStream());
            this.out = new DataOutputStream(socket.getOutputStream());
        }

        void close() {
            sockets.remove(socket);
            try {
                socket.close();
            } catch (IOException e) {
                // It is gone all the same.
                sockets.remove(socket);
            }
        }
    }

    private void accept() {
        while (!listener.isClosed()) {
            try {
                Link client = new Link(listener.accept());
                Thread.ofVirtual().start(() -> serve(client));
            } catch (IOException e) {
                return;
            }
        }
    }

    private void serve(Link client) {
        @Nullable Link server = null;
        try {
            byte[] startup = startup(client);
            server = borrow(startup);
            byte[] greeting = server.greeting;
            server = mode == Mode.TRANSACTION ? giveBack(server) : server;
            client.out.write(greeting);
            client.out.flush();
            while (true) {
                int type = client.in.readUnsignedByte();
                byte[] body = body(client.in);
                if (type == 'X') {
                    return;
                }
                server = server == null ? borrow(startup) : server;
                write(server.out, type, body);
                if (type == 'S' || type == 'Q') {
                    server.out.flush();
                    ByteArrayOutputStream answer = new ByteArrayOutputStream();
                    boolean betweenTransactions =
                            answer(server, new DataOutputStream(answer)) == 'I';
                    // Before the client has its answer: who asks next is to find it here.
                    if (mode == Mode.TRANSACTION && betweenTransactions) {
                        server = giveBack(server);
                    }
                    client.out.write(answer.toByteArray());
                    client.out.flush();
                }
            }
        } catch (IOException e) {
            // One side hung up: so does the other, below.
        } finally {
            client.close();
            if (server != null) {
                server.close();
            }
        }
    }

    private static byte[] startup(Link client) throws IOException {
        while (true) {
            byte[] body = body(client.in);
            if (ByteBuffer.wrap(body).getInt() != SSL_REQUEST) {
                return body;
            }
            client.out.write('N');
            client.out.flush();
        }
    }

    private Link borrow(byte[] startup) throws IOException {
        Link known = idle.pollLast();
        if (known != null) {
            return known;
        }
        Link server = new Link(new Socket(InetAddress.getLoopbackAddress(), serverPort));
        server.out.writeInt(startup.length + 4);
        server.out.write(startup);
        server.out.flush();
        ByteArrayOutputStream greeting = new ByteArrayOutputStream();
        answer(server, new DataOutputStream(greeting));
        server.greeting = greeting.toByteArray();
        return server;
    }

    /** Null: the client has none any more. */
    private @Nullable Link giveBack(Link server) {
        idle.addLast(server);
        return null;
    }

    /** Leads an answer to its end on; returns the state of the transaction then. */
    private static int answer(Link server, DataOutputStream to) throws IOException {
        while (true) {
            int type = server.in.readUnsignedByte();
            byte[] body = body(server.in);
            if (type == 'K') {
                ByteBuffer.wrap(body).putInt(KEY_PID);
            }
            write(to, type, body);
            if (type == 'E' && server.greeting.length == 0) {
                to.flush();
                throw new IOException("the server refused the connection");
            }
            if (type == 'Z') {
                to.flush();
                return body[0];
            }
        }
    }

    private static byte[] body(DataInputStream in) throws IOException {
        byte[] body = new byte[in.readInt() - 4];
        in.readFully(body);
        return body;
    }

    private static void write(DataOutputStream out, int type, byte[] body) throws IOException {
        out.writeByte(type);
        out.writeInt(body.length + 4);
        out.write(body);
    }
}
