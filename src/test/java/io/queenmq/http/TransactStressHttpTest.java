package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Http.Reply;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.Lines;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * A bank. Orders to move money lie in a few lanes; a teller takes some, and moves the money, writes
 * down that it is done, acknowledges the orders, pushes a receipt for each and schedules a bell for
 * each, in one transaction, among few accounts, lanes and timers that all tellers share, in random
 * order. Now and then it first tries a bundle that must fail, or does one twice. Others move money,
 * push and change the same timers by the routes for that, and in SQL. Nobody may hear of a
 * deadlock; in the end every account, receipt and bell must be as the answers said.
 */
class TransactStressHttpTest {
    private static final int TELLERS = 12;
    private static final int OTHERS = 4;
    private static final int SQL_CLIENTS = 3;
    private static final int CALLS = 60;
    private static final int ORDER_LANES = 6;
    private static final int ORDERS_OF_LANE = 50;
    private static final int BUSY_MAX = 50;

    private static final String LEDGER = "ledger";

    @Contract({"tx-1", "tx-11", "tx-19", "timer-21"})
    @Test
    void everyAccountReceiptAndTimerIsAsTheAnswersSaid() throws Exception {
        long seed = new Random().nextLong();
        try (TestDatabase database = TestDatabase.migrated()) {
            BankBooks books = new BankBooks(ORDER_LANES * ORDERS_OF_LANE);
            run(database, books, seed);
            try (Connection connection = database.connect()) {
                assertBalanced(connection, books, "seed " + seed);
                Await.until(
                        "only this session is left, so all statistics are written",
                        () ->
                                Lines.line(
                                                connection,
                                                "select count(*) from pg_stat_activity where datname ="
                                                        + " current_database()")
                                        .equals("1"));
                assertEquals(
                        "0",
                        Lines.line(
                                connection,
                                "select deadlocks from pg_stat_database where datname ="
                                        + " current_database()"),
                        "seed " + seed);
            }
        }
    }

    private static void run(TestDatabase database, BankBooks books, long seed) throws Exception {
        try (TestBroker one = TestBroker.on(database);
                TestBroker two = TestBroker.on(database);
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            open(one.http());
            List<Future<?>> clients = new ArrayList<>();
            for (int c = 0; c < TELLERS + OTHERS + SQL_CLIENTS; c++) {
                Http http = (c % 2 == 0 ? one : two).http();
                String name = "c" + c;
                Random random = new Random(seed + c);
                if (c < TELLERS) {
                    clients.add(threads.submit(() -> serve(http, name, random, books)));
                } else if (c < TELLERS + OTHERS) {
                    clients.add(threads.submit(() -> interfere(http, name, random, books)));
                } else {
                    clients.add(threads.submit(() -> inSql(database, name, random, books)));
                }
            }
            for (Future<?> client : clients) {
                client.get();
            }
            for (TestBroker broker : List.of(one, two)) {
                assertTrue(
                        broker.metrics().contains("queen_db_retries_total{reason=\"deadlock\"} 0"),
                        "seed " + seed);
            }
            Await.until(
                    "all timers are fired",
                    () -> lines(database, "select 1 from queen_store.timers limit 1").isEmpty());
        }
    }

    private static List<String> lines(TestDatabase database, String sql) throws SQLException {
        try (Connection connection = database.connect()) {
            return Lines.lines(connection, sql);
        }
    }

    private static void open(Http http) {
        for (int account = 0; account < BankBooks.ACCOUNTS; account++) {
            assertEquals(
                    200,
                    http.put(
                                    "/api/v1/kv/bank/a" + account,
                                    "{\"value\":" + BankBooks.OPENING + ",\"forever\":true}")
                            .status());
        }
        Random random = new Random(1);
        for (int lane = 0; lane < ORDER_LANES; lane++) {
            int first = lane * ORDERS_OF_LANE;
            http.push(
                    "orders",
                    "o" + lane,
                    IntStream.range(first, first + ORDERS_OF_LANE)
                            .mapToObj(id -> order(id, random))
                            .toArray(String[]::new));
        }
        http.pushItems(List.of(Http.item(LEDGER, "l0", "taken", "\"noise\"")));
    }

    private static String order(int id, Random random) {
        int from = random.nextInt(BankBooks.ACCOUNTS);
        int to = (from + 1 + random.nextInt(BankBooks.ACCOUNTS - 1)) % BankBooks.ACCOUNTS;
        return "{\"id\":%d,\"from\":%d,\"to\":%d,\"amount\":%d}"
                .formatted(id, from, to, 1 + random.nextInt(40));
    }

    private static void assertBalanced(Connection connection, BankBooks books, String seed)
            throws SQLException {
        assertEquals(
                books.balances(),
                Lines.lines(
                        connection,
                        "select value from queen.kv where namespace = 'bank' order by key"),
                seed);
        assertEquals(
                books.orders(),
                Lines.lines(
                        connection,
                        "select substr(key, 2) from queen.kv where namespace = 'done'"
                                + " order by substr(key, 2)::int"),
                seed);
        assertEquals(
                books.orders(),
                Lines.lines(
                        connection,
                        "select payload from queen.messages where queue = 'ledger'"
                                + " and payload not like '%noise%' order by payload::int"),
                seed);
        assertEquals(
                books.orders(),
                Lines.lines(
                        connection,
                        "select payload from queen.messages where queue = 'bell'"
                                + " and transaction_id like 'of %' order by payload::int"),
                seed);
        List<String> rung =
                Lines.lines(
                        connection,
                        "select transaction_id from queen.messages where queue = 'bell'"
                                + " and transaction_id like 'shared %'");
        assertEquals(books.toRing(), rung.size(), seed);
        assertEquals(rung.size(), new HashSet<>(rung).size(), seed);
        assertTrue(books.mayRing().containsAll(rung), seed);
        assertEquals(
                "0",
                Lines.line(
                        connection, "select sum(lag) from queen.cursors where queue = 'orders'"));
        assertEquals(
                List.of(),
                Lines.lines(
                        connection,
                        "select p.queue, p.partition, v.* from queen.partitions p cross join"
                                + " lateral queen.violations(p.queue, p.partition) v"));
    }

    private static void serve(Http http, String name, Random random, BankBooks books) {
        int turn = 0;
        while (books.left() > 0) {
            Reply reply = http.pop("orders", "batch=3&partitions=2&wait=true&timeout=200");
            if (reply.status() == 204) {
                continue;
            }
            Json popped = reply.json();
            String bells = name + "-" + turn++;
            TellerBundle bundle = new TellerBundle(popped, bells, random);
            if (random.nextInt(3) == 0) {
                assertFalse(send(http, bundle.spoilt()).bool("success"));
            }
            Json answer = send(http, bundle.text(true));
            if (answer.bool("success")) {
                books.moved(bundle.moves());
            } else {
                assertEquals("limit", answer.text("kvReason"), "not enough money");
                answer = send(http, bundle.text(false));
                assertTrue(answer.bool("success"), answer.toString());
            }
            books.changed(answer.at("results"));
            if (random.nextInt(5) == 0) {
                assertEquals(
                        "kv_precondition", send(http, bundle.text(false)).text("reason"), "again");
            }
            books.served(popped.size("messages"));
        }
    }

    /** Until it is answered, for what was in the way for too long may come again. */
    private static Json send(Http http, String bundle) {
        for (int busy = 0; busy < BUSY_MAX; busy++) {
            Reply reply = http.post(TransactScene.PATH, bundle);
            if (reply.status() == 200) {
                return reply.json();
            }
            assertEquals(503, reply.status(), reply.body());
            assertEquals("db_error", reply.json().text("reason"), reply.body());
        }
        throw new AssertionError("busy for ever");
    }

    private static void interfere(Http http, String name, Random random, BankBooks books) {
        for (int i = 0; i < CALLS; i++) {
            switch (random.nextInt(4)) {
                case 0 -> {
                    int[] moves = BankBooks.move(random);
                    Json answer = ask(http, "/api/v1/kv", BankBooks.incrs(moves));
                    if (answer.names().contains("results")) {
                        books.moved(moves);
                    }
                }
                case 1 ->
                        books.changed(
                                ask(http, "/api/v1/timers", BankBooks.bells(name + "-" + i, random))
                                        .at("results"));
                case 2 -> http.push(LEDGER, "l" + random.nextInt(4), "\"noise\"");
                default -> ask(http, "/api/v1/kv", BankBooks.flips(random));
            }
        }
    }

    private static Json ask(Http http, String path, List<String> operations) {
        String body = "[" + String.join(",", operations) + "]";
        for (int busy = 0; busy < BUSY_MAX; busy++) {
            Reply reply = http.post(path, body);
            if (reply.status() == 200) {
                return reply.json();
            }
            assertEquals(503, reply.status(), reply.body());
            assertTrue(reply.json().text("error").endsWith("_unavailable"), reply.body());
        }
        throw new AssertionError("busy for ever");
    }

    private static Void inSql(TestDatabase database, String name, Random random, BankBooks books)
            throws SQLException {
        try (Connection connection = database.connect()) {
            for (int i = 0; i < CALLS; i++) {
                int[] moves = BankBooks.move(random);
                String call = BankBooks.sqlCall(name + "-" + i, moves, random);
                try {
                    List<String> rows = Lines.lines(connection, call);
                    books.moved(moves);
                    rows.stream()
                            .filter(row -> row.startsWith("timer|"))
                            .map(row -> row.split("\\|"))
                            .forEach(row -> books.changed(row[1], row.length < 3 ? "" : row[2]));
                } catch (SQLException e) {
                    if (String.valueOf(e.getMessage()).startsWith("ERROR: key_removed")) {
                        // Nothing took effect, and who calls is told to repeat it.
                        assertEquals("40001", e.getSQLState());
                        i--;
                        continue;
                    }
                    Set<String> expected = Set.of("QN409", "55P03");
                    assertTrue(expected.contains(e.getSQLState()), e.getMessage());
                }
            }
        }
        return null;
    }

    /** What a teller does with the orders it has taken. */
    private static final class TellerBundle {
        private final Random random;
        private final List<String> operations = new ArrayList<>();
        private final List<String> keys = new ArrayList<>();
        private final List<String> timers = new ArrayList<>();
        private final int[] moves = new int[BankBooks.ACCOUNTS];
        private final String lease;

        TellerBundle(Json popped, String bells, Random random) {
            this.random = random;
            this.lease = popped.text("leaseId");
            for (int i = 0; i < popped.size("messages"); i++) {
                Json message = popped.at("messages", i);
                String id = message.text("data", "id");
                int amount = Integer.parseInt(message.text("data", "amount"));
                moves[Integer.parseInt(message.text("data", "from"))] -= amount;
                moves[Integer.parseInt(message.text("data", "to"))] += amount;
                operations.add(TransactScene.ack(popped, i, ""));
                operations.add(push("l" + random.nextInt(4), "of " + id, id));
                keys.add(
                        "{\"op\":\"putIfAbsent\",\"ns\":\"done\",\"key\":\"d%s\",\"value\":1,\"forever\":true,\"required\":true}"
                                .formatted(id));
                timers.add(BankBooks.schedule("own " + id, "of " + id, id, random.nextInt(20)));
            }
            keys.addAll(BankBooks.flips(random));
            timers.addAll(BankBooks.bells(bells, random));
        }

        private static String push(String lane, String id, String payload) {
            return "{\"type\":\"push\",\"items\":[" + Http.item(LEDGER, lane, id, payload) + "]}";
        }

        int[] moves() {
            return moves;
        }

        String text(boolean withMoney) {
            List<String> all = new ArrayList<>(keys);
            if (withMoney) {
                all.addAll(BankBooks.incrs(moves));
            }
            return text(all, operations);
        }

        /** With one thing more that cannot be. */
        String spoilt() {
            List<String> spoiltKeys = new ArrayList<>(keys);
            List<String> spoiltOperations = new ArrayList<>(operations);
            switch (random.nextInt(3)) {
                case 0 -> spoiltOperations.add(push("l0", "taken", "\"noise\""));
                case 1 ->
                        spoiltOperations.add(
                                operations.stream()
                                        .filter(operation -> operation.contains("\"ack\""))
                                        .findFirst()
                                        .orElseThrow()
                                        .replaceFirst(
                                                "\"transactionId\":\"[^\"]*\"",
                                                "\"transactionId\":\"unheard of\""));
                default ->
                        spoiltKeys.add(
                                "{\"op\":\"check\",\"ns\":\"bank\",\"key\":\"none\",\"expect\":7}");
            }
            spoiltKeys.addAll(BankBooks.incrs(moves));
            return text(spoiltKeys, spoiltOperations);
        }

        private String text(List<String> allKeys, List<String> allOperations) {
            return "{\"requiredLeases\":[\"%s\"],\"operations\":[%s],\"kv\":[%s],\"timers\":[%s]}"
                    .formatted(lease, shuffled(allOperations), shuffled(allKeys), shuffled(timers));
        }

        private String shuffled(List<String> parts) {
            List<String> mixed = new ArrayList<>(parts);
            Collections.shuffle(mixed, random);
            return String.join(",", mixed);
        }
    }
}
