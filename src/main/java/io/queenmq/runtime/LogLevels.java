package io.queenmq.runtime;

import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.logging.Level;
import java.util.stream.Collectors;

/**
 * How important a line must be to be logged.
 *
 * @param general of everything that is not named
 * @param special by room, or by the name of a library's logger
 */
public record LogLevels(Word general, Map<String, Word> special) {
    /** What an operator needs. */
    public static final LogLevels INFO = new LogLevels(Word.INFO, Map.of());

    /** Only what went wrong. */
    public static final LogLevels ERROR = new LogLevels(Word.ERROR, Map.of());

    public LogLevels {
        special = Map.copyOf(special);
    }

    /** Levels as people name them. */
    public enum Word {
        OFF,
        ERROR,
        WARN,
        INFO,
        DEBUG,
        TRACE;

        Level level() {
            return switch (this) {
                case OFF -> Level.OFF;
                case ERROR -> Level.SEVERE;
                case WARN -> Level.WARNING;
                case INFO -> Level.INFO;
                case DEBUG -> Level.FINE;
                case TRACE -> Level.FINER;
            };
        }

        /** What a line of that level is called. */
        static Word of(Level level) {
            for (Word word : values()) {
                if (word != OFF && level.intValue() >= word.level().intValue()) {
                    return word;
                }
            }
            return TRACE;
        }

        private static Optional<Word> parse(String text) {
            try {
                return Optional.of(valueOf(text.strip().toUpperCase(Locale.ROOT)));
            } catch (IllegalArgumentException e) {
                return Optional.empty();
            }
        }

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** Reads levels as {@code info,web=debug,org.postgresql=trace}; empty = it is none. */
    public static Optional<LogLevels> parse(String text) {
        Optional<Word> general = Optional.empty();
        Map<String, Word> special = new TreeMap<>();
        for (String part : text.split(",", -1)) {
            int equals = part.indexOf('=');
            Optional<Word> word = Word.parse(part.substring(equals + 1));
            String name = equals < 0 ? "" : part.substring(0, equals).strip();
            boolean again = equals < 0 ? general.isPresent() : special.containsKey(name);
            if (word.isEmpty() || again || (equals >= 0 && name.isEmpty())) {
                return Optional.empty();
            }
            if (equals < 0) {
                general = word;
            } else {
                special.put(name, word.get());
            }
        }
        return Optional.of(new LogLevels(general.orElse(Word.INFO), special));
    }

    @Override
    public String toString() {
        return general
                + special.entrySet().stream()
                        .sorted(Map.Entry.comparingByKey())
                        .map(entry -> "," + entry.getKey() + "=" + entry.getValue())
                        .collect(Collectors.joining());
    }
}
