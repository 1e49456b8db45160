package io.queenmq.push;

import io.queenmq.db.Backend;
import io.queenmq.db.Database;
import io.queenmq.dedup.KeyMemory;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Tells the memory of keys, and with it whoever else remembers things, which server is asked. A
 * connection never changes its server, so one question per connection is enough, asked before
 * anything that relies on the memory.
 */
public final class ServerWatch {
    private static final int CONNECTIONS_MAX = 1_000;

    /** The timeline is new after every fail-over and every restore. */
    private static final String IDENTITY =
            "select s.system_identifier || '/' ||"
                    + " left(pg_walfile_name(pg_current_wal_insert_lsn()), 8), clock_timestamp()"
                    + " from pg_control_system() s";

    private final KeyMemory memory;
    private final Runnable serverChanged;
    private final Set<Backend> known = ConcurrentHashMap.newKeySet();

    ServerWatch(KeyMemory memory, Runnable serverChanged) {
        this.memory = memory;
        this.serverChanged = serverChanged;
    }

    /** To be called on the session of a call, before its arguments are put together. */
    public void check(Database.Session session) throws SQLException {
        if (known.contains(session.backend())) {
            return;
        }
        try (PreparedStatement statement = session.connection().prepareStatement(IDENTITY);
                ResultSet result = statement.executeQuery()) {
            result.next();
            memory.serverIs(result.getString(1), result.getTimestamp(2).getTime(), serverChanged);
        }
        if (known.size() >= CONNECTIONS_MAX) {
            known.clear();
        }
        known.add(session.backend());
    }
}
