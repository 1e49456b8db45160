package io.queenmq.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Json;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What stands in a log, and what does not. */
class LoggingTest {
    private static final Instant AT = Instant.parse("2026-07-30T11:02:44.512873Z");

    private static LogRecord event(String message, Object... parameters) {
        LogRecord event = new LogRecord(Level.WARNING, message);
        event.setLoggerName("io.queenmq.db.Connector");
        event.setInstant(AT);
        event.setParameters(parameters);
        return event;
    }

    @Test
    void aLineOfTextSaysWhenHowBadWhereAndWhat() {
        assertEquals(
                "2026-07-30T11:02:44.512Z WARN db.Connector it broke address=a error=one\\n  two"
                        + " request_id=r-1\n",
                ScopedValue.where(LogContext.REQUEST_ID, "r-1")
                        .call(
                                () ->
                                        new TextLines()
                                                .format(
                                                        event(
                                                                "it broke address={0} error={1}",
                                                                "a", "one\n  two"))));
    }

    @Test
    void aLineOfJsonHasAMemberForEverythingThatTheEventNames() {
        LogRecord event =
                event(
                        "it broke address={0} level={1} error={2}",
                        "\"a\" b", "7", "ERROR: no\n  Position: 1");
        event.setThrown(new IllegalStateException("why"));
        String line =
                ScopedValue.where(LogContext.REQUEST_ID, "r-1")
                        .call(() -> new JsonLines().format(event));
        assertEquals(1, line.lines().count());
        Json json = Json.parse(line);
        Map.of(
                        "ts", "2026-07-30T11:02:44.512Z",
                        "level", "WARN",
                        "target", "db.Connector",
                        "message", "it broke",
                        "address", "\"a\" b",
                        "event_level", "7",
                        "error", "ERROR: no\n  Position: 1",
                        "request_id", "r-1")
                .forEach((name, value) -> assertEquals(value, json.text(name), name));
        assertTrue(json.text("stack").startsWith("java.lang.IllegalStateException: why\n"), line);
        assertEquals(
                "just text",
                Json.parse(new JsonLines().format(event("just text"))).text("message"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "info | info",
                "WARN | warn",
                "debug,web=trace | debug,web=trace",
                "web=off , error | error,web=off",
                "db=debug,org.postgresql=debug | info,db=debug,org.postgresql=debug"
            })
    void levelsAreOneForAllAndSomeForRooms(String text, String read) {
        assertEquals(Optional.of(read), LogLevels.parse(text).map(LogLevels::toString));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"", "loud", "info,", "info,debug", "web=", "=info", "web=a", "a=off,a=off"})
    void whatIsNoLevelIsNone(String text) {
        assertEquals(Optional.empty(), LogLevels.parse(text));
    }

    @Test
    void ofAnEventThatComesAgainAndAgainSomeLinesAreLoggedAndTheOthersCounted() {
        AtomicLong seconds = new AtomicLong();
        Repeats repeats =
                new Repeats(
                        new Clock() {
                            @Override
                            public Instant now() {
                                return AT;
                            }

                            @Override
                            public long nanos() {
                                return seconds.get() * 1_000_000_000L;
                            }
                        });
        List<String> logged = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            log(repeats, logged, "it broke times=" + i);
        }
        log(repeats, logged, "another thing times=1");
        assertEquals(
                List.of(
                        "it broke times=0",
                        "it broke times=1",
                        "it broke times=2",
                        "it broke times=3",
                        "it broke times=4",
                        "another thing times=1"),
                logged);
        seconds.set(10);
        log(repeats, logged, "it broke times=100");
        log(repeats, logged, "it broke times=101");
        assertEquals(
                List.of("it broke times=100 suppressed=95", "it broke times=101"),
                logged.subList(6, 8));
    }

    private static void log(Repeats repeats, List<String> logged, String message) {
        LogRecord event = event(message);
        if (repeats.isLoggable(event)) {
            logged.add(event.getMessage());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"io.queenmq.count.QueueRate", "io.queenmq.web.ManagementLog"})
    void linesOfWhichEachCountsAreAllLogged(String logger) throws ClassNotFoundException {
        assertEquals(logger, Class.forName(logger).getName());
        Repeats repeats = new Repeats(Clock.SYSTEM);
        for (int i = 0; i < 100; i++) {
            LogRecord event = new LogRecord(Level.INFO, "rates queue=q" + i);
            event.setLoggerName(logger);
            assertTrue(repeats.isLoggable(event));
        }
    }

    @Test
    void whoAsksForDetailsGetsThemAll() {
        Repeats repeats = new Repeats(Clock.SYSTEM);
        LogRecord event = event("it runs");
        event.setLevel(Level.FINE);
        for (int i = 0; i < 100; i++) {
            assertTrue(repeats.isLoggable(event));
        }
    }
}
