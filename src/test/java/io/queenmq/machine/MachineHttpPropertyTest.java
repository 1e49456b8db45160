package io.queenmq.machine;

import static org.junit.jupiter.api.Assertions.fail;

import java.sql.SQLException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/**
 * Two whole brokers over one database against the model: the same random requests, in turn to the
 * one and the other. Time goes by as in {@link MachinePropertyTest}, behind the brokers' backs:
 * what they remember may only be stale in the safe direction. Which lanes a pop of a queue takes is
 * the brokers' choice, all the rest is the model's.
 */
class MachineHttpPropertyTest {
    private static final int STEPS = Run.steps("queen.machine.httpSteps", 400);
    private static final long SHRINK_SECONDS = Long.getLong("queen.machine.shrinkSeconds", 120);

    @Test
    void brokersAnswerAsTheModelDoes() throws SQLException {
        search(1);
    }

    @Test
    void brokersAnswerAsTheModelDoesForTheSeedAskedFor() throws SQLException {
        search(Long.getLong("queen.machine.seed", 2));
    }

    private static void search(long seed) throws SQLException {
        System.out.println("machine: two brokers, seed " + seed + ", " + STEPS + " requests");
        Run run = new Run(() -> new HttpMachine(2), new Run.Pace(10, 100, true));
        Run.Failure failure = run.random(seed, STEPS);
        if (failure != null) {
            Run.Failure shortest =
                    run.shrink(
                            failure, System.nanoTime() + TimeUnit.SECONDS.toNanos(SHRINK_SECONDS));
            fail("seed " + seed + " (-Dqueen.machine.seed=" + seed + ")\n" + shortest);
        }
    }
}
