package io.queenmq.runtime;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;
import java.util.logging.ConsoleHandler;
import java.util.logging.Formatter;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogManager;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.stream.Stream;

/** Sets logging up: one line per event on standard error, libraries only when they complain. */
public final class Logging {
    // Held here: a logger that nobody holds is collected, and its level with it.
    private static final List<Logger> LIBRARIES =
            Stream.of("io.helidon", "org.flywaydb", "com.zaxxer", "org.postgresql", "io.micrometer")
                    .map(Logger::getLogger)
                    .toList();

    private static final Logger POOL = Logger.getLogger("com.zaxxer.hikari.pool");

    private Logging() {}

    /**
     * Called once, before anything logs.
     *
     * @param level error, warn, info or debug
     */
    public static void configure(String level) {
        LogManager.getLogManager().reset();
        Handler console = new ConsoleHandler();
        console.setLevel(Level.ALL);
        console.setFormatter(new Line());
        Logger root = Logger.getLogger("");
        root.addHandler(console);
        root.setLevel(julLevel(level));
        for (Logger library : LIBRARIES) {
            library.setLevel(level.equals("error") ? Level.SEVERE : Level.WARNING);
        }
        // It reports every connection that a restart of the server breaks; the meters count them.
        POOL.setLevel(Level.SEVERE);
    }

    private static Level julLevel(String level) {
        return switch (level.toLowerCase(Locale.ROOT)) {
            case "error" -> Level.SEVERE;
            case "warn" -> Level.WARNING;
            case "debug" -> Level.FINE;
            default -> Level.INFO;
        };
    }

    private static final class Line extends Formatter {
        @Override
        public String format(LogRecord event) {
            StringBuilder line = new StringBuilder();
            line.append(Instant.ofEpochMilli(event.getMillis()).truncatedTo(ChronoUnit.MILLIS))
                    .append(' ')
                    .append(name(event.getLevel()))
                    .append(' ')
                    .append(shortName(event.getLoggerName()))
                    .append(' ')
                    .append(formatMessage(event))
                    .append('\n');
            Throwable thrown = event.getThrown();
            if (thrown != null) {
                StringWriter trace = new StringWriter();
                thrown.printStackTrace(new PrintWriter(trace));
                line.append(trace);
            }
            return line.toString();
        }

        private static String name(Level level) {
            return level.intValue() >= Level.SEVERE.intValue()
                    ? "ERROR"
                    : level.intValue() >= Level.WARNING.intValue()
                            ? "WARN"
                            : level.intValue() >= Level.INFO.intValue() ? "INFO" : "DEBUG";
        }

        private static String shortName(String logger) {
            return logger == null ? "-" : logger.substring(logger.lastIndexOf('.') + 1);
        }
    }
}
