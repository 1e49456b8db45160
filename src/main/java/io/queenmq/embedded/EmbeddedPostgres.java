package io.queenmq.embedded;

import io.micrometer.core.instrument.Counter;
import io.queenmq.metrics.Metrics;
import io.queenmq.runtime.Clock;
import io.queenmq.runtime.Loop;
import io.queenmq.runtime.StartRefused;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * A PostgreSQL server of our own, for a first run and for machines without one. It listens on the
 * loopback address only, survives the broker for as long as that takes to come back, and is started
 * again when it dies. Made and closed by the thread that starts the broker.
 */
public final class EmbeddedPostgres implements AutoCloseable {
    private static final Logger LOG = System.getLogger(EmbeddedPostgres.class.getName());

    /** The major version of the bundled distribution; its files are not those of another. */
    private static final String MAJOR = "18";

    private static final Pattern COMPLAINTS = Pattern.compile("error:|FATAL:|PANIC:");

    private static final int PORT_ATTEMPTS_MAX = 5;
    private static final Duration LOOK_EVERY = Duration.ofMillis(500);

    private final DataFolder folder;
    private final PostgresBinaries binaries;
    private final Unprivileged user;
    private final String password;
    private final Counter restarts;
    private int port;
    private volatile long postmaster;
    private final Loop supervisor;

    private EmbeddedPostgres(DataFolder folder, Metrics metrics, Clock clock) {
        this.folder = folder;
        this.password = folder.password();
        this.binaries = PostgresBinaries.bundled(folder.root().resolve("postgresql-" + MAJOR));
        this.restarts =
                metrics.counter(
                        "queen_embedded_restarts_total",
                        "Times the embedded PostgreSQL was started again because it had died.");
        if (Files.isDirectory(folder.server())) {
            checkVersion();
            this.user = Unprivileged.ownerOf(folder.server(), folder.log());
        } else {
            this.user = initialize();
        }
        stopOrphan();
        startOnSomePort();
        this.supervisor = Loop.start("embedded", LOOK_EVERY, this::restartIfDead, metrics, clock);
    }

    /**
     * Starts the server on that folder, which is filled if it is new.
     *
     * @throws StartRefused with a sentence for the operator
     */
    public static EmbeddedPostgres start(Path dataFolder, Metrics metrics, Clock clock) {
        DataFolder folder = DataFolder.open(dataFolder);
        try {
            return new EmbeddedPostgres(folder, metrics, clock);
        } catch (UncheckedIOException e) {
            folder.close();
            throw DataFolder.refused(dataFolder, Objects.requireNonNull(e.getCause()));
        } catch (RuntimeException e) {
            folder.close();
            throw e;
        }
    }

    public String host() {
        return "127.0.0.1";
    }

    public int port() {
        return port;
    }

    public String user() {
        return DataFolder.USER;
    }

    public String password() {
        return password;
    }

    public String database() {
        return DataFolder.DATABASE;
    }

    /** What to type to look inside. */
    public String psqlCommand() {
        return "PGPASSFILE=%s psql -h 127.0.0.1 -p %d -U %s %s"
                .formatted(shellWord(folder.passwordFile()), port, user(), database());
    }

    /** In quotes where a shell would not take it for one word. */
    static String shellWord(Path path) {
        String text = path.toString();
        return text.matches("[\\p{L}\\p{N}/._@%+=:,-]+")
                ? text
                : "'" + text.replace("'", "'\\''") + "'";
    }

    /** Fast shutdown: open transactions are rolled back, everything committed is on disk. */
    @Override
    public void close() {
        supervisor.close();
        try {
            stopServer();
        } finally {
            folder.close();
        }
    }

    private void checkVersion() {
        try {
            String found = Files.readString(folder.server().resolve("PG_VERSION")).strip();
            if (!found.equals(MAJOR)) {
                throw new StartRefused(
                        folder.server()
                                + " was written by PostgreSQL "
                                + found
                                + ", this broker bundles "
                                + MAJOR
                                + ": move the data with pg_dump, or serve it with a server of that"
                                + " version and PG_HOST");
            }
        } catch (IOException e) {
            throw new StartRefused(
                    "cannot use the files of PostgreSQL in %s: %s"
                            .formatted(folder.server(), DataFolder.reason(e)),
                    e);
        }
    }

    /** In a folder of another name until all is complete: a broker may be killed in between. */
    private Unprivileged initialize() {
        Path fresh = folder.root().resolve("server.incomplete");
        try {
            PostgresBinaries.delete(fresh);
            Files.createDirectory(fresh);
            Unprivileged maker = Unprivileged.ownerOf(fresh, folder.log());
            run(
                    maker,
                    "",
                    "initdb",
                    "--pgdata=" + fresh,
                    "--username=" + DataFolder.USER,
                    "--auth-local=reject",
                    "--auth-host=scram-sha-256",
                    "--encoding=UTF8",
                    "--locale=C",
                    "--data-checksums");
            Files.writeString(
                    fresh.resolve("postgresql.conf"),
                    "\ninclude 'queen.conf'\n",
                    StandardOpenOption.APPEND);
            Files.writeString(fresh.resolve("queen.conf"), "");
            // The password goes through a pipe: no other user can read it there.
            run(
                    maker,
                    "alter role %s password '%s'\ncreate database %s template template0\n"
                            .formatted(DataFolder.USER, password, DataFolder.DATABASE),
                    "postgres",
                    "--single",
                    // Iterations protect guessable passwords; this one has 128 random bits, and
                    // every
                    // connection would pay for them.
                    "-c",
                    "scram_iterations=1",
                    "-D",
                    fresh.toString(),
                    "postgres");
            Files.move(fresh, folder.server(), StandardCopyOption.ATOMIC_MOVE);
            return maker;
        } catch (IOException e) {
            throw new StartRefused("cannot make a database: " + DataFolder.reason(e), e);
        }
    }

    /** The server of a broker that was killed goes on; its successor starts from a clean stop. */
    private void stopOrphan() {
        if (isAlive(folder.postmaster())) {
            LOG.log(
                    Level.WARNING,
                    "stopping the server that an earlier broker left behind pid={0}",
                    Long.toString(folder.postmaster()));
            stopServer();
        }
    }

    private void startOnSomePort() {
        port = folder.rememberedPort();
        for (int attempt = 1; ; attempt++) {
            if (port == 0 || !isFree(port)) {
                port = freePort();
            }
            try {
                startServer();
                folder.rememberPort(port);
                return;
            } catch (StartRefused e) {
                // Somebody may have taken the port in between.
                if (attempt == PORT_ATTEMPTS_MAX || isFree(port)) {
                    throw e;
                }
            }
        }
    }

    private void startServer() {
        try {
            Files.writeString(
                    folder.server().resolve("queen.conf"),
                    ServerSettings.render(Machine.holding(folder.server())));
            clearAway();
            run(
                    user,
                    "",
                    "pg_ctl",
                    "start",
                    "--pgdata=" + folder.server(),
                    "--log=" + startLogFile(),
                    "--wait",
                    "--timeout=300",
                    "--silent",
                    "--options=-p " + port);
            postmaster = folder.postmaster();
        } catch (IOException e) {
            throw new StartRefused(
                    "the embedded PostgreSQL did not start: " + DataFolder.reason(e) + startLog(),
                    e);
        }
    }

    /** Whatever a server that was killed has left, and what the last start said. */
    private void clearAway() throws IOException {
        if (!isAlive(folder.postmaster())) {
            try {
                new Orphans(binaries.program("postgres")).end();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IOException("interrupted while an earlier server ended", e);
            }
            folder.disownPostmaster();
        }
        Files.deleteIfExists(startLogFile());
    }

    private Path startLogFile() {
        return folder.server().resolve("start.log");
    }

    private String startLog() {
        try {
            return "\n" + Files.readString(startLogFile()).strip();
        } catch (IOException e) {
            return "";
        }
    }

    private void restartIfDead() {
        if (!isAlive(postmaster)) {
            LOG.log(Level.WARNING, "embedded PostgreSQL died, starting it again");
            startServer();
            restarts.increment();
            LOG.log(Level.INFO, "embedded PostgreSQL is back port={0}", Integer.toString(port));
        }
    }

    private void stopServer() {
        try {
            run(
                    user,
                    "",
                    "pg_ctl",
                    "stop",
                    "--pgdata=" + folder.server(),
                    "--mode=fast",
                    "--wait",
                    "--timeout=60",
                    "--silent");
        } catch (IOException e) {
            if (isAlive(folder.postmaster())) {
                LOG.log(Level.ERROR, "embedded PostgreSQL did not stop", e);
            }
        }
    }

    /** After a reboot the pid in an old file may be anybody's. */
    private boolean isAlive(long pid) {
        return pid > 0
                && ProcessHandle.of(pid)
                        .filter(ProcessHandle::isAlive)
                        .flatMap(process -> process.info().arguments())
                        .filter(args -> List.of(args).contains(folder.server().toString()))
                        .isPresent();
    }

    /** Runs a program of the distribution to its end. */
    private void run(Unprivileged as, String input, String program, String... args)
            throws IOException {
        // Not a pipe: a server started by pg_ctl would keep it open for ever.
        Path output = Files.createTempFile(folder.log(), program, ".out");
        try {
            Process process =
                    new ProcessBuilder(binaries.command(as, program, List.of(args)))
                            .directory(folder.root().toFile())
                            .redirectErrorStream(true)
                            .redirectOutput(output.toFile())
                            .start();
            try (var stdin = process.getOutputStream()) {
                stdin.write(input.getBytes(StandardCharsets.UTF_8));
            }
            if (process.waitFor() != 0) {
                throw new IOException(program + " failed: " + complaint(Files.readString(output)));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted while " + program + " ran", e);
        } finally {
            Files.delete(output);
        }
    }

    /** What went wrong, of a program that tells of every step; all of it where it does not say. */
    static String complaint(String output) {
        String errors =
                output.lines()
                        .filter(line -> COMPLAINTS.matcher(line).find())
                        .collect(Collectors.joining("\n"));
        return errors.isEmpty() ? output.strip() : errors;
    }

    private static boolean isFree(int port) {
        try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
            return socket.isBound();
        } catch (IOException e) {
            return false;
        }
    }

    /** Below the range that outgoing connections take theirs from, so that it stays free. */
    private static int freePort() {
        int port;
        do {
            port = ThreadLocalRandom.current().nextInt(20_000, 30_000);
        } while (!isFree(port));
        return port;
    }
}
