package io.queenmq.cli;

import io.queenmq.BrokerConfig;
import io.queenmq.config.Settings;
import io.queenmq.db.DatabaseConfig;
import io.queenmq.embedded.RunningServer;
import io.queenmq.runtime.StartRefused;
import java.nio.file.Path;

/** The database that a broker with these settings uses, for commands beside it. */
final class DatabaseInUse {
    private DatabaseInUse() {}

    /**
     * @throws StartRefused it is an embedded one, and it does not run
     */
    static DatabaseConfig of(Settings settings) {
        BrokerConfig config = BrokerConfig.from(settings);
        DatabaseConfig bounds = config.database();
        if (config.embedded().isEmpty()) {
            return bounds;
        }
        Path folder = config.embedded().get();
        RunningServer server =
                RunningServer.in(folder)
                        .orElseThrow(
                                () ->
                                        new StartRefused(
                                                "no embedded PostgreSQL runs in "
                                                        + folder.toAbsolutePath()
                                                        + ": start the broker, or set PG_HOST or"
                                                        + " QUEEN_DATA_DIR"));
        return bounds.at(
                server.host(), server.port(), server.database(), server.user(), server.password());
    }
}
