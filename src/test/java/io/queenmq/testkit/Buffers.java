package io.queenmq.testkit;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** What a call touches, which unlike its time is the same on every machine. */
public final class Buffers {
    private static final Pattern OUTERMOST =
            Pattern.compile("Buffers: shared(?: hit=(\\d+))?(?: read=(\\d+))?");

    private Buffers() {}

    /** Hits and reads of the whole call, those inside the function too. */
    public static int of(Connection connection, String call) throws SQLException {
        String plan =
                String.join(
                        "\n",
                        Lines.lines(
                                connection,
                                "explain (analyze, buffers, timing off, summary off) select * from "
                                        + call));
        Matcher matcher = OUTERMOST.matcher(plan);
        if (!plan.contains("actual rows=")) {
            throw new AssertionError(call + " was not run:\n" + plan);
        }
        // What touches none is not told of.
        return matcher.find() ? number(matcher.group(1)) + number(matcher.group(2)) : 0;
    }

    private static int number(@Nullable String digits) {
        return digits == null ? 0 : Integer.parseInt(digits);
    }
}
