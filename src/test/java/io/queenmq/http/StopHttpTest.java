package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** A broker that stops answers what it has accepted. */
class StopHttpTest {
    @Test
    @Contract("http-19")
    void parkedPollsAreAnsweredWithNothing() throws Exception {
        List<CompletableFuture<Http.Reply>> polls = new ArrayList<>();
        TestBroker broker = TestBroker.start();
        for (int i = 0; i < 100; i++) {
            polls.add(
                    broker.http()
                            .getLater(
                                    "/api/v1/pop/queue/q-" + i % 10 + "?wait=true&timeout=50000"));
        }
        broker.awaitParked(100);
        broker.close();
        for (CompletableFuture<Http.Reply> poll : polls) {
            Http.Reply reply = poll.get();
            assertEquals(204, reply.status());
            assertEquals(
                    "close", reply.response().headers().firstValue("connection").orElse("open"));
        }
    }

    @Test
    @Contract("http-19")
    void pushesInFlightAreStoredAndAnswered() throws Exception {
        try (TestDatabase database = TestDatabase.migrated()) {
            TestBroker broker = TestBroker.on(database);
            Http http = broker.http();
            http.push("q", "held", "0");
            CompletableFuture<Void> stopped;
            List<CompletableFuture<Http.Reply>> pushes = new ArrayList<>();
            try (Connection holder = database.connect()) {
                holder.setAutoCommit(false);
                TestDatabase.rows(holder, "select 1 from queen_store.partitions for no key update");
                for (int i = 1; i <= 20; i++) {
                    pushes.add(
                            http.postLater(
                                    "/api/v1/push",
                                    "{\"items\":[" + Http.item("q", "held", "t-" + i, "1") + "]}"));
                }
                broker.awaitRequests(20);
                stopped = CompletableFuture.runAsync(broker::close);
                holder.rollback();
            }
            for (CompletableFuture<Http.Reply> push : pushes) {
                assertEquals(201, push.get().status());
                assertEquals("queued", push.get().json().text(0, "status"));
            }
            stopped.get();
            try (Connection connection = database.connect()) {
                assertEquals(
                        21L,
                        TestDatabase.rows(
                                        connection,
                                        "select sum(end_offset - base_offset + 1)::bigint"
                                                + " from queen_store.segments")
                                .getFirst()[0]);
            }
        }
    }

    @Test
    void theNextBrokerGoesOnWhereTheLastOneStopped() {
        try (TestDatabase database = TestDatabase.migrated()) {
            try (TestBroker first = TestBroker.on(database)) {
                first.http().push("q", "p", "1", "2", "3");
                first.http().ack(first.http().pop("q", "batch=1").json(), 0, "completed");
            }
            try (TestBroker second = TestBroker.on(database)) {
                assertEquals(List.of("2", "3"), second.http().pop("q", "").payloads());
                assertTrue(second.http().get("/health").body().contains("healthy"));
            }
        }
    }
}
