package io.queenmq.pop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.Http;
import io.queenmq.testkit.Lines;
import io.queenmq.testkit.PostgresLink;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A call of a pop breaks before it has reached the server: the lane is there for the next pop. */
class PopTroubleTest {
    private static TestDatabase database;
    private static PostgresLink link;

    @BeforeAll
    static void start() throws IOException {
        database = TestDatabase.migrated();
        link = new PostgresLink(database.host(), database.port());
    }

    @AfterAll
    static void stop() throws IOException {
        link.close();
        database.close();
    }

    @ParameterizedTest
    @CsvSource({
        "first, partitions, autoAck=true",
        "second, claim_auto, autoAck=true",
        "third, claim_first, autoAck=true",
        "fourth, claim_leased, autoAck=false",
        "fifth, claim_first, autoAck=false",
        "sixth, read_segments, autoAck=false",
        "seventh, partitions, autoAck=false",
    })
    void aLaneWhoseCallBrokeIsThereForTheNextPop(String queue, String procedure, String query)
            throws InterruptedException, SQLException {
        // What does not fit into the answer of the claim is read by a call of its own.
        int bytes = procedure.equals("read_segments") ? 700_000 : 10;
        // By nobody whom the broker heard: it has to ask for all that it knows.
        try (Connection application = database.connect()) {
            Lines.lines(
                    application,
                    "select queen.push('%s', 'lane', to_json(repeat('x', %d))::text)"
                                    .formatted(queue, bytes)
                            + " from generate_series(1, 2)");
        }
        try (TestBroker broker = TestBroker.over(link, database)) {
            Http http = broker.http();
            PostgresLink.Halt halt = link.haltAt(procedure, PostgresLink.Point.REQUEST);
            CompletableFuture<Http.Reply> broken =
                    http.getLater("/api/v1/pop/queue/" + queue + "?" + query);
            halt.awaitReached();
            halt.cut();
            assertEquals(503, broken.join().status());
            Http.Reply next = http.pop(queue, query + "&wait=true");
            assertEquals(200, next.status());
            assertEquals(2, next.payloads().size());
        }
    }
}
