package io.queenmq.transact;

import static org.junit.jupiter.api.Assertions.assertNotNull;

import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.LogFixture.Job;
import io.queenmq.testkit.TestDatabase;
import io.queenmq.transact.TransactCall.Row;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;

/** A lane with messages to take, a group, and a lane to put others into, for every bundle. */
abstract class BundleScene {
    static TestDatabase database;

    Connection connection;
    LogFixture log;
    int group;

    /** Holds m10 to m19 and more, acknowledged up to 9. */
    long lane;

    /** Is empty. */
    long target;

    @BeforeAll
    static void create() {
        database = TestDatabase.migrated();
    }

    @AfterAll
    static void drop() {
        database.close();
    }

    @BeforeEach
    void connect() throws SQLException {
        connection = database.connect();
        log = new LogFixture(connection);
        int queue = log.queue();
        group = log.group(queue);
        lane = log.lane(queue);
        log.fill(lane, 5, 6);
        log.cursor(lane, group, 9);
        target = log.lane(log.queue());
    }

    @AfterEach
    void disconnect() throws SQLException {
        connection.close();
    }

    /** Of m10 to m19. */
    UUID lease() throws SQLException {
        UUID lease = log.claimLeased(Job.of(10), group, lane).getFirst().leaseId();
        assertNotNull(lease);
        return lease;
    }

    List<String> run(TransactCall call) throws SQLException {
        return call.run(connection).stream().map(Row::toString).toList();
    }

    long messages(long of) throws SQLException {
        return (long)
                log.value("select last_offset + 1 from queen_store.partitions where id = ?", of);
    }
}
