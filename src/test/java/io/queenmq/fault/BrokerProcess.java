package io.queenmq.fault;

import io.queenmq.testkit.Await;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** A broker in a process of its own, so that it can be killed in the middle of anything. */
final class BrokerProcess implements AutoCloseable {
    private final int port;
    private final int postgresPort;
    private final Map<String, String> settings;
    private final Path log;
    private Process process;

    private BrokerProcess(int port, int postgresPort, Map<String, String> settings)
            throws IOException {
        this.port = port;
        this.postgresPort = postgresPort;
        this.settings = settings;
        this.log = Files.createTempFile("queen-fault-broker-", ".log");
        this.process = launch();
    }

    static BrokerProcess start(int postgresPort) throws IOException {
        return start(postgresPort, Map.of());
    }

    /**
     * Returns when it is ready.
     *
     * @param settings environment variables of the broker
     */
    static BrokerProcess start(int postgresPort, Map<String, String> settings) throws IOException {
        BrokerProcess broker = launch(postgresPort, settings);
        try {
            broker.awaitReady();
        } catch (Throwable e) {
            broker.close();
            throw e;
        }
        return broker;
    }

    /** The same without waiting for it. */
    static BrokerProcess launch(int postgresPort, Map<String, String> settings) throws IOException {
        int port;
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = socket.getLocalPort();
        }
        return new BrokerProcess(port, postgresPort, settings);
    }

    /** Starts a broker of this build; the environment says the rest. */
    static List<String> command() {
        return List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
                // It lives for seconds: what it saves is time to start.
                "-XX:TieredStopAtLevel=1",
                "-Xmx512m",
                "--enable-native-access=ALL-UNNAMED",
                "--sun-misc-unsafe-memory-access=allow",
                "-cp",
                System.getProperty("java.class.path"),
                "io.queenmq.Main",
                "serve");
    }

    int port() {
        return port;
    }

    URI url() {
        return URI.create("http://127.0.0.1:" + port);
    }

    long pid() {
        return process.pid();
    }

    boolean isAlive() {
        return process.isAlive();
    }

    /** Everything that the broker has written to its log. */
    String log() throws IOException {
        return Files.readString(log);
    }

    void kill() {
        Children.kill(process);
    }

    /** Starts it again on the same port, with the same settings; it is ready when this returns. */
    void restart() throws IOException {
        relaunch();
        awaitReady();
    }

    /** The same without waiting for it. */
    void relaunch() throws IOException {
        process = launch();
    }

    /** Asks it to stop, as a deployment does. */
    void terminate() {
        Children.signal(process, "TERM");
    }

    /** Returns when it has stopped by itself. */
    void awaitStopped() {
        Await.until("the end of the broker", () -> !process.isAlive());
    }

    /** Stops the process where it is; it keeps its connections and knows nothing of the time. */
    void freeze() {
        Children.signal(process, "STOP");
    }

    void thaw() {
        Children.signal(process, "CONT");
    }

    private Process launch() throws IOException {
        ProcessBuilder builder =
                new ProcessBuilder(command())
                        .redirectErrorStream(true)
                        .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()));
        builder.environment()
                .putAll(
                        Map.of(
                                "QUEEN_BIND_ADDR", "127.0.0.1",
                                "PORT", Integer.toString(port),
                                "PG_HOST", "127.0.0.1",
                                "PG_PORT", Integer.toString(postgresPort),
                                "PG_DATABASE", "postgres",
                                "PG_USER", "queen"));
        builder.environment().putAll(settings);
        return Children.start(builder);
    }

    /** Returns when it serves and its database takes writes. */
    void awaitReady() {
        Http http = new Http(url());
        Await.until(
                "a healthy broker",
                () -> {
                    if (!process.isAlive()) {
                        throw new AssertionError("the broker has ended:\n" + log());
                    }
                    return isHealthy(http);
                });
    }

    private static boolean isHealthy(Http http) throws InterruptedException {
        try {
            return http.call("GET", "/health", "").status() == 200;
        } catch (IOException e) {
            // Not listening yet.
            return false;
        }
    }

    @Override
    public void close() throws IOException {
        kill();
        Files.delete(log);
    }
}
