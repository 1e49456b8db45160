package io.queenmq.loadtest;

import java.io.File;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A broker of our own over a fresh database: the embedded server, or one of a PostgreSQL that is
 * installed on this machine. Several may run side by side, for arms that need a database each.
 */
final class Rig implements AutoCloseable {
    private static final long START_SECONDS = 120;
    private static final long STOP_SECONDS = 60;

    private final Path launcher;
    private final Path folder;
    private final Map<String, String> environment;
    private final int port;
    private final Optional<OwnServer> ownServer;
    private @Nullable Process broker;
    private @Nullable Server server;

    private Rig(
            Path launcher,
            Path folder,
            Map<String, String> environment,
            Optional<OwnServer> ownServer)
            throws IOException {
        this.launcher = launcher;
        this.folder = folder;
        this.environment = environment;
        this.ownServer = ownServer;
        try (ServerSocket free = new ServerSocket(0)) {
            this.port = free.getLocalPort();
        }
    }

    /**
     * @param folder made, and removed at the end
     * @param binaries of an installed PostgreSQL; empty = the embedded one
     * @param database kept by another, of which this one gets a copy; empty = a fresh one
     * @param owner told before the broker starts, so that it can end what is only half there
     */
    static Rig start(
            Path launcher,
            Path folder,
            Optional<Path> binaries,
            Map<String, String> environment,
            Optional<Path> database,
            Consumer<Rig> owner)
            throws IOException {
        Files.createDirectories(folder);
        Map<String, String> all = new LinkedHashMap<>(environment);
        Optional<OwnServer> own = Optional.empty();
        if (binaries.isPresent()) {
            OwnServer started = OwnServer.start(binaries.get(), folder.resolve("postgres"));
            own = Optional.of(started);
            all.putAll(started.brokerEnvironment());
        } else {
            all.put("QUEEN_DATA_DIR", folder.resolve("db").toString());
            if (database.isPresent()) {
                copy(database.get(), folder.resolve("db"));
            }
        }
        Rig rig = new Rig(launcher, folder, all, own);
        owner.accept(rig);
        rig.startBroker();
        return rig;
    }

    private static void copy(Path from, Path to) {
        Commands.run(List.of("cp", "-a", "--reflink=auto", from.toString(), to.toString()));
    }

    /** Stops the broker with its embedded server, leaves a copy of the database, starts again. */
    void keep(Path copy) throws IOException {
        closeServer();
        Process running = broker;
        if (running != null) {
            stop(running);
        }
        Path unfinished = copy.resolveSibling(copy.getFileName() + ".unfinished");
        Files.createDirectories(unfinished.getParent());
        Scratch.delete(unfinished);
        copy(folder.resolve("db"), unfinished);
        Files.move(unfinished, copy);
        startBroker();
    }

    /** Starts the broker, again after it was killed, and waits until it is healthy. */
    void startBroker() throws IOException {
        broker = launch(port, environment, "broker.log");
        awaitHealth(broker, port, "broker.log");
    }

    private Process launch(int at, Map<String, String> settings, String log) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(launcher.toString(), "serve");
        builder.environment().putAll(settings);
        builder.environment().put("PORT", Integer.toString(at));
        builder.redirectErrorStream(true);
        builder.redirectOutput(ProcessBuilder.Redirect.appendTo(new File(folder.toFile(), log)));
        return builder.start();
    }

    private void awaitHealth(Process process, int at, String log) throws IOException {
        Target target = new Target(url(at), Optional.empty(), new Cpu(0, 0));
        long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(START_SECONDS);
        while (!target.call("GET", "/health", "").startsWith("200")) {
            if (!process.isAlive() || System.nanoTime() > until) {
                throw new IllegalStateException(
                        "the broker did not start:\n" + Files.readString(folder.resolve(log)));
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
        }
    }

    private static URI url(int at) {
        return URI.create("http://127.0.0.1:" + at);
    }

    /** A second broker over the same database, until it is healthy; then it is stopped. */
    void passThroughSecondBroker() throws IOException {
        Map<String, String> settings = new LinkedHashMap<>(environment);
        if (ownServer.isEmpty()) {
            settings.remove("QUEEN_DATA_DIR");
            settings.put("QUEEN_EMBEDDED", "false");
            settings.put("PG_HOST", "127.0.0.1");
            settings.put("PG_PORT", Integer.toString(embeddedPort()));
            settings.put("PG_DATABASE", "queen");
            settings.put("PG_USER", "queen");
            settings.put("PG_PASSWORD", embeddedPassword());
        }
        int at;
        try (ServerSocket free = new ServerSocket(0)) {
            at = free.getLocalPort();
        }
        Process second = launch(at, settings, "second.log");
        try {
            awaitHealth(second, at, "second.log");
        } finally {
            stop(second);
        }
    }

    URI url() {
        return url(port);
    }

    String jdbcUrl() {
        try {
            return ownServer.isPresent()
                    ? ownServer.get().jdbcUrl()
                    : "jdbc:postgresql://127.0.0.1:%d/queen?user=queen&password=%s"
                            .formatted(embeddedPort(), embeddedPassword());
        } catch (IOException e) {
            throw new IllegalStateException("the files of the embedded server", e);
        }
    }

    private int embeddedPort() throws IOException {
        return Integer.parseInt(postmasterFile().get(3).strip());
    }

    private List<String> postmasterFile() throws IOException {
        return Files.readAllLines(folder.resolve("db/server/postmaster.pid"));
    }

    private String embeddedPassword() throws IOException {
        String line = Files.readString(folder.resolve("db/pgpass"), StandardCharsets.UTF_8).strip();
        return line.substring(line.lastIndexOf(':') + 1);
    }

    /** Rises with every restart of the server, so it is asked for anew. */
    Cpu cpu() {
        try {
            long postmaster =
                    ownServer.isPresent()
                            ? ownServer.get().postmaster()
                            : Long.parseLong(postmasterFile().get(0).strip());
            return new Cpu(brokerPid(), postmaster);
        } catch (IOException e) {
            throw new IllegalStateException("the files of the embedded server", e);
        }
    }

    Target target() {
        return new Target(url(), Optional.of(jdbcUrl()), cpu());
    }

    /** The connection for counters and set-up; made at first use. */
    Server server() {
        Server known = server;
        if (known == null) {
            known = new Server(jdbcUrl());
            server = known;
        }
        return known;
    }

    Meter meter() {
        return new Meter(cpu(), Optional.of(server()));
    }

    long brokerPid() {
        Process running = broker;
        return running == null ? 0 : running.pid();
    }

    boolean brokerAlive() {
        Process running = broker;
        return running != null && running.isAlive();
    }

    /** Without any chance to say goodbye. The embedded server outlives it. */
    void killBroker() {
        Process running = broker;
        if (running != null) {
            running.destroyForcibly();
            await(running, STOP_SECONDS);
        }
        closeServer();
    }

    /** Resident memory of the broker. */
    long rssBytes() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/" + brokerPid() + "/status"))) {
            if (line.startsWith("VmRSS:")) {
                return Long.parseLong(line.replaceAll("\\D", "")) * 1024;
            }
        }
        return 0;
    }

    /** The broker's Java machine, asked from outside. */
    Jvm jvm() {
        return new Jvm(brokerPid());
    }

    private void closeServer() {
        Server known = server;
        server = null;
        if (known != null) {
            known.close();
        }
    }

    private static void stop(Process process) {
        process.destroy();
        if (!await(process, STOP_SECONDS)) {
            process.destroyForcibly();
        }
    }

    private static boolean await(Process process, long seconds) {
        try {
            return process.waitFor(seconds, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /** Ends broker and database and removes their files; may be called twice. */
    @Override
    public void close() {
        closeServer();
        Process running = broker;
        broker = null;
        if (running != null) {
            stop(running);
        }
        ownServer.ifPresent(OwnServer::close);
        Scratch.delete(folder);
    }
}
