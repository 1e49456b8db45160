package io.queenmq.web;

import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/**
 * HTTP by hand over one socket: what a well-behaved client library hides is what is tested. Waits
 * at most ten seconds for anything.
 */
public final class RawClient implements Closeable {
    private final Socket socket;
    private final InputStream in;

    public RawClient(int port) throws IOException {
        socket = new Socket(InetAddress.getLoopbackAddress(), port);
        socket.setSoTimeout(10_000);
        socket.setTcpNoDelay(true);
        in = socket.getInputStream();
    }

    /** A head as it came, and the body that its length or its chunks announce. */
    public record Reply(int status, String head, Map<String, String> headers, String body) {}

    public RawClient send(String text) throws IOException {
        return send(text.getBytes(StandardCharsets.UTF_8));
    }

    public RawClient send(byte[] bytes) throws IOException {
        socket.getOutputStream().write(bytes);
        return this;
    }

    /** Sends a request without a body. */
    public RawClient request(String method, String path) throws IOException {
        return send(method + " " + path + " HTTP/1.1\r\nHost: q\r\n\r\n");
    }

    /** Sends a request with a body of known length. */
    public RawClient request(String method, String path, byte[] body) throws IOException {
        send(
                method
                        + " "
                        + path
                        + " HTTP/1.1\r\nHost: q\r\nContent-Length: "
                        + body.length
                        + "\r\n\r\n");
        return send(body);
    }

    public Reply get(String path) throws IOException {
        return request("GET", path).read();
    }

    public Reply post(String path, String body) throws IOException {
        return request("POST", path, body.getBytes(StandardCharsets.UTF_8)).read();
    }

    /** Reads one answer. */
    public Reply read() throws IOException {
        return read(true);
    }

    /** Reads one answer to HEAD: its length announces a body that is not sent. */
    public Reply readHead() throws IOException {
        return read(false);
    }

    private Reply read(boolean withBody) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        String head = "";
        while (!head.endsWith("\r\n\r\n")) {
            int b = in.read();
            if (b < 0) {
                throw new IOException("closed after: " + bytes.toString(StandardCharsets.UTF_8));
            }
            bytes.write(b);
            head = b == '\n' ? bytes.toString(StandardCharsets.UTF_8) : "";
        }
        Map<String, String> headers = new LinkedHashMap<>();
        String[] lines = head.split("\r\n", -1);
        for (int i = 1; i < lines.length; i++) {
            int colon = lines[i].indexOf(':');
            if (colon > 0) {
                headers.put(
                        lines[i].substring(0, colon).toLowerCase(Locale.ROOT),
                        lines[i].substring(colon + 1).strip());
            }
        }
        int status = Integer.parseInt(head.substring(9, 12));
        int length = Integer.parseInt(headers.getOrDefault("content-length", "0"));
        String body = withBody ? new String(in.readNBytes(length), StandardCharsets.UTF_8) : "";
        return new Reply(status, head, headers, body);
    }

    /** Whether the server closes the connection without another byte. */
    public boolean isClosed() throws IOException {
        try {
            return in.read() < 0;
        } catch (SocketException e) {
            return true;
        }
    }

    /** Reads on until the server closes. */
    public void awaitClose() throws IOException {
        try {
            in.transferTo(OutputStream.nullOutputStream());
        } catch (SocketException e) {
            socket.close(); // a reset is an end as well
        }
    }

    public void halfClose() throws IOException {
        socket.shutdownOutput();
    }

    /** Closes so that the server sees a reset instead of an end. */
    public void reset() throws IOException {
        socket.setSoLinger(true, 0);
        socket.close();
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
