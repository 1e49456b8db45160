package io.queenmq.loadtest;

import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * One keep-alive HTTP/1.1 connection on the event loop, with at most one request under way. It
 * connects when it is first used, and again after it broke.
 */
final class HttpConnection {
    private static final int CONNECT_MILLIS = 2_000;

    /** What becomes of a request. */
    interface Exchange {
        /** The body lies between from and to, and only until this method returns. */
        void answered(int status, byte[] body, int from, int to);

        /** No whole answer came: the broker may or may not have acted. */
        void broken(IOException cause);
    }

    private final EventLoop loop;
    private final InetSocketAddress address;
    private final byte[] host;
    private @Nullable SocketChannel channel;
    private @Nullable SelectionKey key;
    private @Nullable Exchange exchange;
    private final Bytes head = new Bytes(512);
    private ByteBuffer[] output = {};
    private final Response response = new Response();

    HttpConnection(EventLoop loop, InetSocketAddress address) {
        this.loop = loop;
        this.address = address;
        this.host =
                ("\r\nHost: " + address.getHostString() + ":" + address.getPort())
                        .getBytes(StandardCharsets.US_ASCII);
    }

    /** Sends a request; the caller leaves the body alone until the exchange has ended. */
    void send(String method, String path, @Nullable Bytes body, Exchange newExchange) {
        if (exchange != null) {
            throw new IllegalStateException("a request is under way");
        }
        exchange = newExchange;
        head.clear();
        head.add(method).add((byte) ' ').add(path).add(" HTTP/1.1").add(host);
        if (body == null) {
            head.add("\r\n\r\n");
            output = new ByteBuffer[] {ByteBuffer.wrap(head.array(), 0, head.size())};
        } else {
            head.add("\r\nContent-Type: application/json\r\nContent-Length: ");
            head.number(body.size()).add("\r\n\r\n");
            output =
                    new ByteBuffer[] {
                        ByteBuffer.wrap(head.array(), 0, head.size()),
                        ByteBuffer.wrap(body.array(), 0, body.size())
                    };
        }
        try {
            write(channel == null ? connect() : channel);
        } catch (IOException e) {
            // Told on a later turn: a caller that sends again from broken() must not recurse.
            loop.at(System.nanoTime(), () -> broken(e));
        }
    }

    private SocketChannel connect() throws IOException {
        SocketChannel fresh = SocketChannel.open();
        try {
            fresh.setOption(StandardSocketOptions.TCP_NODELAY, true);
            fresh.socket().connect(address, CONNECT_MILLIS);
            fresh.configureBlocking(false);
            key = fresh.register(loop.selector(), SelectionKey.OP_READ, this);
        } catch (IOException e) {
            fresh.close();
            throw e;
        }
        response.clear();
        channel = fresh;
        return fresh;
    }

    private void write(SocketChannel to) throws IOException {
        to.write(output);
        int interest =
                output[output.length - 1].hasRemaining()
                        ? SelectionKey.OP_READ | SelectionKey.OP_WRITE
                        : SelectionKey.OP_READ;
        SelectionKey own = key;
        if (own != null && own.interestOps() != interest) {
            own.interestOps(interest);
        }
    }

    /** Called by the loop when the socket can be read or written. */
    void ready() {
        SocketChannel from = channel;
        SelectionKey own = key;
        if (from == null || own == null) {
            return;
        }
        try {
            if (own.isWritable()) {
                write(from);
            }
            if (own.isReadable()) {
                read(from);
            }
        } catch (IOException e) {
            broken(e);
        }
    }

    private void read(SocketChannel from) throws IOException {
        ByteBuffer buffer = loop.readBuffer();
        int count = from.read(buffer);
        if (count < 0) {
            throw new EOFException("closed by the broker");
        }
        response.add(buffer.flip());
        if (response.complete()) {
            Exchange done = exchange;
            exchange = null;
            if (done == null) {
                throw new IOException("an answer without a request");
            }
            int status = response.status;
            int bodyFrom = response.bodyFrom;
            int bodyTo = response.bodyTo;
            byte[] body = response.bytes;
            if (response.closing) {
                disconnect();
            }
            response.clear();
            done.answered(status, body, bodyFrom, bodyTo);
        }
    }

    private void broken(IOException cause) {
        disconnect();
        Exchange done = exchange;
        exchange = null;
        if (done != null) {
            done.broken(cause);
        }
    }

    private void disconnect() {
        SocketChannel old = channel;
        channel = null;
        key = null;
        if (old != null) {
            try {
                old.close();
            } catch (IOException e) {
                // Nothing is owed on a socket that is given up; its requests are told by the
                // caller.
                System.err.println("close: " + e.getMessage());
            }
        }
    }

    /** Gathers the bytes of one answer: by Content-Length, in chunks, or without a body. */
    private static final class Response {
        // Small at first: ten thousand parked polls never need more.
        private byte[] bytes = new byte[1 << 10];
        private int size;
        private int status;
        private int bodyFrom;
        private int bodyTo;
        private boolean headSeen;
        private boolean chunked;
        private boolean closing;
        private int contentLength;
        private int chunkAt;

        void clear() {
            size = 0;
            headSeen = false;
            chunked = false;
            closing = false;
            contentLength = 0;
        }

        void add(ByteBuffer more) {
            int count = more.remaining();
            if (bytes.length - size < count) {
                bytes = Arrays.copyOf(bytes, Math.max(bytes.length * 2, size + count));
            }
            more.get(bytes, size, count);
            size += count;
        }

        boolean complete() throws IOException {
            if (!headSeen && !readHead()) {
                return false;
            }
            if (chunked) {
                return readChunks();
            }
            bodyTo = bodyFrom + contentLength;
            return size >= bodyTo;
        }

        private boolean readHead() throws IOException {
            int end = find(bytes, 0, size);
            if (end < 0) {
                return false;
            }
            String text = new String(bytes, 0, end, StandardCharsets.ISO_8859_1);
            if (!text.startsWith("HTTP/1.1 ") || text.length() < 12) {
                throw new IOException("not an HTTP/1.1 answer: " + text);
            }
            status = Integer.parseInt(text, 9, 12, 10);
            for (String line : text.split("\r\n", -1)) {
                int colon = line.indexOf(':');
                if (colon > 0) {
                    String value = line.substring(colon + 1).trim();
                    if (line.regionMatches(true, 0, "content-length", 0, colon)) {
                        contentLength = Integer.parseInt(value);
                    } else if (line.regionMatches(true, 0, "transfer-encoding", 0, colon)) {
                        chunked = value.equalsIgnoreCase("chunked");
                    } else if (line.regionMatches(true, 0, "connection", 0, colon)) {
                        closing = value.equalsIgnoreCase("close");
                    }
                }
            }
            headSeen = true;
            bodyFrom = end + 4;
            bodyTo = bodyFrom;
            chunkAt = bodyFrom;
            return true;
        }

        /** Moves the content of each whole chunk down to where the body has come to. */
        private boolean readChunks() throws IOException {
            while (true) {
                int line = chunkAt;
                while (line < size && bytes[line] != '\n') {
                    line++;
                }
                if (line == size) {
                    return false;
                }
                String text = new String(bytes, chunkAt, line - chunkAt, StandardCharsets.US_ASCII);
                int semicolon = text.indexOf(';');
                int length =
                        Integer.parseInt(
                                (semicolon < 0 ? text : text.substring(0, semicolon)).trim(), 16);
                int from = line + 1;
                if (size < from + length + 2) {
                    return false;
                }
                if (length == 0) {
                    return true;
                }
                System.arraycopy(bytes, from, bytes, bodyTo, length);
                bodyTo += length;
                chunkAt = from + length + 2;
            }
        }

        private static int find(byte[] bytes, int from, int to) {
            for (int i = from; i + 3 < to; i++) {
                if (bytes[i] == '\r' && bytes[i + 1] == '\n' && bytes[i + 2] == '\r') {
                    return i;
                }
            }
            return -1;
        }
    }
}
