package io.queenmq.machine;

import static org.junit.jupiter.api.Assertions.fail;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.TestDatabase;
import java.sql.SQLException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The procedures against the model: the same random operations on both, every verdict and the whole
 * state compared. {@code -Dqueen.machine.seed} repeats a run, {@code -Dqueen.machine.steps} makes
 * it longer. Time goes by when an operation says so: all that is stored is then made older, and
 * every span ends half-way between two such steps, so that nothing depends on how fast the test is.
 */
class MachinePropertyTest {
    private static final int STEPS = Run.steps("queen.machine.steps", 800);
    private static final long SHRINK_SECONDS = Long.getLong("queen.machine.shrinkSeconds", 120);

    private static TestDatabase database;

    @BeforeAll
    static void create() {
        database = TestDatabase.migrated();
    }

    @AfterAll
    static void drop() {
        database.close();
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    @Contract({
        "model-4",
        "model-8",
        "pop-claim-3",
        "pop-claim-6",
        "ack-rule-3",
        "ack-rule-6",
        "ack-rule-9",
        "retry-3",
        "dedup-7"
    })
    void proceduresAnswerAsTheModelDoes(long seed) throws SQLException {
        search(seed);
    }

    @Test
    void proceduresAnswerAsTheModelDoesForTheSeedAskedFor() throws SQLException {
        search(Long.getLong("queen.machine.seed", 4));
    }

    private static void search(long seed) throws SQLException {
        System.out.println("machine: procedures, seed " + seed + ", " + STEPS + " operations");
        Run run = new Run(() -> new SqlMachine(database.connect()), new Run.Pace(5, 100, false));
        Run.Failure failure = run.random(seed, STEPS);
        if (failure != null) {
            Run.Failure shortest =
                    run.shrink(
                            failure, System.nanoTime() + TimeUnit.SECONDS.toNanos(SHRINK_SECONDS));
            fail("seed " + seed + " (-Dqueen.machine.seed=" + seed + ")\n" + shortest);
        }
    }
}
