package io.queenmq.fuzz;

import java.time.Duration;
import java.util.Random;

/**
 * Rounds of a fuzzer until its time is over. A round is a function of its seed, so {@code
 * -Dqueen.fuzz.seed=N} runs the one that failed again, alone. {@code -Dqueen.fuzz.seconds} is the
 * time of one fuzzer, {@code -Dqueen.fuzz.first=N} the first seed of a search.
 */
final class Fuzz {
    /** What is tried with one seed. */
    interface Round {
        void run(long seed, Random random) throws Exception;
    }

    private Fuzz() {}

    /** Runs rounds for the usual time, or for so many seconds where no time is set. */
    static void rounds(String name, int seconds, Round round) {
        Long only = Long.getLong("queen.fuzz.seed");
        long first = only == null ? Long.getLong("queen.fuzz.first", 1) : only;
        Duration time = Duration.ofSeconds(Integer.getInteger("queen.fuzz.seconds", seconds));
        long end = System.nanoTime() + time.toNanos();
        long seed = first;
        do {
            try {
                round.run(seed, new Random(seed * 0x9E37_79B9_7F4A_7C15L));
            } catch (Exception | AssertionError e) {
                throw new AssertionError(
                        name + ": replay with -Dqueen.fuzz.seed=" + seed + ": " + e, e);
            }
            seed++;
        } while (only == null && System.nanoTime() < end);
        System.out.println(name + ": seeds " + first + " to " + (seed - 1));
    }
}
