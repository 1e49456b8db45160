package io.queenmq.push;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Whatever happens between two pushes of an id, the second is a duplicate exactly if the log holds
 * the first within the window that is in force: two brokers that learn nothing from each other but
 * what the database says, applications that push in SQL, windows that open and close, queues that
 * go and come, restarts, fail-overs that lose the end of the log, retention.
 */
class PushAnswersPropertyTest {
    private static final int STEPS = 250;
    private static final int[] WINDOWS = {0, 1, 60, 3_600, 7_200};
    private static final int WRITERS = 3;
    private static final int PUSHES_OF_WRITER = 120;

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4})
    void everyAnswerIsWhatTheLogSays(long seed) throws SQLException {
        Random random = new Random(seed);
        try (DedupScene scene = new DedupScene();
                Connection application = scene.database.connect()) {
            for (String queue : List.of("a", "b")) {
                scene.answers.window(queue, DedupScene.WINDOW_OF_NEW_QUEUES, 0, 0);
            }
            for (int step = 0; step < STEPS; step++) {
                String queue = random.nextInt(3) > 0 ? "a" : "b";
                TestEngine engine = scene.engines[random.nextInt(2)];
                List<PushItem> items = scene.items(random, queue, 12);
                switch (random.nextInt(60)) {
                    case 0, 1, 2, 3, 4, 5 -> scene.pushInSql(application, items, true);
                    case 6, 7 -> scene.pushInSql(application, items, false);
                    case 8, 9, 10, 11, 12 ->
                            scene.window(
                                    engine,
                                    queue,
                                    WINDOWS[random.nextInt(WINDOWS.length)],
                                    scene.connection);
                    case 13 -> scene.delete(engine, queue);
                    case 14 -> scene.restart(random.nextInt(2));
                    case 15 -> scene.failOver(random);
                    case 16 -> scene.expire(random);
                    case 17 -> scene.pass(1_100);
                    case 18, 19, 20, 21 -> scene.transactInSql(application, items);
                    default -> scene.push(engine, items, scene.connection);
                }
            }
            scene.assertRight();
            assertTrue(scene.answers.queued() > 20 && scene.answers.duplicates() > 20);
        } catch (SQLException | AssertionError e) {
            throw new AssertionError("seed " + seed, e);
        }
    }

    @Test
    void everyAnswerIsWhatTheLogSaysWhenAllPushAtOnce() throws Exception {
        try (DedupScene scene = new DedupScene();
                ExecutorService threads = Executors.newCachedThreadPool()) {
            for (String queue : List.of("a", "b")) {
                scene.answers.window(queue, DedupScene.WINDOW_OF_NEW_QUEUES, 0, 0);
            }
            List<Future<?>> writers = new ArrayList<>();
            for (int i = 0; i < WRITERS; i++) {
                Random random = new Random(i);
                TestEngine one = scene.engines[0];
                TestEngine two = scene.engines[1];
                writers.add(threads.submit(writer(scene, random, one)));
                writers.add(threads.submit(writer(scene, new Random(100 + i), two)));
                writers.add(threads.submit(application(scene, new Random(200 + i))));
            }
            writers.add(threads.submit(operator(scene)));
            for (Future<?> writer : writers) {
                finish(writer);
            }
            scene.assertRight();
            assertTrue(scene.answers.queued() > 20 && scene.answers.duplicates() > 20);
        }
    }

    private static void finish(Future<?> writer) throws InterruptedException {
        try {
            writer.get();
        } catch (ExecutionException e) {
            throw new AssertionError(e.getCause());
        }
    }

    private static Callable<Boolean> writer(DedupScene scene, Random random, TestEngine engine) {
        return () -> {
            try (Connection clock = scene.database.connect()) {
                for (int i = 0; i < PUSHES_OF_WRITER; i++) {
                    String queue = random.nextBoolean() ? "a" : "b";
                    scene.push(engine, scene.items(random, queue, 10 + i / 4), clock);
                }
            }
            return true;
        };
    }

    private static Callable<Boolean> application(DedupScene scene, Random random) {
        return () -> {
            try (Connection connection = scene.database.connect()) {
                for (int i = 0; i < PUSHES_OF_WRITER / 3; i++) {
                    String queue = random.nextBoolean() ? "a" : "b";
                    List<PushItem> items = scene.items(random, queue, 10 + i);
                    if (random.nextInt(3) == 0) {
                        scene.transactInSql(connection, items);
                    } else {
                        scene.pushInSql(connection, items, random.nextInt(4) > 0);
                    }
                }
            }
            return true;
        };
    }

    /** Opens and closes the window of one queue; that of the other stays. */
    private static Callable<Boolean> operator(DedupScene scene) {
        return () -> {
            Random random = new Random(300);
            try (Connection clock = scene.database.connect()) {
                for (int i = 0; i < 40; i++) {
                    TestEngine engine = scene.engines[random.nextInt(2)];
                    scene.window(engine, "b", WINDOWS[random.nextInt(WINDOWS.length)], clock);
                }
            }
            return true;
        };
    }
}
