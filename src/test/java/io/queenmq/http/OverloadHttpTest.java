package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.combine.CombinerConfig;
import io.queenmq.push.PushConfig;
import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.PostgresLink;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** More work than a broker can do: it refuses some, and is not taken for a sick one. */
class OverloadHttpTest {
    private static final int CONNECTIONS = 8;
    private static final int FLUSHERS = 3;
    private static final String LEASE = "/api/v1/lease/01a228a2-ce41-7000-8000-004000000000/extend";

    /** Pushes of which ten may wait; who finds no room is refused at once. */
    private static PushConfig narrow() {
        PushConfig usual = PushConfig.defaults();
        CombinerConfig combiner = usual.combiner();
        return new PushConfig(
                usual.deadline(),
                usual.grace(),
                usual.lockTimeout(),
                usual.hydrators(),
                usual.searchers(),
                new CombinerConfig(
                        combiner.name(),
                        combiner.flushers(),
                        combiner.patients(),
                        combiner.call(),
                        new CombinerConfig.Room(10, 1 << 20, 1, 0, Duration.ZERO),
                        combiner.backOffMax()));
    }

    /**
     * Goal: a full pool and a full queue are overload, not unreadiness. Method: as many calls stand
     * still as there are connections, half as many callers wait behind them, and ten pushes fill
     * the room there is for pushes.
     */
    @Test
    @Contract({"http-18", "error-2", "error-8"})
    void staysReadyAndAnswersAdministrators() throws Exception {
        try (TestDatabase database = TestDatabase.migrated();
                PostgresLink link = new PostgresLink(database.host(), database.port());
                TestBroker broker = TestBroker.over(link, database, narrow())) {
            Http http = broker.http();
            http.push("orders", "p", "1");
            List<PostgresLink.Halt> halts = new ArrayList<>();
            List<CompletableFuture<Http.Reply>> extensions = new ArrayList<>();
            List<CompletableFuture<Http.Reply>> pushes = new ArrayList<>();
            for (int i = 0; i < FLUSHERS; i++) {
                halts.add(link.haltAt("append", PostgresLink.Point.REQUEST));
                pushes.add(http.postLater("/api/v1/push", item(i)));
                halts.getLast().awaitReached();
            }
            for (int i = FLUSHERS; i < 10; i++) {
                pushes.add(http.postLater("/api/v1/push", item(i)));
            }
            Await.until(
                    "pushes fill their room",
                    () -> broker.metric("queen_push_held_messages") == 10);
            for (int i = FLUSHERS; i < CONNECTIONS; i++) {
                halts.add(link.haltAt("extend_lease", PostgresLink.Point.REQUEST));
                extensions.add(http.postLater(LEASE, "{}"));
                halts.getLast().awaitReached();
            }
            assertEquals(CONNECTIONS, broker.metric("queen_db_pool_active"));

            Http.Reply refused = http.post("/api/v1/push", item(10));
            assertEquals(503, refused.status(), refused.body());
            assertTrue(refused.response().headers().firstValue("Retry-After").isPresent());
            for (int i = 0; i < CONNECTIONS / 2; i++) {
                assertEquals(503, http.post(LEASE, "{}").status());
            }
            for (String path :
                    List.of(
                            "/health",
                            "/health/ready",
                            "/livez",
                            "/metrics",
                            "/metrics/prometheus",
                            "/api/v1/resources/queues",
                            "/api/v1/resources/queues/orders",
                            "/api/v1/consumer-groups",
                            "/api/v1/messages?queue=orders",
                            "/api/v1/system/jobs",
                            "/api/v1/status")) {
                Http.Reply reply = http.get(path);
                assertEquals(200, reply.status(), () -> path + ": " + reply.body());
            }
            assertFalse(extensions.stream().anyMatch(CompletableFuture::isDone));
            assertEquals(CONNECTIONS, broker.metric("queen_db_pool_active"));

            halts.forEach(PostgresLink.Halt::pass);
            for (CompletableFuture<Http.Reply> extension : extensions) {
                assertEquals(200, extension.join().status());
            }
            for (CompletableFuture<Http.Reply> push : pushes) {
                assertEquals(201, push.join().status());
            }
        }
    }

    private static String item(int number) {
        return "{\"items\":[{\"queue\":\"orders\",\"partition\":\"p%d\",\"payload\":1}]}"
                .formatted(number);
    }
}
