package io.queenmq.machine;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.machine.Interleaving.Meeting;
import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.postgresql.PGConnection;

/**
 * Every writer against every other: the first has done its work and holds its locks in an open
 * transaction, the second comes, then the first commits or rolls back. The second must do what the
 * table of locks says (nothing in its way, busy, or wait), and answers and state must be those of
 * one of the two serial orders in the model; of the first alone where the second was busy.
 */
class InterleavingProceduresTest {
    private static final int HOLDER = 10;
    private static final int RUNNER = 11;

    enum Ending {
        COMMIT,
        ROLLBACK
    }

    private static final List<String> TABLE = new ArrayList<>();

    private static TestDatabase database;
    private static Connection first;
    private static Connection second;
    private static Connection observer;
    private static ExecutorService threads;

    @BeforeAll
    static void create() throws SQLException {
        database = TestDatabase.migrated();
        first = database.connect();
        second = database.connect();
        observer = database.connect();
        threads = Executors.newVirtualThreadPerTaskExecutor();
    }

    @AfterAll
    static void drop() throws SQLException {
        System.out.println(
                "interleavings (a line per holder; who comes is free, busy or waits):\n"
                        + String.join("\n", TABLE));
        threads.close();
        first.close();
        second.close();
        observer.close();
        database.close();
    }

    /** What the second said while the first held its locks, and in the end. */
    private record Outcome(Meeting meeting, List<String> held, List<String> run) {}

    static Stream<Arguments> holders() {
        return Arrays.stream(Ending.values())
                .flatMap(
                        ending ->
                                Interleaving.all().stream()
                                        .map(holder -> Arguments.of(ending, holder)));
    }

    @Contract({"push-14", "pop-claim-1"})
    @ParameterizedTest
    @MethodSource("holders")
    void everyPairOfWritersIsSerial(Ending ending, Interleaving holder) throws Exception {
        List<String> findings = new ArrayList<>();
        StringBuilder line = new StringBuilder(String.format("%-24s", holder.name()));
        for (Interleaving runner : Interleaving.all()) {
            Meeting meeting = runner.with(holder);
            // What leaves the other alone is tried with a commit, and on one server.
            if (meeting != Meeting.FREE || (ending == Ending.COMMIT && Run.IS_MAIN_SERVER)) {
                meeting = meet(holder, runner, ending, findings);
            }
            line.append(meeting.name().toLowerCase(Locale.ROOT).charAt(0)).append(' ');
        }
        if (ending == Ending.COMMIT) {
            TABLE.add(line.toString());
        }
        assertEquals("", String.join("\n", findings));
    }

    private static Meeting meet(
            Interleaving holder, Interleaving runner, Ending ending, List<String> findings)
            throws Exception {
        SqlMachine one = new SqlMachine(first);
        for (Op op : Interleaving.scene()) {
            one.apply(op);
        }
        SqlMachine other = new SqlMachine(second, one);
        Op held = holder.op().apply(HOLDER);
        Op run = runner.op().apply(RUNNER);
        Outcome outcome = interleave(one, other, held, run, ending);

        String name = holder.name() + " / " + runner.name() + ", " + ending + ": ";
        if (outcome.meeting() != runner.with(holder)) {
            findings.add(name + outcome + ", expected " + runner.with(holder));
        }
        List<Op> orders = ending == Ending.COMMIT ? List.of(held, run) : List.of(run);
        boolean serial =
                switch (outcome.meeting()) {
                    case FREE ->
                            fits(one, orders, outcome) || fits(one, orders.reversed(), outcome);
                    case WAITS -> fits(one, orders, outcome);
                    // Nothing happened: so it can happen now.
                    case BUSY -> {
                        Outcome again = new Outcome(Meeting.BUSY, outcome.held(), other.apply(run));
                        yield fits(one, orders, again);
                    }
                };
        if (!serial) {
            findings.add(name + outcome + " is no serial order: " + one.lines());
        }
        return outcome.meeting();
    }

    private static Outcome interleave(
            SqlMachine one, SqlMachine other, Op held, Op run, Ending ending) throws Exception {
        first.setAutoCommit(false);
        List<String> answer = one.apply(held);
        Future<List<String>> running = threads.submit(() -> patient(other, run));
        int pid = second.unwrap(PGConnection.class).getBackendPID();
        Await.until("the second to answer or to wait", () -> running.isDone() || isBlocked(pid));
        boolean waited = !running.isDone();
        if (ending == Ending.COMMIT) {
            first.commit();
        } else {
            first.rollback();
        }
        first.setAutoCommit(true);
        List<String> last;
        try {
            last = running.get();
        } catch (ExecutionException e) {
            last = List.of("raised " + e.getCause());
        }
        Meeting meeting =
                waited
                        ? Meeting.WAITS
                        : last.stream().anyMatch(InterleavingProceduresTest::isBusy)
                                ? Meeting.BUSY
                                : Meeting.FREE;
        return new Outcome(meeting, answer, last);
    }

    /** Some wait for a bounded time only, and are then called again. */
    private static List<String> patient(SqlMachine machine, Op op) throws SQLException {
        while (true) {
            try {
                return machine.apply(op);
            } catch (SQLException e) {
                if (!"55P03".equals(e.getSQLState())) {
                    throw e;
                }
            }
        }
    }

    /** A release passes over what is held: it says so by its count. */
    private static boolean isBusy(String line) {
        return line.contains("busy") || line.equals("released 0");
    }

    private static boolean isBlocked(int pid) throws SQLException {
        return !SqlState.text(
                        TestDatabase.rows(observer, "select cardinality(pg_blocking_pids(?))", pid)
                                .getFirst()[0])
                .equals("0");
    }

    private static boolean fits(SqlMachine one, List<Op> order, Outcome outcome)
            throws SQLException {
        Model model = new Model(false);
        for (Op op : Interleaving.scene()) {
            model.apply(op, List.of());
        }
        boolean fits = true;
        for (Op op : order) {
            List<String> answer = op.id() == HOLDER ? outcome.held() : outcome.run();
            fits &= Run.isAllowed(model.apply(op, answer), answer);
        }
        return fits
                && new TreeSet<>(model.state.lines()).equals(new TreeSet<>(one.lines()))
                // Reads and checks every message, so only where both have left something.
                && (order.size() == 1
                        || new TreeSet<>(model.state.log()).equals(new TreeSet<>(one.log())));
    }
}
