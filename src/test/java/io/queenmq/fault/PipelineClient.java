package io.queenmq.fault;

import java.io.IOException;
import java.net.URI;
import java.sql.Array;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * A process of an application that takes orders through the stages of a pipeline: a producer, and
 * one worker per stage. What a worker does to a batch is one commit, so wherever the process is
 * killed it has done all of it or nothing. It remembers nothing and never ends by itself.
 */
final class PipelineClient {
    static final List<String> STAGES = List.of("reserve", "charge", "ship");
    static final String GROUP = "shop";

    private static final int BATCH = 5;
    private static final int LANES = 12;
    private static final long WORK_NANOS_MAX = TimeUnit.MILLISECONDS.toNanos(20);
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private PipelineClient() {}

    /** What is done over and over; what breaks is begun again. */
    private interface Step {
        void run() throws IOException, SQLException, InterruptedException;
    }

    /**
     * Works until it is killed.
     *
     * @param args http and the broker, or sql and the database; how many orders there are
     */
    public static void main(String[] args) throws InterruptedException {
        int orders = Integer.parseInt(args[2]);
        List<Thread> threads = new ArrayList<>();
        for (int stage = -1; stage < STAGES.size(); stage++) {
            int mine = stage;
            threads.add(
                    Thread.ofPlatform()
                            .start(
                                    args[0].equals("http")
                                            ? () -> overHttp(URI.create(args[1]), mine, orders)
                                            : () -> inSql(args[1], mine, orders)));
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    static String queue(int stage) {
        return "pipeline-" + STAGES.get(stage);
    }

    static String lane(int order) {
        return "customer-" + order % LANES;
    }

    /** What the effects of a stage on an order add up to. */
    static int amount(int stage, int order) {
        return (stage + 1) * (100 + order * 37 % 900);
    }

    private static void forEver(Step step) {
        while (!Thread.currentThread().isInterrupted()) {
            try {
                step.run();
            } catch (IOException | SQLException e) {
                // Nothing to find out: if it was committed it does not come again, else it does.
                LockSupport.parkNanos(PAUSE_NANOS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static void work() {
        LockSupport.parkNanos(ThreadLocalRandom.current().nextLong(WORK_NANOS_MAX));
    }

    // -- over HTTP -------------------------------------------------------------------------------

    private static void overHttp(URI broker, int stage, int orders) {
        Http http = new Http(broker);
        forEver(stage < 0 ? () -> push(http, orders) : () -> step(http, stage));
    }

    /** From the first order on whenever it is started: the transactionId says which one it is. */
    private static void push(Http http, int orders) throws IOException, InterruptedException {
        for (int from = 0; from < orders; from += BATCH) {
            StringBuilder items = new StringBuilder();
            for (int order = from; order < Math.min(orders, from + BATCH); order++) {
                items.append(items.isEmpty() ? "" : ",").append(item(0, order));
            }
            called(http.call("POST", "/api/v1/push", "{\"items\":[" + items + "]}"));
            work();
        }
    }

    private static String item(int stage, int order) {
        return "{\"queue\":\"%s\",\"partition\":\"%s\",\"transactionId\":\"order-%d\",\"payload\":%d}"
                .formatted(queue(stage), lane(order), order, order);
    }

    private static void step(Http http, int stage) throws IOException, InterruptedException {
        List<Map<String, Object>> messages =
                called(
                                http.call(
                                        "GET",
                                        "/api/v1/pop/queue/%s?consumerGroup=%s&subscriptionMode=all&batch=%d&leaseSeconds=1&wait=true&timeout=500"
                                                .formatted(queue(stage), GROUP, BATCH),
                                        ""))
                        .messages();
        if (messages.isEmpty()) {
            return;
        }
        work();
        List<String> operations = new ArrayList<>();
        List<String> keys = new ArrayList<>();
        int sum = 0;
        for (Map<String, Object> message : messages) {
            int order = Integer.parseInt(message.get("data").toString());
            operations.add(
                    "{\"type\":\"ack\",\"transactionId\":\"%s\",\"partitionId\":\"%s\",\"leaseId\":\"%s\",\"consumerGroup\":\"%s\"}"
                            .formatted(
                                    message.get("transactionId"),
                                    message.get("partitionId"),
                                    message.get("leaseId"),
                                    GROUP));
            if (stage + 1 < STAGES.size()) {
                operations.add("{\"type\":\"push\"," + item(stage + 1, order).substring(1));
            }
            keys.add(incr(STAGES.get(stage) + "/" + order, 1));
            sum += amount(stage, order);
        }
        keys.add(incr(STAGES.get(stage), sum));
        called(
                http.call(
                        "POST",
                        "/api/v1/transaction",
                        "{\"operations\":[%s],\"kv\":[%s]}"
                                .formatted(String.join(",", operations), String.join(",", keys))));
    }

    private static String incr(String key, int delta) {
        return "{\"op\":\"incr\",\"ns\":\"pipeline\",\"key\":\"%s\",\"delta\":%d,\"forever\":true}"
                .formatted(key, delta);
    }

    private static Http.Answer called(Http.Answer answer) throws IOException {
        if (answer.status() >= 500) {
            throw new IOException(answer.toString());
        }
        return answer;
    }

    // -- in SQL ----------------------------------------------------------------------------------

    private static void inSql(String url, int stage, int orders) {
        forEver(
                () -> {
                    try (Connection connection = DriverManager.getConnection(url)) {
                        connection.setAutoCommit(false);
                        while (true) {
                            if (stage < 0) {
                                place(connection, orders);
                            } else {
                                step(connection, stage);
                            }
                        }
                    }
                });
    }

    /** The next orders, each with its message in one commit: an outbox without an outbox table. */
    private static void place(Connection connection, int orders) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            // One process at a time places orders, or two would place the same.
            statement.execute("lock table orders in exclusive mode");
            int next;
            try (ResultSet rows = statement.executeQuery("select count(*) from orders")) {
                rows.next();
                next = rows.getInt(1);
            }
            for (int order = next; order < Math.min(orders, next + BATCH); order++) {
                statement.execute("insert into orders values (" + order + ")");
                statement.execute(
                        "select * from queen.push('%s', '%s', '%d')"
                                .formatted(queue(0), lane(order), order));
            }
        }
        connection.commit();
        work();
    }

    /** Messages leave one queue, rows are written, messages enter the next queue: one commit. */
    private static void step(Connection connection, int stage) throws SQLException {
        List<Object> lanes = new ArrayList<>();
        List<String> ids = new ArrayList<>();
        List<Object> leases = new ArrayList<>();
        List<String> orders = new ArrayList<>();
        Set<String> partitions = new LinkedHashSet<>();
        try (PreparedStatement pop =
                connection.prepareStatement(
                        "select partition, partition_id, transaction_id, lease_id, payload"
                                + " from queen.pop(?, ?, ?, p_subscription_mode => 'all')")) {
            pop.setString(1, queue(stage));
            pop.setString(2, GROUP);
            pop.setInt(3, BATCH);
            try (ResultSet rows = pop.executeQuery()) {
                while (rows.next()) {
                    partitions.add(rows.getString(1));
                    lanes.add(rows.getObject(2));
                    ids.add(rows.getString(3));
                    leases.add(rows.getObject(4));
                    orders.add(rows.getString(5));
                }
            }
        }
        if (ids.isEmpty()) {
            connection.commit();
            LockSupport.parkNanos(PAUSE_NANOS);
            return;
        }
        try (PreparedStatement effect =
                connection.prepareStatement("insert into effects values (?, ?, ?)")) {
            for (String order : orders) {
                effect.setString(1, STAGES.get(stage));
                effect.setInt(2, Integer.parseInt(order));
                effect.setInt(3, amount(stage, Integer.parseInt(order)));
                effect.executeUpdate();
            }
        }
        work();
        boolean last = stage + 1 == STAGES.size();
        try (PreparedStatement transact =
                connection.prepareStatement(
                        "select * from queen.transact(?, ?, ?, ?, p_ack_partition_ids => ?,"
                                + " p_ack_transaction_ids => ?, p_ack_groups => ?,"
                                + " p_ack_lease_ids => ?)")) {
            List<String> none = List.of();
            int count = ids.size();
            String lane = partitions.iterator().next();
            transact.setArray(
                    1, texts(connection, last ? none : repeated(queue(stage + 1), count)));
            transact.setArray(2, texts(connection, last ? none : repeated(lane, count)));
            transact.setArray(3, texts(connection, last ? none : orders));
            transact.setArray(4, texts(connection, last ? none : ids));
            transact.setArray(5, connection.createArrayOf("uuid", lanes.toArray()));
            transact.setArray(6, texts(connection, ids));
            transact.setArray(7, texts(connection, repeated(GROUP, count)));
            transact.setArray(8, connection.createArrayOf("uuid", leases.toArray()));
            transact.execute();
        }
        connection.commit();
    }

    private static List<String> repeated(String text, int times) {
        return Collections.nCopies(times, text);
    }

    private static Array texts(Connection connection, List<String> texts) throws SQLException {
        return connection.createArrayOf("text", texts.toArray());
    }
}
