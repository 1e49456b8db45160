package io.queenmq.kv;

import static io.queenmq.testkit.Lines.line;
import static io.queenmq.testkit.Lines.lines;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/**
 * Tokens of a lock grow from holder to holder, whatever happens in between. Workers acquire, renew,
 * let expire and release one lock while another one prunes; each notes its token in a row that only
 * a holder writes, in the transaction in which it has the lock.
 */
class LockTokenProceduresTest {
    private static final int WORKERS = 4;
    private static final int TURNS = 80;

    @Test
    void tokensOnlyGrow() throws Exception {
        try (TestDatabase database = TestDatabase.migrated();
                Connection connection = database.connect();
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            lines(connection, "create table seen (at bigserial, token bigint)");
            AtomicBoolean over = new AtomicBoolean();
            List<Future<Integer>> workers = new ArrayList<>();
            for (int i = 0; i < WORKERS; i++) {
                Random random = new Random(i);
                workers.add(threads.submit(() -> work(database, random)));
            }
            Future<Integer> pruner =
                    threads.submit(
                            () -> {
                                int pruned = 0;
                                try (Connection own = database.connect()) {
                                    while (!over.get()) {
                                        pruned +=
                                                Integer.parseInt(
                                                        line(
                                                                own,
                                                                "select queen_store.prune_kv("
                                                                        + "clock_timestamp(), 10)"));
                                    }
                                }
                                return pruned;
                            });
            int held = 0;
            for (Future<Integer> worker : workers) {
                held += worker.get();
            }
            over.set(true);
            assertTrue(pruner.get() > 0, "the lock was never pruned");
            assertTrue(held > WORKERS, "the lock was hardly ever held");
            assertEquals(
                    "0",
                    line(
                            connection,
                            "select count(*) from (select token, lag(token) over (order by at) as"
                                    + " before from seen) s where token <= before"));
        }
    }

    /** How often it had the lock. */
    private static int work(TestDatabase database, Random random) throws Exception {
        int held = 0;
        try (Connection own = database.connect()) {
            for (int turn = 0; turn < TURNS; turn++) {
                own.setAutoCommit(false);
                String token;
                try {
                    token =
                            line(
                                    own,
                                    "select case when status = 'applied' then version else 0 end"
                                            + " from queen.kv_put('queen-locks', 'l#0', '1', 60, 0)");
                } catch (SQLException e) {
                    // The row was pruned at this very moment.
                    assertEquals("40001", e.getSQLState(), e.getMessage());
                    own.rollback();
                    own.setAutoCommit(true);
                    continue;
                }
                if (token.equals("0")) {
                    own.commit();
                    continue;
                }
                held++;
                line(own, "insert into seen (token) values (" + token + ") returning 1");
                if (random.nextBoolean()) {
                    token =
                            line(
                                    own,
                                    "select version from queen.kv_put('queen-locks', 'l#0', '2', 60,"
                                            + token
                                            + ")");
                    line(own, "insert into seen (token) values (" + token + ") returning 1");
                }
                if (random.nextInt(4) == 0) {
                    own.rollback();
                    own.setAutoCommit(true);
                    continue;
                }
                own.commit();
                own.setAutoCommit(true);
                String end =
                        random.nextBoolean()
                                ? "select status from queen.kv_delete('queen-locks', 'l#0', "
                                        + token
                                        + ")"
                                : "update queen_store.kv set expires_at = clock_timestamp() where"
                                        + " version = "
                                        + token
                                        + " returning 'applied'";
                assertEquals("applied", line(own, end));
            }
        }
        return held;
    }
}
