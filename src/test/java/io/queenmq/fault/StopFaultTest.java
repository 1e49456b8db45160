package io.queenmq.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.PostgresLink;
import java.io.IOException;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Goal: a broker that is told to stop owes nobody an answer when it ends. Method: the process gets
 * its signal while polls are parked and a push stands between broker and database; the polls are
 * answered at once, the push when its call goes on, and only then the process ends.
 */
final class StopFaultTest {
    private PostgresProcess postgres;
    private PostgresLink link;
    private BrokerProcess broker;
    private ExecutorService threads;

    @BeforeEach
    void start() throws IOException, InterruptedException {
        threads = Executors.newVirtualThreadPerTaskExecutor();
        postgres = PostgresProcess.start();
        link = new PostgresLink("127.0.0.1", postgres.port());
        broker = BrokerProcess.start(link.port());
    }

    @AfterEach
    void stop() throws IOException {
        threads.shutdownNow();
        broker.close();
        link.close();
        postgres.close();
    }

    private Future<Http.Answer> later(String method, String path, String body) {
        return threads.submit(() -> new Http(broker.url()).call(method, path, body));
    }

    private Http.Answer call(String method, String path, String body)
            throws IOException, InterruptedException {
        return new Http(broker.url()).call(method, path, body);
    }

    private static String items(String queue, int lane, int sequence) {
        return "{\"items\":["
                + Workload.item(queue, lane, "t-" + lane + "-" + sequence, sequence)
                + "]}";
    }

    @Test
    void whoeverWaitsForAnAnswerGetsOneBeforeTheEnd()
            throws IOException, InterruptedException, ExecutionException, SQLException {
        for (int lane = 0; lane < 20; lane++) {
            call("POST", "/api/v1/push", items("last", lane, 0));
        }
        List<Future<Http.Answer>> pushes = new ArrayList<>();
        List<Future<Http.Answer>> polls = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            polls.add(later("GET", "/api/v1/pop/queue/idle-" + i + "?wait=true", ""));
        }
        PostgresLink.Halt halt = link.haltAt("append", PostgresLink.Point.REQUEST);
        pushes.add(later("POST", "/api/v1/push", items("last", 0, 1)));
        halt.awaitReached();
        for (int lane = 1; lane < 20; lane++) {
            pushes.add(later("POST", "/api/v1/push", items("last", lane, 1)));
        }
        for (Future<Http.Answer> push : pushes.subList(1, pushes.size())) {
            assertEquals("queued", push.get().results().getFirst().get("status"));
        }
        broker.terminate();
        for (Future<Http.Answer> poll : polls) {
            assertEquals(204, poll.get().status());
        }
        assertFalse(pushes.getFirst().isDone());
        assertTrue(broker.isAlive());
        halt.pass();
        assertEquals("queued", pushes.getFirst().get().results().getFirst().get("status"));
        broker.awaitStopped();
        Stored.assertSound(postgres, "last");
    }
}
