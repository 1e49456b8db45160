package io.queenmq.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Goal: a push that the database does not take is never called queued, and what is called failed is
 * stored nowhere. Method: a trigger refuses the rows of one lane, or all rows as a full disk does;
 * then the server is gone altogether.
 */
final class RefusedPushFaultTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private static PostgresProcess postgres;
    private static BrokerProcess broker;

    private final Http http = new Http(broker.url());
    private final List<String> ids =
            List.of(UUID.randomUUID().toString(), UUID.randomUUID().toString());

    @BeforeAll
    static void start() throws IOException, InterruptedException {
        postgres = PostgresProcess.start();
        broker = BrokerProcess.start(postgres.port());
    }

    @AfterAll
    static void stop() throws IOException {
        broker.close();
        postgres.close();
    }

    @Test
    @Contract("push-11")
    void saysFailedOnlyOfTheLaneThatTheDatabaseRefuses()
            throws IOException, InterruptedException, SQLException {
        warmUp("refused-one");
        refuse("partition_id = (select max(id) from queen_store.partitions)", "check_violation");
        try {
            assertEquals(List.of("queued", "failed"), push("refused-one"));
            try (Connection connection = postgres.connect()) {
                assertEquals(2, Stored.count(connection, "refused-one", Workload.laneName(0)));
                assertEquals(1, Stored.count(connection, "refused-one", Workload.laneName(1)));
            }
        } finally {
            accept();
        }
        assertEquals(List.of("duplicate", "queued"), push("refused-one"));
    }

    @Test
    @Contract("push-19")
    void saysFailedOfEverythingThatAFullDatabaseRefuses()
            throws IOException, InterruptedException, SQLException {
        warmUp("refused-all");
        refuse("partition_id > 0", "disk_full");
        try {
            assertEquals(List.of("failed", "failed"), push("refused-all"));
        } finally {
            accept();
        }
        assertEquals(List.of("queued", "queued"), push("refused-all"));
        Stored.assertSound(postgres, "refused-all");
    }

    @Test
    @Contract("push-19")
    void neverSaysQueuedWhileTheServerIsGone()
            throws IOException, InterruptedException, SQLException {
        warmUp("gone");
        postgres.kill();
        List<String> statuses;
        try {
            statuses = push("gone");
        } finally {
            postgres.restart();
        }
        Set<List<String>> honest = Set.of(List.of("failed", "failed"), List.of("503"));
        assertTrue(honest.contains(statuses), statuses.toString());
        boolean onlyFailed = true;
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        // The broker may need a moment to notice that the server is back.
        while (honest.contains(statuses) && System.nanoTime() < deadline) {
            onlyFailed &= statuses.size() == 2;
            statuses = push("gone");
        }
        if (onlyFailed) {
            assertEquals(List.of("queued", "queued"), statuses);
        } else {
            assertFalse(honest.contains(statuses), statuses.toString());
        }
        Stored.assertSound(postgres, "gone");
    }

    /** Two lanes with a message each: the second one has the highest number of all lanes. */
    private void warmUp(String queue) throws IOException, InterruptedException {
        for (int lane = 0; lane < 2; lane++) {
            Http.Answer answer =
                    http.call(
                            "POST",
                            "/api/v1/push",
                            "{\"items\":["
                                    + Workload.item(queue, lane, UUID.randomUUID().toString(), 0)
                                    + "]}");
            assertEquals("queued", answer.results().getFirst().get("status"));
        }
    }

    /** Pushes one item to each of the two lanes, always under the same transaction ids. */
    private List<String> push(String queue) throws IOException, InterruptedException {
        Http.Answer answer =
                http.call(
                        "POST",
                        "/api/v1/push",
                        "{\"items\":["
                                + Workload.item(queue, 0, ids.get(0), 1)
                                + ","
                                + Workload.item(queue, 1, ids.get(1), 1)
                                + "]}");
        return answer.status() == 201
                ? answer.results().stream().map(r -> String.valueOf(r.get("status"))).toList()
                : List.of(Integer.toString(answer.status()));
    }

    private static void refuse(String condition, String error) throws SQLException {
        execute(
                """
                create function public.refuse() returns trigger language plpgsql as $$
                begin
                    if new.%s then
                        raise exception 'refused' using errcode = '%s';
                    end if;
                    return new;
                end
                $$;
                create trigger refuse before insert on queen_store.segments
                for each row execute function public.refuse()
                """
                        .formatted(condition, error));
    }

    private static void accept() throws SQLException {
        execute("drop function public.refuse() cascade");
    }

    private static void execute(String sql) throws SQLException {
        try (Connection connection = postgres.connect();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }
}
