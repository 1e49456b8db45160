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
    /** Room for the first bytes. */
    private static final int START = 16 << 10;

    /** Room for what follows them: most bodies whole. */
    private static final int SECOND = 64 << 10;

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

    /** Reads all of it. Whoever has not sent it yet is not worked on, and holds nobody up. */
    byte[] read() {
        if (!open) {
            return NONE;
        }
        long announced = request.headers().contentLength().orElse(-1);
        if (announced > config.bodyBytesMax()) {
            throw tooLarge();
        }
        long most = announced < 0 ? config.bodyBytesMax() : announced;
        connection.within(config.bodyTime().plus(Duration.ofSeconds(most / MIB)));
        byte[] bytes;
        try {
            bytes = receive(request.content().inputStream(), announced, (int) most);
            open = false;
        } catch (IOException e) {
            throw unreadable(e);
        } catch (QueenException e) {
            throw e;
        } catch (RuntimeException e) {
            throw unreadable(e);
        } finally {
            connection.onTime();
        }
        share.request();
        return bytes;
    }

    /**
     * Room is taken as bytes come: what a client only announces would keep those out who send.
     *
     * @param announced negative = in chunks
     */
    private byte[] receive(InputStream in, long announced, int most) throws IOException {
        byte[] bytes = new byte[Math.min(most, START)];
        share.bytes(bytes.length);
        int length = 0;
        while (true) {
            if (length == most) {
                if (in.read() < 0) {
                    return bytes;
                }
                if (announced < 0) {
                    throw tooLarge();
                }
                throw new IOException("the body is longer than it says");
            }
            if (length == bytes.length) {
                int larger = (int) Math.min(most, Math.max(SECOND, length * 2L));
                share.bytes(larger);
                bytes = Arrays.copyOf(bytes, larger);
            }
            int read = in.read(bytes, length, bytes.length - length);
            if (read < 0) {
                if (announced >= 0) {
                    throw new IOException("the body ends early");
                }
                return Arrays.copyOf(bytes, length);
            }
            length += read;
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
            byte[] waste = new byte[START];
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
