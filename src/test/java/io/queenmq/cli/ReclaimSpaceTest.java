package io.queenmq.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.config.Settings;
import io.queenmq.testkit.Lines;
import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.TestDatabase;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

/** What an operator sees of {@code queen reclaim}. */
class ReclaimSpaceTest {
    private final TestDatabase database = TestDatabase.migrated();
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();
    private Connection connection;
    private LogFixture log;
    private long lane;

    @BeforeEach
    void fill() throws SQLException {
        connection = database.connect();
        log = new LogFixture(connection);
        lane = log.lane(log.queue("orders"));
        log.fill(lane, 500, 1);
    }

    @AfterEach
    void close() throws SQLException {
        connection.close();
        database.close();
    }

    /** All but the last hundred have gone. */
    private void expire() throws SQLException {
        log.run(
                "update queen_store.segments set created_at = created_at - interval '3 hours' where"
                        + " base_offset < 400");
        log.run("update queen_store.partitions set log_start = 400");
    }

    private int run(String... args) {
        out.getBuffer().setLength(0);
        Settings settings =
                Settings.of(
                        Map.of(
                                "PG_HOST", database.host(),
                                "PG_PORT", Integer.toString(database.port()),
                                "PG_DATABASE", database.name(),
                                "PG_USER", database.user()));
        CommandLine line = QueenCommand.commandLine(settings, new PrintWriter(out, true));
        line.setOut(new PrintWriter(out, true));
        line.setErr(new PrintWriter(err, true));
        return line.execute(args);
    }

    private List<String> lines() {
        return out.toString().lines().toList();
    }

    private String epochs() throws SQLException {
        return String.join(
                " ", Lines.lines(connection, "select epoch from queen_store.epochs order by 1"));
    }

    @Test
    void aDryRunSaysWhatWouldBeDoneAndDoesNothing() throws SQLException {
        expire();
        assertEquals(0, run("reclaim", "20kB", "--dry-run"));
        assertTrue(
                lines().getFirst()
                        .matches(
                                "epoch 1, open, \\d+ kB: close it, free about \\d+ kB, move about"
                                        + " \\d+ k?B"),
                out.toString());
        assertTrue(lines().getLast().matches("\\d+ kB would be free"), out.toString());
        assertEquals("0 1", epochs());

        assertEquals(2, run("reclaim", "10TB", "--dry-run"));
        assertTrue(
                lines().getLast()
                        .matches("\\d+ kB would be free, not 10 TB: the rest is alive, .*"),
                out.toString());
    }

    @Test
    void bytesComeBackAndTheLastLineSaysHowMany() throws SQLException {
        expire();
        assertEquals(0, run("reclaim", "20kB"));
        assertTrue(lines().contains("epoch 1 is sealed"), out.toString());
        assertTrue(lines().getLast().matches("\\d+ kB are free"), out.toString());
        assertEquals("0 2", epochs());
        assertEquals("100", Lines.line(connection, "select count(*) from queen_store.segments"));
    }

    @Test
    void lessThanWasAskedForEndsItWithTwo() throws SQLException {
        assertEquals(2, run("reclaim", "1GB"));
        assertTrue(
                lines().getLast().matches("0 B are free; stopped by a retention: .*"),
                out.toString());
        assertEquals("0 1", epochs());
    }

    @Test
    void aSizeIsAsked() {
        for (String[] wrong :
                List.of(
                        new String[] {"reclaim"},
                        new String[] {"reclaim", "much"},
                        new String[] {"reclaim", "0"},
                        new String[] {"reclaim", "-1GB"})) {
            assertEquals(64, run(wrong), String.join(" ", wrong));
        }
        assertTrue(err.toString().contains("no size such as 500MB or 10GB"), err.toString());
    }
}
