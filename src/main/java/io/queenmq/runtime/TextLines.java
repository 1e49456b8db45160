package io.queenmq.runtime;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.temporal.ChronoUnit;
import java.util.logging.Formatter;
import java.util.logging.LogRecord;

/** Lines for people: time, level, source, text and {@code key=value}; then a stack, if any. */
final class TextLines extends Formatter {
    @Override
    public String format(LogRecord event) {
        StringBuilder line = new StringBuilder();
        line.append(event.getInstant().truncatedTo(ChronoUnit.MILLIS))
                .append(' ')
                .append(LogLevels.Word.of(event.getLevel()).name())
                .append(' ')
                .append(Logging.target(event.getLoggerName()))
                .append(' ');
        oneLine(formatMessage(event), line);
        if (LogContext.REQUEST_ID.isBound()) {
            line.append(" request_id=").append(LogContext.REQUEST_ID.get());
        }
        line.append('\n');
        Throwable thrown = event.getThrown();
        if (thrown != null) {
            StringWriter trace = new StringWriter();
            thrown.printStackTrace(new PrintWriter(trace));
            line.append(trace);
        }
        return line.toString();
    }

    /** What others say may have several lines, or look like a line of ours. */
    private static void oneLine(String message, StringBuilder line) {
        message.codePoints()
                .forEach(
                        c -> {
                            if (c == '\n') {
                                line.append("\\n");
                            } else if (Character.isISOControl(c)) {
                                line.append(' ');
                            } else {
                                line.appendCodePoint(c);
                            }
                        });
    }
}
