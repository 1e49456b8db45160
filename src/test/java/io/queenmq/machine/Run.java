package io.queenmq.machine;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Operations on the model and on the real thing, side by side, until they say different things. */
final class Run {
    /** Whether this is the server that all tests run on; on the older ones less is searched. */
    static final boolean IS_MAIN_SERVER =
            System.getProperty("queen.test.postgres", "18").equals("18");

    /** How many steps to take, unless the property says. */
    static int steps(String property, int usual) {
        return Integer.getInteger(property, IS_MAIN_SERVER ? usual : usual / 4);
    }

    /** Opens the real thing, with nothing in it. */
    interface Opener {
        Machine open() throws SQLException;
    }

    /** After how many operations the state is compared, and after how many the whole log. */
    record Pace(int state, int log, boolean overHttp) {}

    private final Opener opener;
    private final Pace pace;

    Run(Opener opener, Pace pace) {
        this.opener = opener;
        this.pace = pace;
    }

    /** Where the two parted; null = they never did. */
    @Nullable Failure random(long seed, int steps) throws SQLException {
        Model model = new Model(pace.overHttp());
        Generator generator = new Generator(seed, model.state, pace.overHttp());
        List<Op> done = new ArrayList<>();
        try (Machine machine = opener.open()) {
            for (int i = 1; i <= steps; i++) {
                Op op = generator.next();
                done.add(op);
                boolean looks = i == steps || i % pace.state() == 0;
                boolean reads = i == steps || i % pace.log() == 0;
                String difference = step(model, machine, op, looks, reads);
                if (difference != null) {
                    return new Failure(done, difference);
                }
            }
        }
        return null;
    }

    /** The same for operations that are given, looked at after each. */
    @Nullable Failure replay(List<Op> ops) throws SQLException {
        Model model = new Model(pace.overHttp());
        try (Machine machine = opener.open()) {
            for (int i = 0; i < ops.size(); i++) {
                String difference = step(model, machine, ops.get(i), true, i + 1 == ops.size());
                if (difference != null) {
                    return new Failure(ops.subList(0, i + 1), difference);
                }
            }
        }
        return null;
    }

    private @Nullable String step(Model model, Machine machine, Op op, boolean looks, boolean reads)
            throws SQLException {
        Op resolved = model.resolve(op);
        List<String> actual;
        try {
            actual = machine.apply(resolved);
        } catch (SQLException e) {
            return op + "\n  raised " + e.getMessage();
        }
        List<String> expected = model.apply(machine.chosen(resolved), actual);
        if (pace.overHttp()) {
            expected = asToldByHttp(op, expected);
        }
        if (!isAllowed(expected, actual)) {
            return op + "\n  expected " + expected + "\n  but was  " + actual;
        }
        String difference = null;
        if (looks) {
            difference = compare(op, model.state.lines(), machine.lines());
        }
        if (difference == null && reads) {
            difference = compare(op, model.state.log(), machine.log());
        }
        return difference;
    }

    /** A transaction does not say which acks did what, nor where it was refused. */
    private static List<String> asToldByHttp(Op op, List<String> lines) {
        if (op instanceof Op.Transact) {
            return !lines.isEmpty() && lines.getFirst().startsWith("undone")
                    ? lines.subList(0, 1)
                    : lines.stream()
                            .map(l -> l.replaceFirst("^(done|noop|stale)( released)?", "acked"))
                            .toList();
        }
        return lines.stream().map(line -> HttpMoves.asTold(op, asToldByHttp(line))).toList();
    }

    /** A pop does not say why a lane gave nothing, nor a push where what is gone had stood. */
    private static String asToldByHttp(String line) {
        return line.replaceFirst(
                        ": (no lane|no_cursor|held|empty|spare|spare or empty)$", ": nothing")
                .replaceAll("=\\d+ gone", "=gone");
    }

    static boolean isAllowed(List<String> expected, List<String> actual) {
        if (expected.size() != actual.size()) {
            return false;
        }
        for (int i = 0; i < expected.size(); i++) {
            String line = expected.get(i);
            int verdict = line.lastIndexOf(": ") < 0 ? 0 : line.lastIndexOf(": ") + 2;
            String head = line.substring(0, verdict);
            String said = actual.get(i);
            boolean allowed =
                    Arrays.stream(line.substring(verdict).split(" or ", -1))
                            .anyMatch(
                                    alternative ->
                                            said.equals(head + alternative)
                                                    // Not every machine reads the messages.
                                                    || said.equals(
                                                            (head + alternative)
                                                                    .replaceFirst(" = .*", "")));
            if (!allowed) {
                return false;
            }
        }
        return true;
    }

    private static @Nullable String compare(Op op, List<String> expected, List<String> actual) {
        Set<String> missing = new TreeSet<>(expected);
        actual.forEach(missing::remove);
        Set<String> surplus = new TreeSet<>(actual);
        expected.forEach(surplus::remove);
        if (missing.isEmpty() && surplus.isEmpty() && expected.size() == actual.size()) {
            return null;
        }
        List<String> lines = new ArrayList<>();
        missing.forEach(line -> lines.add("  expected " + line));
        surplus.forEach(line -> lines.add("  found    " + line));
        return "after " + op + "\n" + String.join("\n", lines);
    }

    /** Operations of which the last made the difference. */
    record Failure(List<Op> ops, String difference) {
        Failure {
            ops = Collections.unmodifiableList(new ArrayList<>(ops));
        }

        @Override
        public String toString() {
            StringBuilder text = new StringBuilder(difference).append("\nafter these operations:");
            ops.forEach(op -> text.append("\n  ").append(op));
            return text.toString();
        }
    }

    /** Leaves out operations as long as what is left still fails, and time is left. */
    Failure shrink(Failure failure, long deadlineNanos) throws SQLException {
        Failure shortest = failure;
        int chunk = Math.max(1, shortest.ops().size() / 2);
        while (true) {
            boolean shorter = false;
            for (int from = 0; from < shortest.ops().size(); ) {
                if (System.nanoTime() - deadlineNanos > 0) {
                    return shortest;
                }
                List<Op> less = new ArrayList<>(shortest.ops());
                less.subList(from, Math.min(from + chunk, less.size())).clear();
                Failure next = less.isEmpty() ? null : replay(less);
                if (next == null) {
                    from += chunk;
                } else {
                    shortest = next;
                    shorter = true;
                }
            }
            if (chunk == 1 && !shorter) {
                return shortest;
            }
            chunk = Math.max(1, chunk / 2);
        }
    }
}
