package io.queenmq.transact;

import io.queenmq.Broker;
import io.queenmq.BrokerConfig;
import io.queenmq.db.DatabaseConfig;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.PostgresLink;
import io.queenmq.testkit.TestDatabase;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/**
 * A broker with narrow bounds for transactions, over a link on which its calls can be held up or
 * lost, and a connection of the test's own that sees what was committed.
 */
abstract class TransactScene {
    static final String PATH = "/api/v1/transaction";
    static final int CONNECTIONS = 8;

    TestDatabase server;
    PostgresLink link;
    Connection witness;
    Broker broker;
    Http http;

    /**
     * What of the bounds matters here; the rest is as usual.
     *
     * @param deadline after that long nothing is tried again
     * @param grace how much longer a lost answer is asked after
     * @param calls in the database at once
     * @param waiting calls beside these that wait for what others hold
     * @param patience longest time a transaction waits for its turn
     */
    record Bounds(Duration deadline, Duration grace, int calls, int waiting, Duration patience) {
        static Bounds usual() {
            TransactConfig usual = TransactConfig.DEFAULT;
            return new Bounds(
                    usual.deadline(),
                    usual.grace(),
                    usual.inflightMax(),
                    usual.waitingMax(),
                    usual.patience());
        }

        Bounds withDeadline(Duration other) {
            return new Bounds(other, grace, calls, waiting, patience);
        }

        Bounds withGrace(Duration other) {
            return new Bounds(deadline, other, calls, waiting, patience);
        }

        Bounds withCalls(int other) {
            return new Bounds(deadline, grace, other, waiting, patience);
        }

        Bounds withWaiting(int other) {
            return new Bounds(deadline, grace, calls, other, patience);
        }

        Bounds withPatience(Duration other) {
            return new Bounds(deadline, grace, calls, waiting, other);
        }
    }

    abstract Bounds bounds();

    @BeforeEach
    void start() throws IOException, SQLException {
        server = TestDatabase.migrated();
        link = new PostgresLink(server.host(), server.port());
        witness = server.connect();
        serve(bounds());
    }

    final void serve(Bounds bounds) {
        DatabaseConfig reached =
                DatabaseConfig.of("127.0.0.1", link.port(), server.name(), server.user(), "")
                        .withPoolSize(CONNECTIONS)
                        .withBorrowTimeout(Duration.ofMillis(300));
        TransactConfig usual = TransactConfig.DEFAULT;
        broker =
                new Broker(
                        BrokerConfig.on(reached)
                                .with(
                                        new TransactConfig(
                                                bounds.deadline(),
                                                bounds.grace(),
                                                bounds.calls(),
                                                usual.sharedMax(),
                                                bounds.waiting(),
                                                bounds.patience(),
                                                usual.lanesMax(),
                                                usual.stepsMax(),
                                                usual.pushBytesMax())));
        broker.start();
        http = new Http(broker.port());
    }

    @AfterEach
    void stop() throws IOException, SQLException {
        // Before the broker, which would wait for a call that a failed test left on it.
        link.close();
        broker.close();
        http.close();
        witness.close();
        server.close();
    }

    /** The first column of each row. */
    List<String> lines(String sql) throws SQLException {
        return TestDatabase.rows(witness, sql).stream()
                .map(row -> Objects.toString(row[0]))
                .toList();
    }
}
