package io.queenmq.runtime;

import java.util.ArrayList;
import java.util.List;
import java.util.logging.ConsoleHandler;
import java.util.logging.Level;
import java.util.logging.LogManager;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Sets logging up: one line per event on standard error, libraries only when they complain, and of
 * an event that comes again and again only some.
 */
public final class Logging {
    private static final String ROOMS = "io.queenmq.";

    private static final List<String> LIBRARIES =
            List.of("io.helidon", "org.flywaydb", "com.zaxxer", "org.postgresql", "io.micrometer");

    /** It reports every connection that a restart of the server breaks; the meters count them. */
    private static final String POOL = "com.zaxxer.hikari.pool";

    private Logging() {}

    /** Called before anything logs: lines are written until the process is gone. */
    public static void outlast() {
        // A call of that class would be too late: it makes Java's logging first.
        System.setProperty("java.util.logging.manager", LastingLogManager.class.getName());
    }

    /**
     * Called once, before anything else logs.
     *
     * @param json whether a line is a JSON object
     */
    public static void configure(LogLevels levels, boolean json) {
        if (LogManager.getLogManager() instanceof LastingLogManager lasting) {
            lasting.clear();
        } else {
            LogManager.getLogManager().reset();
        }
        Console console = new Console();
        console.setLevel(Level.ALL);
        console.setFormatter(json ? new JsonLines() : new TextLines());
        console.setFilter(new Repeats(Clock.SYSTEM));
        Logger root = Logger.getLogger("");
        root.addHandler(console);
        root.setLevel(levels.general().level());
        LIBRARIES.forEach(library -> console.set(library, atLeast(Level.WARNING, levels)));
        console.set(POOL, atLeast(Level.SEVERE, levels));
        levels.special()
                .forEach(
                        (name, word) ->
                                console.set(
                                        name.contains(".") ? name : ROOMS + name, word.level()));
    }

    private static Level atLeast(Level level, LogLevels levels) {
        Level general = levels.general().level();
        return general.intValue() > level.intValue() ? general : level;
    }

    /** Where a line comes from: the room and its class, or the logger of a library. */
    static String target(@Nullable String logger) {
        return logger == null
                ? "-"
                : logger.startsWith(ROOMS) ? logger.substring(ROOMS.length()) : logger;
    }

    private static final class Console extends ConsoleHandler {
        /** A logger that nobody holds is collected, and its level with it. */
        private final List<Logger> held = new ArrayList<>();

        private void set(String logger, Level level) {
            Logger named = Logger.getLogger(logger);
            named.setLevel(level);
            held.add(named);
        }
    }
}
