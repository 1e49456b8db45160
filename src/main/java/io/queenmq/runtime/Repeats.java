package io.queenmq.runtime;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import java.util.logging.Filter;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.regex.Pattern;

/**
 * Lets through so many lines of one event in a while, and says with the next one how many it kept
 * back: in an outage a thousand callers have the same thing to say. Events are told apart by where
 * they are logged and by their fixed text. Any thread.
 */
final class Repeats implements Filter {
    static final int LINES_MAX = 5;
    private static final Duration WHILE = Duration.ofSeconds(10);

    /** More kinds of events than there are in the code. */
    private static final int EVENTS_MAX = 1_000;

    private static final Pattern VARIES = Pattern.compile("\\s*\\S*[={].*", Pattern.DOTALL);

    /** Of these every line counts, and how many there are is bounded by other means. */
    private static final Set<String> ALL_COUNT =
            Set.of("io.queenmq.count.QueueRate", "io.queenmq.web.ManagementLog");

    private final Clock clock;

    /** Guards what follows. */
    private final ReentrantLock lock = new ReentrantLock();

    private final Map<String, Count> events = new HashMap<>();

    private static final class Count {
        private long sinceNanos;
        private int lines;
        private long kept;
    }

    Repeats(Clock clock) {
        this.clock = clock;
    }

    @Override
    public boolean isLoggable(LogRecord event) {
        if (event.getLevel().intValue() < Level.INFO.intValue()
                || ALL_COUNT.contains(event.getLoggerName())) {
            // Whoever asks for these lines wants them all.
            return true;
        }
        long suppressed = admit(event.getLoggerName() + ' ' + fixedText(event));
        if (suppressed > 0) {
            event.setMessage(event.getMessage() + " suppressed=" + suppressed);
        }
        return suppressed >= 0;
    }

    private static String fixedText(LogRecord event) {
        String message = event.getMessage();
        return message == null ? "" : VARIES.matcher(message).replaceFirst("");
    }

    /** How many lines were kept back before this one; -1 = so is this one. */
    private long admit(String event) {
        lock.lock();
        try {
            if (events.size() >= EVENTS_MAX) {
                events.clear();
            }
            long now = clock.nanos();
            Count count = events.get(event);
            if (count == null) {
                count = new Count();
                count.sinceNanos = now;
                events.put(event, count);
            }
            if (now - count.sinceNanos >= WHILE.toNanos()) {
                count.sinceNanos = now;
                count.lines = 0;
            }
            if (count.lines == LINES_MAX) {
                count.kept++;
                return -1;
            }
            count.lines++;
            long kept = count.kept;
            count.kept = 0;
            return kept;
        } finally {
            lock.unlock();
        }
    }
}
