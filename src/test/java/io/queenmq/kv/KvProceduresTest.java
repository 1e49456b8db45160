package io.queenmq.kv;

import static io.queenmq.testkit.Lines.line;
import static io.queenmq.testkit.Lines.lines;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Buffers;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.postgresql.PGConnection;

/** Keys by the SQL API: what it says, what it locks, and who wins. */
class KvProceduresTest {
    private static final int RACERS = 8;

    /** Keys are removed when the minute is over in which they end. */
    private static final String A_MINUTE_LATER = "clock_timestamp() + interval '1 minute'";

    private static TestDatabase database;

    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private Connection connection;
    private Connection other;

    /** A namespace of the test's own. */
    private String ns;

    @BeforeAll
    static void create() {
        database = TestDatabase.migrated();
    }

    @AfterAll
    static void drop() {
        database.close();
    }

    @BeforeEach
    void open() throws SQLException {
        connection = database.connect();
        other = database.connect();
        ns = "n" + UUID.randomUUID();
    }

    @AfterEach
    void close() throws SQLException {
        threads.shutdownNow();
        connection.close();
        other.close();
    }

    private String ask(String sql) throws SQLException {
        return ask(connection, sql);
    }

    private String ask(Connection by, String sql) throws SQLException {
        return line(by, sql.replace("$", "'" + ns + "'"));
    }

    private void expire(String key) throws SQLException {
        ask(
                "update queen_store.kv set expires_at = clock_timestamp() - interval '1 s' where"
                        + " namespace = $ and key = '"
                        + key
                        + "' returning 'done'");
    }

    private long put(String key, String value) throws SQLException {
        return Long.parseLong(
                ask("select version from queen.kv_put($, '" + key + "', '" + value + "', null)"));
    }

    @Test
    void aPutIsAppliedIfWhatIsThereIsWhatWasExpected() throws SQLException {
        long first = put("k", "{\"a\" : 1.50}");
        assertEquals("{\"a\" : 1.50}", ask("select value from queen.kv_get($, 'k')"));
        assertEquals(
                "exists|{\"a\" : 1.50}|" + first,
                ask("select * from queen.kv_put($, 'k', '2', 60, 0)"));
        assertEquals(
                "version|{\"a\" : 1.50}|" + first,
                ask("select * from queen.kv_put($, 'k', '2', 60, 5)"));
        assertEquals("absent||0", ask("select * from queen.kv_put($, 'no', '2', 60, 5)"));
        String second = ask("select version from queen.kv_put($, 'k', '2', 60, " + first + ")");
        assertEquals(
                "2|" + second + "|t",
                ask(
                        "select value, version, expires_at > clock_timestamp() + interval '59 s' from"
                                + " queen.kv_get($, 'k')"));
        expire("k");
        assertEquals(
                "absent||0", ask("select * from queen.kv_put($, 'k', '3', 60, " + second + ")"));
        assertEquals("applied", ask("select status from queen.kv_put($, 'k', '3', null, 0)"));
        assertEquals("", ask("select expires_at from queen.kv_get($, 'k')"));
    }

    @Test
    void aDeleteAnswersWhatItRemoved() throws SQLException {
        long version = put("k", "1");
        assertEquals("version|1|" + version, ask("select * from queen.kv_delete($, 'k', 5)"));
        assertEquals("exists|1|" + version, ask("select * from queen.kv_delete($, 'k', 0)"));
        assertEquals(
                "applied|1|" + version,
                ask("select * from queen.kv_delete($, 'k', " + version + ")"));
        assertEquals("absent||0", ask("select * from queen.kv_delete($, 'k')"));
        assertEquals("applied||0", ask("select * from queen.kv_delete($, 'k', 0)"));
        put("k", "1");
        expire("k");
        assertEquals("absent||0", ask("select * from queen.kv_delete($, 'k')"));
    }

    @Test
    void aCounterKeepsItsWindowItsBoundsAndItsDigits() throws SQLException {
        String incr = "select status, value from queen.kv_incr($, 'k', ";
        assertEquals("limit|0", ask(incr + "11, 60, p_max => 10)"));
        assertEquals("applied|10", ask(incr + "10.00, 60, p_max => 10)"));
        String end = ask("select expires_at from queen.kv_get($, 'k')");
        assertEquals("limit|10", ask(incr + "1, 600, p_max => 10)"));
        assertEquals("limit|10", ask(incr + "-11, 600, p_min => 0)"));
        assertEquals("applied|9.9", ask(incr + "-0.1, 600)"));
        assertEquals(end, ask("select expires_at from queen.kv_get($, 'k')"));
        expire("k");
        assertEquals("applied|12345678901234567890123", ask(incr + "12345678901234567890123, 60)"));
        put("k", "\"text\"");
        assertEquals("type|\"text\"", ask(incr + "1, 60)"));
        put("k", "1e99999");
        assertEquals("type|1e99999", ask(incr + "1, 60)"));
        put("k", "1e3");
        assertEquals("applied|1001", ask(incr + "1, 60)"));
    }

    @Test
    void aListIsAPageOfTheKeysThatBeginWithAPrefix() throws SQLException {
        for (String key : List.of("a", "a%", "a/b", "aa", "b", "a\uFFFD", "a\uD83D\uDE00")) {
            put(key, "1");
        }
        expire("aa");
        String list = "select string_agg(key, ' ') from queen.kv_list($, ";
        assertEquals("a a% a/b a\uFFFD a\uD83D\uDE00", ask(list + "'a')"));
        assertEquals("a/b a\uFFFD", ask(list + "'a', 'a%', 2)"));
        assertEquals("a%", ask(list + "'a%')"));
        assertEquals("b", ask(list + "'', 'a\uD83D\uDE00')"));
        assertEquals("", ask(list + "'a', 'b')"));
    }

    @Test
    void aBatchReadsWhatWasThereWhenItsTurnCame() throws SQLException {
        long version = put("k", "1");
        assertEquals(
                List.of("1|found|1", "2|applied|2", "3|found|2", "4|applied|1", "5|absent|"),
                lines(
                        connection,
                        "select ordinal, status, value from queen.kv_apply("
                                + "'{get,put,get,check,get}', array_fill('"
                                + ns
                                + "'::text, array[5]), '{k,k,k,k,z}',"
                                + " '{null,2,null,null,null}', p_expects => '{null,null,null,"
                                + version
                                + ",null}')"));
    }

    @Test
    void whatMustBeAppliedAndIsNotIsAnError() throws SQLException {
        put("k", "1");
        assertTrue(
                refused(
                                "select * from queen.kv_apply('{put,put}', array[$, $], '{a,k}',"
                                        + " '{1,2}', p_expects => '{0,0}', p_required => '{f,t}')")
                        .contains("kv_precondition"));
        assertEquals("0", ask("select count(*) from queen.kv_get($, 'a')"));
        assertTrue(refused("select queen.kv_check($, 'k', 1)").contains("kv_precondition"));
    }

    @Test
    void whatCannotBeRightIsRefused() throws SQLException {
        assertTrue(refused("select * from queen.kv_put('No', 'k', '1', 1)").contains("namespace"));
        for (String namespace : List.of("repeat('n', 65)", "E'two\\nlines'", "E'end\\n'", "null")) {
            assertTrue(
                    refused("select * from queen.kv_put(" + namespace + ", 'k', '1', 1)")
                            .contains("namespace"),
                    namespace);
        }
        for (String key : List.of("''", "repeat('k', 513)", "null")) {
            assertTrue(
                    refused("select * from queen.kv_put($, " + key + ", '1', 1)")
                            .contains("key must"),
                    key);
        }
        assertTrue(refused("select * from queen.kv_put($, 'k', null, 1)").contains("value"));
        assertTrue(refused("select * from queen.kv_put($, 'k', '1', 0)").contains("ttl must"));
        assertTrue(refused("select * from queen.kv_put($, 'k', '1', 1, -1)").contains("expect"));
        assertTrue(refused("select * from queen.kv_incr($, 'k', 'NaN', 1)").contains("delta"));
        assertTrue(
                refused(
                                "select * from queen.kv_apply('{put,delete}', array[$, $], '{k,k}', '{1,2}')")
                        .contains("at most once"));
        assertTrue(
                refused("select * from queen.kv_put($, 'k', to_json(repeat('x', 65536))," + " 1)")
                        .contains("65536 bytes, got 65538"));
    }

    @Test
    void anOldSnapshotChangesNothingThatChangedSince() throws SQLException {
        ask("select queen.kv_put($, 'k', '1', 60)");
        other.setAutoCommit(false);
        other.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
        ask(other, "select count(*) from queen.kv_get($, 'k')");
        ask("select queen.kv_put($, 'k', '2', 60)");
        String late = "select queen.kv_put($, 'k', '3', 60)";
        SQLException refusal = assertThrows(SQLException.class, () -> ask(other, late));
        assertEquals("40001", refusal.getSQLState());
        other.rollback();
        other.setAutoCommit(true);
        assertEquals("2", ask("select value from queen.kv_get($, 'k')"));
    }

    private String refused(String sql) {
        return String.valueOf(assertThrows(SQLException.class, () -> ask(sql)).getMessage());
    }

    @Test
    void ofManyThatPutIfAbsentOneIsApplied() throws Exception {
        CountDownLatch start = new CountDownLatch(1);
        List<Future<String>> racers = new ArrayList<>();
        for (int i = 0; i < RACERS; i++) {
            int racer = i;
            racers.add(
                    threads.submit(
                            () -> {
                                try (Connection own = database.connect()) {
                                    start.await();
                                    Set<String> won = new HashSet<>();
                                    for (int key = 0; key < 20; key++) {
                                        won.add(
                                                ask(
                                                                own,
                                                                "select status, value from"
                                                                        + " queen.kv_put($, 'k"
                                                                        + key
                                                                        + "', '"
                                                                        + racer
                                                                        + "', 60, 0)")
                                                        + " "
                                                        + key);
                                    }
                                    return String.join(",", won);
                                }
                            }));
        }
        start.countDown();
        int applied = 0;
        for (Future<String> racer : racers) {
            for (String answer : racer.get().split(",", -1)) {
                applied += answer.startsWith("applied") ? 1 : 0;
                String key = answer.substring(answer.lastIndexOf(' ') + 1);
                assertEquals(
                        ask("select value from queen.kv_get($, 'k" + key + "')"),
                        answer.replaceFirst("[^|]*\\|(.*) .*", "$1"),
                        "the loser sees what the winner wrote");
            }
        }
        assertEquals(20, applied);
    }

    @Test
    void countersLoseNothingAndNeverPassTheirBound() throws Exception {
        List<Future<Integer>> racers = new ArrayList<>();
        for (int i = 0; i < RACERS; i++) {
            racers.add(
                    threads.submit(
                            () -> {
                                try (Connection own = database.connect()) {
                                    int applied = 0;
                                    for (int turn = 0; turn < 25; turn++) {
                                        applied +=
                                                ask(
                                                                        own,
                                                                        "select status from"
                                                                                + " queen.kv_incr($,"
                                                                                + " 'n', 1, 60,"
                                                                                + " p_max => 150)")
                                                                .equals("applied")
                                                        ? 1
                                                        : 0;
                                    }
                                    return applied;
                                }
                            }));
        }
        int applied = 0;
        for (Future<Integer> racer : racers) {
            applied += racer.get();
        }
        assertEquals(150, applied);
        assertEquals("150", ask("select value from queen.kv_get($, 'n')"));
    }

    /** Each batch names the same keys in another order, makes some and removes others. */
    @Test
    void batchesInAnyOrderNeverDeadlock() throws Exception {
        for (String key : List.of("a", "b", "c", "d")) {
            put(key, "1");
        }
        List<String> batches =
                List.of(
                        "'{put,delete,incr}', array[$, $, $], '{a,b,c}', '{1,null,null}',"
                                + " p_deltas => '{null,null,1}'",
                        "'{delete,incr,put}', array[$, $, $], '{b,c,a}', '{null,null,2}',"
                                + " p_deltas => '{null,1,null}'",
                        "'{incr,put,put}', array[$, $, $], '{c,a,b}', '{null,3,3}',"
                                + " p_deltas => '{1,null,null}'",
                        "'{get,incr,delete}', array[$, $, $], '{d,c,d}', null,"
                                + " p_deltas => '{null,1,null}'",
                        "'{put,put}', array[$, $], '{a,b}', '{1,1}'",
                        "'{put,delete}', array[$, $], '{b,a}', '{2,null}'",
                        "'{delete,put}', array[$, $], '{b,a}', '{null,3}'");
        List<Future<Void>> racers = new ArrayList<>();
        for (String batch : batches) {
            racers.add(
                    threads.submit(
                            () -> {
                                try (Connection own = database.connect()) {
                                    for (int turn = 0; turn < 150; turn++) {
                                        ask(
                                                own,
                                                "select count(*) from queen.kv_apply("
                                                        + batch
                                                        + ")");
                                    }
                                    return null;
                                }
                            }));
        }
        for (Future<Void> racer : racers) {
            try {
                racer.get();
            } catch (ExecutionException e) {
                throw new AssertionError(e.getCause());
            }
        }
    }

    @Test
    void aCheckHoldsItsKeyAndLetsOthersCheckIt() throws Exception {
        long version = put("lock", "1");
        connection.setAutoCommit(false);
        ask("select queen.kv_check($, 'lock', " + version + ")");
        assertEquals(
                Long.toString(version),
                ask(other, "select queen.kv_check($, 'lock', " + version + ")"));
        Future<String> taker =
                threads.submit(
                        () -> ask(other, "select status from queen.kv_put($, 'lock', '2', 60)"));
        int pid = other.unwrap(PGConnection.class).getBackendPID();
        Await.until(
                "the put waits",
                () ->
                        ask("select count(*) from pg_locks where not granted and pid = " + pid)
                                .equals("1"));
        connection.commit();
        connection.setAutoCommit(true);
        assertEquals("applied", taker.get());
        assertTrue(
                refused("select queen.kv_check($, 'lock', " + version + ")").contains("version"));
    }

    @Test
    void pruningTakesWhatHasEndedAndLeavesWhatIsHeld() throws SQLException {
        put("stays", "1");
        for (String key : List.of("held", "gone", "gone too")) {
            put(key, "1");
            expire(key);
        }
        other.setAutoCommit(false);
        ask(other, "select * from queen.kv_put($, 'held', '2', 60)");
        assertTrue(
                Integer.parseInt(
                                ask(
                                        "select expired from queen_store.kv_backlog("
                                                + A_MINUTE_LATER
                                                + ", 100, null)"))
                        >= 3);
        ask("select queen_store.prune_kv(" + A_MINUTE_LATER + ", 1000, null)");
        assertEquals(
                "held stays",
                ask("select string_agg(key, ' ' order by key) from queen.kv where namespace = $"));
        other.commit();
        other.setAutoCommit(true);
        assertEquals("2", ask("select value from queen.kv_get($, 'held')"));
    }

    /** Keys that have ended, the first one an hour ago; in their order they are not. */
    private void ended(int many) throws SQLException {
        ask(
                """
                with made as (
                    insert into queen_store.kv (
                        tenant_id, namespace, key, value, version, expires_at, created_at,
                        updated_at)
                    select '00000000-0000-0000-0000-000000000001', $,
                           'k' || to_char(i, 'FM000000'), '1', 1,
                           clock_timestamp() - (600 + i * 1877 % 3000) * interval '1 s',
                           clock_timestamp(), clock_timestamp()
                    from generate_series(1, {many}) i
                    returning 1)
                select count(*) from made
                """
                        .replace("{many}", Integer.toString(many)));
    }

    @Test
    @Contract("kv-13")
    void aPageReadsSoManyKeysHoweverManyHaveEnded() throws SQLException {
        ended(2_500);
        put("z", "1");
        String page =
                "select key, version is null from queen.kv_list($, p_limit => 10, p_after => ";
        assertEquals("k001100|t", ask(page + "null)"), "no more than how far it has read");
        assertEquals("k002200|t", ask(page + "'k001100')"));
        assertEquals("z|f", ask(page + "'k002200')"));
        assertEquals("0", ask("select count(*) from queen.kv_list($, p_after => 'z')"));
    }

    @Test
    void aRenewalLeavesTheIndexesAlone() throws SQLException {
        lines(connection, "truncate queen_store.kv");
        ask("select status from queen.kv_put('queen-locks', 'l#0', '1', 30, 0)");
        connection.setAutoCommit(false);
        for (int i = 0; i < 10; i++) {
            ask("select status from queen.kv_put('queen-locks', 'l#0', '2', 30)");
        }
        String hot = ask("select pg_stat_get_xact_tuples_hot_updated('queen_store.kv'::regclass)");
        connection.commit();
        connection.setAutoCommit(true);
        assertTrue(Integer.parseInt(hot) >= 9, "but for one where a minute ends, was " + hot);
    }

    @Test
    void whileASnapshotKeepsWhatIsGoneALookBeginsBehindIt() throws SQLException {
        lines(connection, "truncate queen_store.kv");
        other.setAutoCommit(false);
        other.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
        ask(other, "select count(*) from queen_store.kv");
        ended(3_000);
        assertEquals("3000", ask("select queen_store.prune_kv(clock_timestamp(), 5000, null)"));
        String from =
                ask("select next_from from queen_store.kv_backlog(clock_timestamp(), 1000, null)");
        for (String look : List.of("kv_backlog", "prune_kv")) {
            String call = "queen_store." + look + "(clock_timestamp(), 1000, %s)";
            int whole = Buffers.of(connection, call.formatted("null"));
            int quick = Buffers.of(connection, call.formatted("'" + from + "'"));
            assertTrue(quick * 10 < whole, look + ": " + quick + " buffers instead of " + whole);
        }
        other.rollback();
        other.setAutoCommit(true);
    }

    @Test
    @Contract("kv-list-1")
    void namespacesAreCountedAsFarAsTheyMayBe() throws SQLException {
        String tenant = "00000000-0000-0000-0000-0000000000aa";
        lines(
                connection,
                """
                insert into queen_store.kv (
                    tenant_id, namespace, key, value, version, created_at, updated_at)
                select '%1$s', n, 'k' || i, '1', 1, clock_timestamp(), clock_timestamp()
                from generate_series(1, 20) i, unnest('{a,b,c}'::text[]) n
                where n <> 'b' or i <= 3
                """
                        .formatted(tenant));
        String namespaces = "select * from queen_store.list_namespaces('%s', ".formatted(tenant);
        assertEquals(
                List.of("a|20|f", "b|3|f", "c|20|f"), lines(connection, namespaces + "10, 1000)"));
        assertEquals(
                List.of("a|10|t", "b|3|f", "c|10|t"), lines(connection, namespaces + "10, 30)"));
        assertEquals(List.of("a|20|f", "b|3|f"), lines(connection, namespaces + "2, 40)"));
    }
}
