package io.queenmq.fault;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** A broker in a process of its own, so that it can be killed in the middle of anything. */
final class BrokerProcess implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final int port;
    private final int postgresPort;
    private final Path log;
    private Process process;

    private BrokerProcess(int port, int postgresPort, Path log) throws IOException {
        this.port = port;
        this.postgresPort = postgresPort;
        this.log = log;
        this.process = launch();
    }

    static BrokerProcess start(int postgresPort) throws IOException, InterruptedException {
        int port;
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = socket.getLocalPort();
        }
        Path log = Files.createTempFile("queen-fault-broker-", ".log");
        BrokerProcess broker = new BrokerProcess(port, postgresPort, log);
        broker.awaitHealth();
        return broker;
    }

    URI url() {
        return URI.create("http://127.0.0.1:" + port);
    }

    /** Everything that the broker has written to its log. */
    String log() throws IOException {
        return Files.readString(log);
    }

    void kill() {
        process.destroyForcibly();
        process.onExit().join();
    }

    /** Starts it again on the same port; it is ready when this returns. */
    void restart() throws IOException, InterruptedException {
        process = launch();
        awaitHealth();
    }

    private Process launch() throws IOException {
        ProcessBuilder builder =
                new ProcessBuilder(
                                List.of(
                                        Path.of(System.getProperty("java.home"), "bin", "java")
                                                .toString(),
                                        "-XX:+UseSerialGC",
                                        "-Xmx512m",
                                        "--enable-native-access=ALL-UNNAMED",
                                        "--sun-misc-unsafe-memory-access=allow",
                                        "-cp",
                                        System.getProperty("java.class.path"),
                                        "io.queenmq.Main",
                                        "serve"))
                        .redirectErrorStream(true)
                        .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()));
        builder.environment()
                .putAll(
                        Map.of(
                                "HOST", "127.0.0.1",
                                "PORT", Integer.toString(port),
                                "PG_HOST", "127.0.0.1",
                                "PG_PORT", Integer.toString(postgresPort),
                                "PG_DATABASE", "postgres",
                                "PG_USER", "queen"));
        return builder.start();
    }

    private void awaitHealth() throws IOException, InterruptedException {
        Http http = new Http(url());
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (true) {
            try {
                if (http.call("GET", "/health", "").status() == 200) {
                    return;
                }
            } catch (IOException e) {
                // Not listening yet: asked again below.
                if (!process.isAlive() || System.nanoTime() > deadline) {
                    throw new IOException(log(), e);
                }
            }
            process.waitFor(50, TimeUnit.MILLISECONDS);
        }
    }

    @Override
    public void close() throws IOException {
        kill();
        Files.delete(log);
    }
}
