package io.queenmq.db;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.queenmq.runtime.Clock;
import io.queenmq.testkit.LogCapture;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class ConnectorTest {
    /** A server that lets nobody in, and says why. */
    private static final class Porter implements AutoCloseable {
        private final ServerSocket socket =
                new ServerSocket(0, 50, InetAddress.getLoopbackAddress());

        private volatile String state = "28P01";
        private volatile String reason = "";

        Porter() throws IOException {
            Thread.startVirtualThread(this::refuse);
        }

        private void refuse() {
            while (true) {
                try (Socket guest = socket.accept()) {
                    DataInputStream in = new DataInputStream(guest.getInputStream());
                    in.readNBytes(in.readInt() - 4);
                    byte[] error =
                            ("SFATAL\0C" + state + "\0M" + reason + "\0\0")
                                    .getBytes(StandardCharsets.UTF_8);
                    DataOutputStream out = new DataOutputStream(guest.getOutputStream());
                    out.writeByte('E');
                    out.writeInt(4 + error.length);
                    out.write(error);
                } catch (IOException e) {
                    if (socket.isClosed()) {
                        return;
                    }
                }
            }
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }
    }

    private final AtomicLong nanos = new AtomicLong();

    private final Clock clock =
            new Clock() {
                @Override
                public Instant now() {
                    return Instant.EPOCH;
                }

                @Override
                public long nanos() {
                    return nanos.get();
                }
            };

    private static List<String> told(LogCapture log) {
        return log.text()
                .lines()
                .filter(line -> line.contains("the database cannot be reached"))
                .map(line -> line.replaceFirst(".* after_ms=", ""))
                .toList();
    }

    /** The log shows an outage that goes on, and what keeps it going. */
    @Test
    void anOutageIsToldWhenItsCauseChangesAndEveryFiveMinutes() throws Exception {
        try (Porter server = new Porter();
                LogCapture log = new LogCapture()) {
            Connector connector =
                    new Connector(
                            DatabaseConfig.of(
                                    "localhost", server.socket.getLocalPort(), "d", "u", "p"),
                            clock);
            for (String step :
                    List.of(
                            "0 starting",
                            "60 starting",
                            "120 password",
                            "419 password",
                            "420 password",
                            "600 password",
                            "720 password")) {
                String[] words = step.split(" ", -1);
                nanos.set(Duration.ofSeconds(Long.parseLong(words[0])).toNanos());
                server.reason = words[1];
                assertThrows(SQLException.class, connector::getConnection);
            }
            assertEquals(
                    List.of(
                            "0 error=FATAL: starting",
                            "120000 error=FATAL: password",
                            "420000 error=FATAL: password",
                            "720000 error=FATAL: password"),
                    told(log));
        }
    }

    @Test
    void aPoolerThatRefusesSettingsIsToldOfWithItsCure() throws IOException {
        try (Porter porter = new Porter();
                LogCapture log = new LogCapture()) {
            porter.state = "08P01";
            porter.reason = "unsupported startup parameter: options";
            Connector connector =
                    new Connector(
                            DatabaseConfig.of(
                                    "127.0.0.1", porter.socket.getLocalPort(), "db", "me", ""),
                            Clock.SYSTEM);
            assertThrows(SQLException.class, connector::getConnection);
            assertEquals(
                    1,
                    log.text()
                            .lines()
                            .filter(
                                    line ->
                                            line.contains("unsupported startup parameter: options")
                                                    && line.contains("ignore_startup_parameters ="))
                            .count(),
                    log.text());
        }
    }

    @Test
    void aNameThatNobodyKnowsIsSaid() {
        SQLException error =
                new SQLException(
                        "The connection attempt failed.", "08001", new UnknownHostException("db"));
        assertEquals(
                "there is no machine of the name db",
                TlsFailure.sentence(DatabaseConfig.of("db", 5432, "d", "u", "p"), error));
    }
}
