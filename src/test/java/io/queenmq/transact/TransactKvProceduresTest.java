package io.queenmq.transact;

import static io.queenmq.testkit.LogFixture.Item.completed;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.transact.TransactCall.Row;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Operations on keys in a bundle: they come first, and they share its fate. */
class TransactKvProceduresTest extends BundleScene {
    @Test
    void keysPushesAndAcksAreOneCommit() throws SQLException {
        assertEquals(
                List.of("kv 1 applied", "push 1 queued", "ack 1 done"),
                run(
                        new TransactCall()
                                .key("put", "k", 0L, true)
                                .push(target, "a")
                                .ack(lane, "g", lease(), completed("m12"))));
        assertEquals("1", log.value("select value from queen_store.kv where key = 'k'"));
        assertEquals(
                List.of("kv 1 exists", "undone 0 kv_precondition"),
                run(new TransactCall().key("put", "k", 0L, true).push(target, "b")));
        assertEquals(1, messages(target));
        assertEquals(
                List.of("kv 2 applied", "kv 1 exists", "push 1 queued"),
                run(
                        new TransactCall()
                                .key("put", "k", 0L, false)
                                .key("incr", "n", null, false)
                                .push(target, "c")));
        assertEquals(
                List.of("kv 1 applied", "push 1 duplicate", "undone 0 duplicate"),
                run(new TransactCall().key("incr", "n", null, false).push(target, "c")));
        assertEquals("1", log.value("select value from queen_store.kv where key = 'n'"));
    }

    @Test
    void aLostAnswerAboutKeysIsGivenAgain() throws SQLException {
        TransactCall call =
                new TransactCall()
                        .key("incr", "again", null, false)
                        .key("put", "gone", 7L, false)
                        .push(target, "a");
        List<Row> first = call.run(connection);
        assertEquals("[kv 1 applied, kv 2 absent, push 1 queued]", first.toString());
        log.run("update queen_store.kv set value = '9' where key = 'again'");
        assertEquals(List.of("push 1 queued", "kv 1 applied", "kv 2 absent"), run(call.settling()));
        assertEquals("9", log.value("select value from queen_store.kv where key = 'again'"));
        TransactCall keysAlone = new TransactCall().key("incr", "alone", null, false);
        assertEquals(List.of("kv 1 applied"), run(keysAlone.settling()), "it had not committed");
        assertEquals(List.of("kv 1 applied"), run(keysAlone));
        assertEquals("1", log.value("select value from queen_store.kv where key = 'alone'"));
    }
}
