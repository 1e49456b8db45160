package io.queenmq.web;

import io.helidon.http.HeaderValues;
import io.helidon.webserver.http.ServerRequest;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.Arrays;

/**
 * The body of one request. The server reads chunk by chunk without a limit of time, hangs on a bad
 * chunk and takes what follows a refused chunked body for the next request; so everything that is
 * not a body read to its end closes the connection, after the answer.
 */
final class Body {
    private static final int CHUNKED_START = 16 << 10;
    private static final int MIB = 1 << 20;
    private static final byte[] NONE = {};

    /** How long a refused client may go on sending so that it gets to read the answer. */
    private static final Duration DRAIN_TIME = Duration.ofSeconds(2);

    private final ServerRequest request;
    private final WebConfig config;
    private final ClientConnection connection;
    private final Admission.Share share;
    private boolean open;
    private boolean broken;

    Body(
            ServerRequest request,
            WebConfig config,
            ClientConnection connection,
            Admission.Share share) {
        this.request = request;
        this.config = config;
        this.connection = connection;
        this.share = share;
        this.open = request.content().hasEntity();
    }

    /** Reads all of it. */
    byte[] read() {
        if (!open) {
            return NONE;
        }
        share.request();
        long announced = request.headers().contentLength().orElse(-1);
        if (announced > config.bodyBytesMax()) {
            throw tooLarge();
        }
        share.bytes(Math.max(announced, CHUNKED_START));
        long most = announced < 0 ? config.bodyBytesMax() : announced;
        connection.within(config.bodyTime().plus(Duration.ofSeconds(most / MIB)));
        try {
            InputStream in = request.content().inputStream();
            byte[] bytes = announced < 0 ? chunked(in) : exactly(in, (int) announced);
            open = false;
            return bytes;
        } catch (IOException e) {
            throw unreadable(e);
        } catch (QueenException e) {
            throw e;
        } catch (RuntimeException e) {
            throw unreadable(e);
        } finally {
            connection.onTime();
        }
    }

    private static byte[] exactly(InputStream in, int length) throws IOException {
        byte[] bytes = new byte[length];
        if (in.readNBytes(bytes, 0, length) < length) {
            throw new IOException("the body ends early");
        }
        if (in.read() >= 0) {
            throw new IOException("the body is longer than it says");
        }
        return bytes;
    }

    private byte[] chunked(InputStream in) throws IOException {
        byte[] bytes = new byte[CHUNKED_START];
        int length = 0;
        while (true) {
            int read = in.read(bytes, length, bytes.length - length);
            if (read < 0) {
                return Arrays.copyOf(bytes, length);
            }
            length += read;
            if (length > config.bodyBytesMax()) {
                throw tooLarge();
            }
            if (length == bytes.length) {
                int larger = (int) Math.min(config.bodyBytesMax() + 1L, length * 2L);
                share.bytes(larger);
                bytes = Arrays.copyOf(bytes, larger);
            }
        }
    }

    private QueenException tooLarge() {
        return new QueenException(Failure.BODY_TOO_LARGE, tooLarge(config));
    }

    /** The sentence that names the limit. */
    static String tooLarge(WebConfig config) {
        return "request body exceeds " + config.bodyBytesMax() + " bytes";
    }

    private QueenException unreadable(Exception cause) {
        broken = true;
        return new QueenException(
                Failure.BAD_REQUEST, "bad body: it ends early or its chunks are malformed", cause);
    }

    /** Whether the connection can take no further request after this one's answer. */
    boolean spoils() {
        return open;
    }

    /**
     * Lets the client finish sending what will not be used, for as long as {@link #DRAIN_TIME}:
     * most clients read the answer only then, and closing on unread bytes would reset the
     * connection under it.
     */
    void drain() {
        boolean neverAsked =
                request.headers().containsToken(HeaderValues.EXPECT_100) && !request.continueSent();
        if (!open || broken || neverAsked) {
            return;
        }
        connection.within(DRAIN_TIME);
        try {
            InputStream in = request.content().inputStream();
            byte[] waste = new byte[CHUNKED_START];
            int read = 0;
            while (read >= 0) {
                read = in.read(waste, 0, waste.length);
            }
        } catch (IOException | RuntimeException e) {
            broken = true; // gone, or the server's parser on a body that is no body
        } finally {
            connection.onTime();
        }
    }
}
