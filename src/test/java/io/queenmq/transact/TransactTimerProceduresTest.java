package io.queenmq.transact;

import static io.queenmq.testkit.Lines.line;
import static io.queenmq.testkit.Lines.lines;
import static io.queenmq.testkit.LogFixture.Item.completed;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.sql.SQLException;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Timers in a bundle: they stand between keys and pushes, and share its fate. */
class TransactTimerProceduresTest extends BundleScene {
    @BeforeEach
    void open() throws SQLException {
        lines(connection, "truncate queen_store.timers, queen_store.kv, queen_store.bundles");
    }

    private List<String> timers() throws SQLException {
        return lines(
                connection,
                "select timer_key, attempts, producer from queen_store.timers order by 1");
    }

    @Test
    void timersStandBetweenKeysAndPushes() throws SQLException {
        assertEquals(
                List.of(
                        "kv 1 applied",
                        "timer 1 scheduled",
                        "timer 3 scheduled",
                        "timer 2 absent",
                        "push 1 queued"),
                run(
                        new TransactCall()
                                .push(target, "a")
                                .key("put", "k", null, true)
                                .schedule("x")
                                .cancel("y")
                                .schedule("z")));
        assertEquals(List.of("x|0|someone", "z|0|someone"), timers());
        assertEquals(
                List.of("timer 1 rescheduled", "timer 2 cancelled"),
                run(new TransactCall().schedule("z").cancel("x")));
        assertEquals(List.of("z|0|someone"), timers());
    }

    @Test
    void whateverUndoesABundleUndoesItsTimers() throws SQLException {
        run(new TransactCall().key("put", "taken", null, true).push(target, "a").schedule("x"));
        assertEquals(
                List.of("kv 1 exists", "undone 0 kv_precondition"),
                run(new TransactCall().key("put", "taken", 0L, true).cancel("x")));
        assertEquals(
                List.of(
                        "timer 2 scheduled",
                        "timer 1 cancelled",
                        "push 1 duplicate",
                        "undone 0 duplicate"),
                run(new TransactCall().cancel("x").schedule("y").push(target, "a")));
        assertEquals(
                List.of(
                        "timer 2 scheduled",
                        "timer 1 cancelled",
                        "ack 1 consumer_not_found",
                        "undone 0 ack_rejected"),
                run(
                        new TransactCall()
                                .cancel("x")
                                .schedule("y")
                                .ack(target, "nobody", UUID.randomUUID(), completed("a"))));
        assertEquals(List.of("x|0|someone"), timers());
        assertEquals(
                "1",
                line(connection, "select count(*) from queen_store.bundles"),
                "what was undone left no trace");
    }

    @Test
    void aLostAnswerAboutTimersIsGivenAgain() throws SQLException {
        run(new TransactCall().schedule("old"));
        TransactCall call = new TransactCall().schedule("new").cancel("old").push(target, "a");
        assertEquals(List.of("timer 1 scheduled", "timer 2 cancelled", "push 1 queued"), run(call));
        lines(connection, "truncate queen_store.timers");
        assertEquals(
                List.of("push 1 queued", "timer 1 scheduled", "timer 2 cancelled"),
                run(call.settling()));
        assertEquals(List.of(), timers());
        assertEquals(
                "old|t",
                line(
                        connection,
                        "select timer_transaction_ids[2], timer_deliver_ats[1] > clock_timestamp()"
                                + " from queen_store.bundles where bundle_id = '%s'"
                                        .formatted(call.id())));
        TransactCall alone = new TransactCall().schedule("alone");
        assertEquals(List.of("timer 1 scheduled"), run(alone.settling()), "it had not committed");
        assertEquals(List.of("timer 1 scheduled"), run(alone));
    }
}
