package io.queenmq.cli;

import io.queenmq.Broker;
import io.queenmq.BrokerConfig;
import io.queenmq.config.Settings;
import io.queenmq.config.Variables;
import io.queenmq.runtime.Logging;
import io.queenmq.runtime.Version;
import io.queenmq.web.Listener;
import java.lang.System.Logger.Level;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import picocli.CommandLine.Command;

/** {@code queen serve}: runs a broker until the process is told to stop. */
@Command(
        name = "serve",
        description = "Runs the broker (the default).",
        mixinStandardHelpOptions = true)
final class Serve implements Runnable {
    @Override
    public void run() {
        Settings settings = Settings.ofProcess();
        Logging.configure(settings.get(Variables.LOG_LEVEL));
        for (String name : settings.unknown()) {
            System.getLogger(Serve.class.getName())
                    .log(Level.WARNING, "setting is unknown and has no effect name={0}", name);
        }
        BrokerConfig config = BrokerConfig.from(settings);
        Listener.requireFree(config.web());
        config.embedded()
                .filter(folder -> !folder.resolve("server").toFile().exists())
                .ifPresent(
                        folder ->
                                System.out.println(
                                        "Making a database in "
                                                + folder.toAbsolutePath()
                                                + " ..."));
        CompletableFuture<Broker> serving = new CompletableFuture<>();
        CountDownLatch stopped = new CountDownLatch(1);
        Runtime.getRuntime()
                .addShutdownHook(
                        Thread.ofPlatform()
                                .name("queen-stop")
                                .unstarted(() -> stop(config, serving, stopped)));
        try {
            Broker broker = new Broker(config);
            broker.start();
            announce(config, broker);
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

    /** Whatever a signal interrupts, a server of our own is not left behind. */
    private static void stop(
            BrokerConfig config, CompletableFuture<Broker> serving, CountDownLatch stopped) {
        boolean refused = serving.isCompletedExceptionally();
        if (!refused && (serving.isDone() || config.embedded().isPresent())) {
            try {
                System.out.println("Queen stops ...");
                serving.join().close();
                System.out.println("Queen has stopped.");
            } catch (CancellationException e) {
                // It was refused meanwhile, and says why itself.
            }
        }
        stopped.countDown();
    }

    private static void announce(BrokerConfig config, Broker broker) {
        System.out.printf(
                "Queen %s listens on http://%s:%d%n",
                Version.current(), reachable(config.web().host()), broker.port());
        broker.embedded()
                .ifPresentOrElse(
                        server ->
                                System.out.printf(
                                        "  database   embedded PostgreSQL in %s%n  look       %s%n",
                                        config.embedded().orElseThrow().toAbsolutePath(),
                                        server.psqlCommand()),
                        () -> System.out.printf("  database   %s%n", broker.database()));
        System.out.println("  stop       Ctrl-C");
    }

    /** What stands in an address of that listener. */
    static String reachable(String host) {
        return switch (host) {
            case "0.0.0.0", "::" -> "localhost";
            default -> host.contains(":") ? "[" + host + "]" : host;
        };
    }
}
