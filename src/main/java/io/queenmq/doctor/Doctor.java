package io.queenmq.doctor;

import io.queenmq.db.DatabaseConfig;
import io.queenmq.db.DatabaseRefused;
import io.queenmq.db.Inspection;
import io.queenmq.runtime.Clock;
import java.util.List;
import java.util.stream.Stream;

/**
 * Looks at a server that a broker uses, or is going to use. It changes nothing; what it tries out,
 * it tries on sessions of its own. For one thread.
 */
public final class Doctor {
    private final DatabaseConfig config;
    private final DoctorConfig bounds;
    private final Clock clock;

    public Doctor(DatabaseConfig config, DoctorConfig bounds, Clock clock) {
        this.config = config;
        this.bounds = bounds;
        this.clock = clock;
    }

    /**
     * One finding of every check, always in the same order.
     *
     * @throws DatabaseRefused the server cannot be reached: nothing can be said about it
     */
    public List<Finding> examine() {
        try (Inspection inspection = Inspection.open(config)) {
            Server server = new Server(inspection, config, bounds, clock);
            return Stream.of(
                            ServerChecks.ALL,
                            RightsChecks.ALL,
                            DurabilityChecks.ALL,
                            SizeChecks.ALL,
                            SessionChecks.ALL,
                            VacuumChecks.ALL,
                            ActivityChecks.ALL,
                            StorageChecks.ALL,
                            ServerChecks.TRIALS)
                    .flatMap(List::stream)
                    .map(check -> check.run(server))
                    .toList();
        }
    }
}
