package io.queenmq.pop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.Lines;
import io.queenmq.testkit.PostgresLink;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import io.queenmq.web.RawClient;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A pop that breaks, or whose client leaves: its lane is there for the next one. */
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
        "first, partitions, autoAck=true, 10, 2, 2",
        "second, claim_auto, autoAck=true, 10, 2, 2",
        "third, claim_first, autoAck=true, 10, 2, 2",
        "fourth, claim_leased, autoAck=false, 10, 2, 2",
        "fifth, claim_first, autoAck=false, 10, 2, 2",
        "sixth, partitions, autoAck=false, 10, 2, 2",
        // What does not fit into the answer of a claim is read by a call of its own.
        "seventh, read_segments, autoAck=false, 700000, 2, 2",
        // What does not fit into the answer to the client is given back.
        "eighth, release_lease, autoAck=false, 3000000, 6, 5",
    })
    void aLaneWhoseCallBrokeIsThereForTheNextPop(
            String queue, String call, String query, int bytes, int pushed, int expected)
            throws InterruptedException, SQLException {
        // By nobody whom the broker heard: it has to ask for all that it knows.
        try (Connection application = database.connect()) {
            Lines.lines(
                    application,
                    "select queen.push('%s', 'lane', to_json(repeat('x', %d))::text)"
                                    .formatted(queue, bytes)
                            + " from generate_series(1, %d)".formatted(pushed));
        }
        try (TestBroker broker = TestBroker.over(link, database)) {
            Http http = broker.http();
            PostgresLink.Halt halt = link.haltAt(call, PostgresLink.Point.REQUEST);
            CompletableFuture<Http.Reply> broken =
                    http.getLater("/api/v1/pop/queue/" + queue + "?" + query);
            halt.awaitReached();
            halt.cut();
            assertEquals(503, broken.join().status());
            Http.Reply next = http.pop(queue, query + "&wait=true");
            assertEquals(200, next.status());
            assertEquals(expected, next.payloads().size());
        }
    }

    /** The lease is for an hour, and nobody knows of it but the cursor. */
    @ParameterizedTest
    @CsvSource({
        "one, claim_leased, 1",
        "several, claim_leased, 3",
        "new-one, claim_first, 1",
        "new-several, claim_first, 3",
    })
    void aClaimWhoseAnswerIsLostIsTakenBackAtOnce(String queue, String call, int lanes)
            throws InterruptedException {
        try (TestBroker broker = TestBroker.over(link, database)) {
            Http http = broker.http();
            String query = "leaseSeconds=3600&partitions=" + lanes;
            pushToEach(http, queue, lanes);
            if (call.equals("claim_leased")) {
                // So that the group has its cursors.
                String all = "autoAck=true&partitions=" + lanes;
                assertEquals(lanes, http.pop(queue, all).payloads().size());
                pushToEach(http, queue, lanes);
            }
            PostgresLink.Halt halt = link.haltAt(call, PostgresLink.Point.ANSWER);
            CompletableFuture<Http.Reply> broken =
                    http.getLater("/api/v1/pop/queue/" + queue + "?" + query);
            halt.awaitReached();
            halt.cut();
            assertEquals(503, broken.join().status());
            Http.Reply next = http.pop(queue, query);
            assertEquals(200, next.status());
            assertEquals(lanes, next.payloads().size());
            for (int i = 0; i < lanes; i++) {
                assertEquals("1", next.json().text("messages", i, "deliveryAttempt"));
            }
        }
    }

    private static void pushToEach(Http http, String queue, int lanes) {
        for (int i = 0; i < lanes; i++) {
            http.push(queue, "lane-" + i, "1");
        }
    }

    /** It closes its connection, or says that it will send no more. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aParkedClientThatLeftTakesNothing(boolean half) throws IOException {
        try (TestBroker broker = TestBroker.on(database)) {
            String queue = "left-" + half;
            try (RawClient client = new RawClient(broker.port())) {
                client.request("GET", "/api/v1/pop/queue/" + queue + "?wait=true");
                broker.awaitParked(1);
                if (half) {
                    client.halfClose();
                    broker.awaitParked(0);
                }
            }
            broker.awaitParked(0);
            broker.http().push(queue, "lane", "1");
            Json next = broker.http().pop(queue, "wait=true").json();
            assertEquals("1", next.text("messages", 0, "deliveryAttempt"));
        }
    }
}
