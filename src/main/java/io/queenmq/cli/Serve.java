package io.queenmq.cli;

import io.queenmq.Broker;
import io.queenmq.BrokerConfig;
import io.queenmq.config.LogVariables;
import io.queenmq.config.Settings;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Logging;
import io.queenmq.runtime.StartRefused;
import io.queenmq.runtime.Version;
import io.queenmq.web.Listener;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.function.Supplier;
import picocli.CommandLine.Command;

/** {@code queen serve}: runs a broker until the process is told to stop. */
@Command(
        name = "serve",
        description = "Runs the broker (the default).",
        mixinStandardHelpOptions = true,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {Serve.STOPPED, Serve.REFUSED, QueenCommand.WRONG, Serve.THREAD_DIED},
        footerHeading = "%nExamples:%n",
        footer = {
            "  queen serve                        on port 6632 with a PostgreSQL of its own in ./data",
            "  PORT=7000 QUEEN_DATA_DIR=/var/lib/queen queen serve",
            "                                     the same elsewhere",
            "  queen serve --config queen.yaml    settings from a file; the environment wins",
            "",
            "Settings are environment variables, or lines of a file: see docs/configuration.md."
        })
final class Serve implements Runnable {
    static final String STOPPED = "143:it was told to stop, and has stopped (130 after Ctrl-C)";
    static final String REFUSED = "1:it does not start with this; the last line says why";
    static final String THREAD_DIED = "70:one of its threads died; the log says how";

    private static final System.Logger LOG = System.getLogger(Serve.class.getName());

    private final Supplier<Settings> given;

    Serve(Supplier<Settings> given) {
        this.given = given;
    }

    @Override
    public void run() {
        Settings settings = given.get();
        Logging.configure(settings.get(LogVariables.RUST_LOG), settings.get(LogVariables.LOG_JSON));
        tell(settings);
        Says says = new Says(settings.get(LogVariables.LOG_JSON));
        try {
            serve(BrokerConfig.from(settings), says);
        } catch (StartRefused | QueenException e) {
            says.refused(e);
            throw e;
        }
    }

    private static void serve(BrokerConfig config, Says says) {
        Listener.requireFree(config.web());
        config.embedded()
                .filter(folder -> !folder.resolve("server").toFile().exists())
                .ifPresent(folder -> says.makesDatabase(folder.toAbsolutePath()));
        CompletableFuture<Broker> serving = new CompletableFuture<>();
        CountDownLatch stopped = new CountDownLatch(1);
        Runtime.getRuntime()
                .addShutdownHook(
                        Thread.ofPlatform()
                                .name("queen-stop")
                                .unstarted(() -> stop(config, serving, stopped, says)));
        try {
            Broker broker = new Broker(config);
            broker.start();
            says.listens(config, broker);
            serving.complete(broker);
        } finally {
            serving.cancel(false);
        }
        try {
            stopped.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** What an operator may have meant otherwise, before anything is done about it. */
    private static void tell(Settings settings) {
        for (String name : settings.unknown()) {
            LOG.log(Level.WARNING, "setting is unknown and has no effect name={0}", name);
        }
        List<String> foreign = settings.withoutEffect();
        if (!foreign.isEmpty()) {
            LOG.log(
                    Level.WARNING,
                    "settings of other versions have no effect names={0}",
                    String.join(",", foreign));
        }
        List<String> changed = settings.changed();
        LOG.log(
                Level.INFO,
                "settings that are not left at their defaults: {0}",
                changed.isEmpty() ? "none" : String.join(" ", changed));
    }

    /** Whatever a signal interrupts, a server of our own is not left behind. */
    private static void stop(
            BrokerConfig config,
            CompletableFuture<Broker> serving,
            CountDownLatch stopped,
            Says says) {
        boolean refused = serving.isCompletedExceptionally();
        if (!refused && (serving.isDone() || config.embedded().isPresent())) {
            try {
                says.stops();
                serving.join().close();
                says.stopped();
            } catch (CancellationException e) {
                // It was refused meanwhile, and says why itself.
            }
        }
        stopped.countDown();
    }

    /**
     * What a person at a terminal reads of a broker's life. Where a program reads the log it gets
     * the same there: lines of another kind between its own are none that it can read.
     */
    private record Says(boolean toPrograms) {
        /** A person is told by the command, in its last line. */
        void refused(RuntimeException refusal) {
            if (toPrograms) {
                LOG.log(Level.ERROR, "start refused error={0}", refusal.getMessage());
            }
        }

        void makesDatabase(Path folder) {
            if (toPrograms) {
                LOG.log(Level.INFO, "a database is made folder={0}", folder);
            } else {
                System.out.println("Making a database in " + folder + " ...");
            }
        }

        void listens(BrokerConfig config, Broker broker) {
            String address = "http://" + reachable(config.web().host()) + ':' + broker.port();
            if (toPrograms) {
                LOG.log(
                        Level.INFO,
                        "broker listens version={0} address={1} database={2}",
                        Version.current(),
                        address,
                        broker.embedded().isPresent() ? "embedded" : broker.database());
                return;
            }
            System.out.println("Queen " + Version.current() + " listens on " + address);
            broker.embedded()
                    .ifPresentOrElse(
                            server ->
                                    System.out.printf(
                                            "  database   embedded PostgreSQL in %s%n"
                                                    + "  look       %s%n",
                                            config.embedded().orElseThrow().toAbsolutePath(),
                                            server.psqlCommand()),
                            () -> System.out.printf("  database   %s%n", broker.database()));
            System.out.println("  stop       Ctrl-C");
        }

        void stops() {
            say("broker stops", "Queen stops ...");
        }

        void stopped() {
            say("broker has stopped", "Queen has stopped.");
        }

        private void say(String event, String sentence) {
            if (toPrograms) {
                LOG.log(Level.INFO, event);
            } else {
                System.out.println(sentence);
            }
        }
    }

    /** What stands in an address of that listener. */
    static String reachable(String host) {
        return switch (host) {
            case "0.0.0.0", "::" -> "localhost";
            default -> host.contains(":") ? "[" + host + "]" : host;
        };
    }
}
