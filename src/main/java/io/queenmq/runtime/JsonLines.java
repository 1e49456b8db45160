package io.queenmq.runtime;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.time.temporal.ChronoUnit;
import java.util.Map;
import java.util.Set;
import java.util.logging.Formatter;
import java.util.logging.LogRecord;

/** The same lines for programs, a JSON object each. */
final class JsonLines extends Formatter {
    private static final JsonFactory JSON = new JsonFactory();

    /** Members that no event may replace. */
    private static final Set<String> OURS =
            Set.of("ts", "level", "target", "message", "request_id", "stack");

    @Override
    public String format(LogRecord event) {
        StringWriter line = new StringWriter();
        try (JsonGenerator json = JSON.createGenerator(line)) {
            LogEvent parts = LogEvent.of(formatMessage(event));
            json.writeStartObject();
            json.writeStringField(
                    "ts", event.getInstant().truncatedTo(ChronoUnit.MILLIS).toString());
            json.writeStringField("level", LogLevels.Word.of(event.getLevel()).name());
            json.writeStringField("target", Logging.target(event.getLoggerName()));
            json.writeStringField("message", parts.text());
            for (Map.Entry<String, String> field : parts.fields().entrySet()) {
                String name = field.getKey();
                json.writeStringField(
                        OURS.contains(name) ? "event_" + name : name, field.getValue());
            }
            if (LogContext.REQUEST_ID.isBound()) {
                json.writeStringField("request_id", LogContext.REQUEST_ID.get());
            }
            Throwable thrown = event.getThrown();
            if (thrown != null) {
                StringWriter trace = new StringWriter();
                thrown.printStackTrace(new PrintWriter(trace));
                json.writeStringField("stack", trace.toString());
            }
            json.writeEndObject();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return line.append('\n').toString();
    }
}
