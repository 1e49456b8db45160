package io.queenmq.testkit;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;

/**
 * What an operator who asks for every detail of ours gets to read while it is open, with the
 * stacks; of libraries only what they complain about.
 */
public final class LogCapture implements AutoCloseable {
    private final Logger root = Logger.getLogger("");
    private final Logger rooms = Logger.getLogger("io.queenmq");
    private final StringWriter text = new StringWriter();
    private final PrintWriter out = new PrintWriter(text);
    private final SimpleFormatter formatter = new SimpleFormatter();

    private final Handler handler =
            new Handler() {
                @Override
                public void publish(LogRecord event) {
                    synchronized (out) {
                        out.println(
                                event.getLevel()
                                        + " "
                                        + event.getLoggerName()
                                        + ' '
                                        + formatter.formatMessage(event));
                        if (event.getThrown() != null) {
                            event.getThrown().printStackTrace(out);
                        }
                    }
                }

                @Override
                public void flush() {
                    // Written at once.
                }

                @Override
                public void close() {
                    // Nothing is held.
                }
            };

    public LogCapture() {
        handler.setLevel(Level.ALL);
        root.addHandler(handler);
        rooms.setLevel(Level.ALL);
    }

    /** What was logged until now. */
    public String text() {
        synchronized (out) {
            return text.toString();
        }
    }

    @Override
    public void close() {
        root.removeHandler(handler);
        rooms.setLevel(null);
    }
}
