package io.queenmq;

import io.queenmq.cli.QueenCommand;
import io.queenmq.runtime.Logging;
import java.lang.System.Logger.Level;

/** Entry point of {@code ./queen}. */
public final class Main {
    static {
        Logging.outlast();
    }

    private static final System.Logger LOG = System.getLogger(Main.class.getName());
    private static final int THREAD_DIED = 70;

    private Main() {}

    public static void main(String[] args) {
        // A broker that has lost one of its threads is worse than none: a supervisor restarts it.
        Thread.setDefaultUncaughtExceptionHandler(
                (thread, failure) -> {
                    LOG.log(Level.ERROR, "a thread died thread=" + thread.getName(), failure);
                    Runtime.getRuntime().halt(THREAD_DIED);
                });
        System.exit(QueenCommand.run(args));
    }
}
