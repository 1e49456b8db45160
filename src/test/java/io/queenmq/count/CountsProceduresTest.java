package io.queenmq.count;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.db.Database;
import io.queenmq.db.DatabaseConfig;
import io.queenmq.metrics.Metrics;
import io.queenmq.runtime.Clock;
import io.queenmq.testkit.Await;
import io.queenmq.testkit.TcpProxy;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** How a broker tells what it has summed. */
class CountsProceduresTest {
    private final Metrics metrics = new Metrics();
    private CountScene scene;
    private int queue;
    private int group;

    @BeforeEach
    void open() throws SQLException {
        scene = new CountScene();
        queue = scene.log.queue();
        group = scene.log.group(queue);
    }

    @AfterEach
    void close() throws SQLException {
        scene.close();
        metrics.close();
    }

    /**
     * Tells when the loop has ended its first run, which begins at once: it then reads the time.
     */
    private static final class FirstRun implements Clock {
        private final CountDownLatch ended = new CountDownLatch(1);

        @Override
        public Instant now() {
            return Instant.now();
        }

        @Override
        public long nanos() {
            if (Thread.currentThread().getName().equals("queen-count")) {
                ended.countDown();
            }
            return System.nanoTime();
        }
    }

    private String told() throws SQLException {
        return String.valueOf(
                scene.log.rows(
                                "select string_agg(concat_ws('/', group_id = 0, stored, bytes, passed,"
                                        + " granted, ended, dead_letters), ' ' order by group_id)"
                                        + " from queen_store.count_deltas where queue_id = ?",
                                queue)
                        .getFirst()[0]);
    }

    @Test
    void whatIsLeftIsToldAtTheEndInOneRowEach() throws Exception {
        try (Database database = scene.database.pool()) {
            FirstRun first = new FirstRun();
            Counts counts = new Counts(Duration.ofHours(1), database, metrics, first);
            // What is counted while it is under way may be told by it.
            first.ended.await();
            counts.stored(queue, 2, 50);
            counts.stored(queue, 1, 7);
            counts.moved(group, 1, 3, 2, 0);
            counts.moved(group, 1, 0, 0, 1);
            counts.moved(group, 0, 0, 0, 0);
            assertEquals("null", told());
            counts.close();
        }
        assertEquals("t/3/57/0/0/0/0 f/0/0/2/3/2/1", told());
    }

    @Test
    void whatCouldNotBeToldIsToldLaterAndOnce() throws Exception {
        DatabaseConfig config = scene.database.config();
        try (TcpProxy link = new TcpProxy(config.host(), config.port());
                Database database =
                        new Database(
                                DatabaseConfig.of(
                                                "127.0.0.1",
                                                link.port(),
                                                scene.database.name(),
                                                scene.database.user(),
                                                "")
                                        .withPoolSize(2)
                                        .withBorrowTimeout(Duration.ofMillis(500)),
                                metrics,
                                Clock.SYSTEM)) {
            link.refuse(true);
            link.cut();
            try (Counts counts =
                    new Counts(Duration.ofMillis(100), database, metrics, Clock.SYSTEM)) {
                counts.stored(queue, 3, 9);
                Await.until("a failure", () -> failures() >= 1);
                link.refuse(false);
                Await.until("what was counted", () -> told().equals("t/3/9/0/0/0/0"));
                counts.stored(queue, 1, 1);
                Await.until(
                        "the rest",
                        () ->
                                told().equals("t/1/1/0/0/0/0 t/3/9/0/0/0/0")
                                        || told().equals("t/3/9/0/0/0/0 t/1/1/0/0/0/0"));
            }
            assertTrue(failures() >= 1);
        }
    }

    private double failures() {
        return metrics.prometheus()
                .lines()
                .filter(line -> line.startsWith("queen_runtime_loop_failures_total{loop=\"count\""))
                .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
                .sum();
    }
}
