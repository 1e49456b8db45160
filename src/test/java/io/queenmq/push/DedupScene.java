package io.queenmq.push;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.model.Caller;
import io.queenmq.model.Ids;
import io.queenmq.testkit.Await;
import io.queenmq.testkit.Lines;
import io.queenmq.testkit.TestDatabase;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Two brokers that tell each other nothing, and applications that push in SQL, over one log. */
final class DedupScene implements AutoCloseable {
    static final int WINDOW_OF_NEW_QUEUES = 3_600;

    /** SQLSTATE of a step that brings a message again. */
    private static final String REFUSED = "QN409";

    final TestDatabase database;
    final Connection connection;
    final TestEngine[] engines = new TestEngine[2];
    final Answers answers = new Answers();
    private int failOvers;

    DedupScene() throws SQLException {
        database = TestDatabase.migrated();
        connection = database.connect();
        for (int i = 0; i < engines.length; i++) {
            engines[i] = new TestEngine(database);
        }
    }

    /** Some ids of few: most have been there before. */
    List<PushItem> items(Random random, String queue, int ids) {
        List<PushItem> items = new ArrayList<>();
        for (int i = 1 + random.nextInt(4); i > 0; i--) {
            String id = "t" + random.nextInt(ids);
            // Half of them are keys of their own, the others hashed.
            if (random.nextBoolean()) {
                id = UUID.nameUUIDFromBytes(id.getBytes(StandardCharsets.UTF_8)).toString();
            }
            items.add(TestEngine.item(queue, "p" + random.nextInt(2), id, "1"));
        }
        return items;
    }

    void push(TestEngine engine, List<PushItem> items, Connection clock) throws SQLException {
        long asked = Answers.micros(clock);
        List<PushResult> results = engine.push.push(Caller.ANYONE, items);
        long told = Answers.micros(clock);
        for (int i = 0; i < results.size(); i++) {
            PushItem item = items.get(i);
            PushResult result = results.get(i);
            if (result instanceof PushResult.Failed) {
                throw new AssertionError("failed: " + item);
            }
            answers.told(
                    new Answers.Answer(
                            item.queue(),
                            item.partition(),
                            result.transactionId(),
                            result instanceof PushResult.Queued,
                            result.messageId(),
                            asked,
                            told));
        }
    }

    /** Pushes in a transaction of an application; what it takes back, nobody was told. */
    void pushInSql(Connection application, List<PushItem> items, boolean commit)
            throws SQLException {
        callInSql(application, "queen.push", items, commit);
    }

    /** The same as a step that is one with others: a single duplicate takes it all back. */
    void transactInSql(Connection application, List<PushItem> items) throws SQLException {
        long asked = Answers.micros(application);
        try {
            callInSql(application, "queen.transact", items, true);
        } catch (SQLException e) {
            application.rollback();
            if (!REFUSED.equals(e.getSQLState())) {
                throw e;
            }
            answers.refused(items, asked, Answers.micros(application));
            application.rollback();
        }
    }

    private void callInSql(
            Connection application, String function, List<PushItem> items, boolean commit)
            throws SQLException {
        application.setAutoCommit(false);
        long asked = Answers.micros(application);
        List<@Nullable Object[]> rows =
                TestDatabase.rows(
                        application,
                        "select status, message_id, transaction_id from "
                                + function
                                + "(?, ?, ?, ?) order by ordinal",
                        application.createArrayOf(
                                "text", items.stream().map(PushItem::queue).toArray()),
                        application.createArrayOf(
                                "text", items.stream().map(PushItem::partition).toArray()),
                        application.createArrayOf("text", items.stream().map(i -> "1").toArray()),
                        application.createArrayOf(
                                "text", items.stream().map(PushItem::transactionId).toArray()));
        long told = Answers.micros(application);
        if (!commit) {
            application.rollback();
            return;
        }
        application.commit();
        for (int i = 0; i < rows.size(); i++) {
            PushItem item = items.get(i);
            @Nullable Object[] row = rows.get(i);
            answers.told(
                    new Answers.Answer(
                            item.queue(),
                            item.partition(),
                            String.valueOf(row[2]),
                            "queued".equals(row[0]),
                            row[1] instanceof UUID id ? id : Ids.NIL,
                            asked,
                            told));
        }
    }

    void window(TestEngine engine, String queue, int seconds, Connection clock)
            throws SQLException {
        long from = Answers.micros(clock);
        engine.configure(queue, "dedupWindowSeconds", Integer.toString(seconds));
        answers.window(queue, seconds, from, Answers.micros(clock));
    }

    /** The next push makes another queue of that name, as queues are made. */
    void delete(TestEngine engine, String queue) throws SQLException {
        long from = Answers.micros(connection);
        engine.queues.delete(Caller.DEFAULT_TENANT, queue);
        answers.window(queue, WINDOW_OF_NEW_QUEUES, from, Answers.micros(connection));
    }

    void restart(int engine) {
        engines[engine].close();
        engines[engine] = new TestEngine(database);
    }

    /** A lagging standby takes over: the ends of some lanes were never there. */
    void failOver(Random random) throws SQLException {
        answers.read(connection);
        for (@Nullable Object[] lane :
                TestDatabase.rows(
                        connection,
                        "select id, last_offset from queen_store.partitions where last_offset > 0")) {
            if (lane[0] instanceof Long number
                    && lane[1] instanceof Long last
                    && random.nextBoolean()) {
                lose(number, last - random.nextLong(Math.min(5, last)));
            }
        }
        failOvers++;
        for (TestEngine engine : engines) {
            engine.memory.serverIs(
                    "standby/" + failOvers,
                    Answers.micros(connection) / 1_000,
                    engine.catalog::serverChanged);
        }
    }

    private void lose(long lane, long offset) throws SQLException {
        List<@Nullable Object[]> deleted =
                TestDatabase.rows(
                        connection,
                        "delete from queen_store.segments where partition_id = ?"
                                + " and end_offset >= ? returning base_offset",
                        lane,
                        offset);
        long first = Long.MAX_VALUE;
        for (@Nullable Object[] row : deleted) {
            first = Math.min(first, row[0] instanceof Long base ? base : first);
        }
        TestDatabase.rows(
                connection,
                "update queen_store.partitions p set last_offset = ? - 1, last_created_at ="
                        + " (select max(s.created_at) from queen_store.segments s"
                        + " where s.partition_id = p.id), log_start = least(log_start, ?)"
                        + " where p.id = ?",
                first,
                first,
                lane);
        answers.lose(lane, first);
    }

    /** Retention reaches a lane: payloads go, the keys stay while they count. */
    void expire(Random random) throws SQLException {
        answers.read(connection);
        TestDatabase.rows(
                connection,
                "update queen_store.partitions set log_start = greatest(log_start,"
                        + " least(last_offset + 1, (last_offset + 1) * ? / 4)) where id % 2 = ?",
                random.nextInt(5),
                random.nextInt(2));
        if (random.nextBoolean()) {
            TestDatabase.rows(
                    connection,
                    "update queen_store.segments s set frames = null"
                            + " from queen_store.partitions p"
                            + " where p.id = s.partition_id and s.end_offset < p.log_start");
        }
        answers.read(connection);
    }

    /** Lets so much time pass on the clock of the database. */
    void pass(long millis) throws SQLException {
        long until = Answers.micros(connection) + millis * 1_000;
        Await.until("time", () -> Answers.micros(connection) > until);
    }

    void assertRight() throws SQLException {
        answers.check(connection);
        assertEquals(
                List.of(),
                Lines.lines(
                        connection,
                        "select v.rule, v.detail from queen_store.queues q"
                                + " join queen_store.partitions p on p.queue_id = q.id"
                                + " cross join lateral queen.violations(q.name, p.name) v"
                                + " where q.deleted_at is null and v.rule = 'duplicate_key'"));
    }

    @Override
    public void close() throws SQLException {
        for (TestEngine engine : engines) {
            engine.close();
        }
        connection.close();
        database.close();
    }
}
