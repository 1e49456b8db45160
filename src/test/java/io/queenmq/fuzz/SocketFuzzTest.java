package io.queenmq.fuzz;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.Lines;
import io.queenmq.testkit.TestBroker;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Bytes that are nearly HTTP, on sockets that end in every way. The broker answers well-formed HTTP
 * that admits no bug, or nothing; it lets go of the connection; and it serves on.
 */
class SocketFuzzTest {
    /**
     * An answer or the end must come within this time: everything was sent at once. Where a flipped
     * bit takes the timeout of a poll away, that waits for its usual 30 s.
     */
    private static final int PATIENCE_MILLIS = 45_000;

    private static final Pattern HEAD =
            Pattern.compile("HTTP/1\\.1 (\\d{3}) [^\r\n]*\r\n((?:[^:\r\n]+: ?[^\r\n]*\r\n)*)\r\n");
    private static final Pattern LENGTH =
            Pattern.compile("content-length: ?(\\d+)\r\n", Pattern.CASE_INSENSITIVE);

    private static TestBroker broker;
    private static Complaints complaints;
    private static Connection connection;

    @BeforeAll
    static void start() throws SQLException {
        complaints = new Complaints();
        broker = TestBroker.start();
        connection = broker.database().connect();
    }

    @AfterAll
    static void stop() throws SQLException {
        connection.close();
        broker.close();
        complaints.close();
    }

    @Test
    @Contract("http-17")
    void whateverIsSentIsAnsweredOrTheConnectionEnds() {
        Fuzz.rounds("sockets", 20, SocketFuzzTest::converse);
        broker.awaitParked(0);
        broker.awaitRequests(0);
    }

    private static void converse(long seed, Random random) throws IOException, SQLException {
        byte[] bytes = new Wire(random).conversation();
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), broker.port())) {
            socket.setSoTimeout(PATIENCE_MILLIS);
            socket.setTcpNoDelay(true);
            String answers = answers(socket, bytes, random);
            assertWellFormed(answers);
        } catch (IOException | AssertionError e) {
            throw new AssertionError(
                    e.getMessage() + "\nafter " + new String(bytes, StandardCharsets.ISO_8859_1),
                    e);
        }
        complaints.assertNone();
        if (seed % 8 == 0) {
            assertAlive();
        }
    }

    private static String answers(Socket socket, byte[] bytes, Random random) throws IOException {
        ByteArrayOutputStream received = new ByteArrayOutputStream();
        try {
            int at = 0;
            while (at < bytes.length) {
                int length =
                        Math.min(bytes.length - at, 1 + random.nextInt(random.nextInt(2_000) + 1));
                length = random.nextInt(3) == 0 ? length : bytes.length - at;
                socket.getOutputStream().write(bytes, at, length);
                at += length;
            }
            switch (random.nextInt(10)) {
                case 0 -> {
                    socket.setSoLinger(true, 0);
                    return "";
                }
                case 1 -> {
                    return "";
                }
                default -> socket.shutdownOutput();
            }
            InputStream in = socket.getInputStream();
            for (int b = in.read(); b >= 0; b = in.read()) {
                received.write(b);
            }
        } catch (SocketTimeoutException e) {
            throw new AssertionError("hangs after " + received, e);
        } catch (SocketException e) {
            // Reset: the broker had enough before all was sent. What came is checked all the same.
            assertFalse(socket.isClosed());
        }
        return received.toString(StandardCharsets.ISO_8859_1);
    }

    private static void assertWellFormed(String answers) {
        Matcher head = HEAD.matcher(answers);
        int at = 0;
        while (at < answers.length()) {
            head.region(at, answers.length());
            if (!head.lookingAt()) {
                // A reset cuts the last answer off.
                assertFalse(
                        answers.startsWith("HTTP", at) && answers.indexOf("\r\n\r\n", at) > 0,
                        () -> "no HTTP: " + answers);
                return;
            }
            int status = Integer.parseInt(head.group(1));
            assertTrue(status < 500 || status == 501 || status == 505, answers);
            Matcher length = LENGTH.matcher(head.group(2));
            int body = head.end();
            int end = body + (length.find() ? Integer.parseInt(length.group(1)) : 0);
            if (status == 204 || status == 100) {
                assertEquals(body, end, answers);
            } else if (status >= 400 && end <= answers.length() && end > body) {
                assertFalse(Json.parse(answers.substring(body, end)).text("error").isEmpty());
            }
            at = end;
        }
    }

    private static void assertAlive() throws SQLException {
        Http http = broker.http();
        http.push("alive", "p", "1");
        Json popped = http.pop("alive", "").json();
        assertEquals(List.of("1"), popped.each("messages", "data"));
        assertTrue(http.ack(popped, 0, "completed").bool(0, "success"));
        assertEquals(
                List.of(),
                Lines.lines(
                        connection,
                        """
                        select q.name || ' ' || p.name || ' ' || v.rule || ' ' || v.detail
                        from queen_store.queues q
                        join queen_store.partitions p on p.queue_id = q.id
                        cross join lateral queen.violations(q.name, p.name) v
                        where q.deleted_at is null
                        """));
    }
}
