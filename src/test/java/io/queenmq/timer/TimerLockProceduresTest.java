package io.queenmq.timer;

import static io.queenmq.testkit.Lines.line;
import static io.queenmq.testkit.Lines.lines;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Calls that change the same timers at the same time. Somebody holds one of them while the calls
 * come to stand behind it, in the order of the test, and lets it go.
 */
class TimerLockProceduresTest extends TimerScene {
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

    @BeforeEach
    void hold() throws SQLException {
        lines(connection, call("schedule c", "schedule d"));
        other.setAutoCommit(false);
        lines(other, "select from queen_store.timers where timer_key = 'c' for update");
    }

    /** Before the connections, for whose locks some may wait. */
    @AfterEach
    void end() {
        threads.shutdownNow();
    }

    /** Operations like {@code cancel c}. */
    private static String call(String... ops) {
        return """
        select string_agg(
            status || case when status = 'cancelled' then ' ' || transaction_id else '' end, ', '
            order by ordinal)
        from queen.timer_apply(
            array(select split_part(o, ' ', 1) from unnest('{%1$s}'::text[]) o),
            array_fill('q'::text, array[%2$d]),
            array(select split_part(o, ' ', 2) from unnest('{%1$s}'::text[]) o),
            array_fill('1'::text, array[%2$d]),
            array_fill(clock_timestamp() + interval '1 hour', array[%2$d]),
            p_transaction_ids => array(
                select 'of ' || split_part(o, ' ', 2) from unnest('{%1$s}'::text[]) o))
        """
                .formatted(String.join(",", ops), ops.length);
    }

    /** Returns when it waits for a lock, the last of so many. */
    private Future<String> waiting(int many, String... ops) {
        Future<String> answer =
                threads.submit(
                        () -> {
                            try (Connection caller = database.connect()) {
                                return line(caller, call(ops));
                            }
                        });
        awaitWaiting(many);
        return answer;
    }

    private List<ClaimedTimer> claim(String key) throws SQLException {
        lines(
                connection,
                "update queen_store.timers set deliver_at = clock_timestamp() where timer_key ="
                        + " '%s'".formatted(key));
        return claim(10);
    }

    private static String fire(List<ClaimedTimer> claimed) {
        return timers.fire(List.of(LaneBatch.of(claimed)), Duration.ZERO, null)
                .getFirst()
                .verdict();
    }

    private List<String> left() throws SQLException {
        return lines(connection, "select timer_key, attempts from queen_store.timers order by 1");
    }

    @Test
    void rowsThatAreThereAndRowsThatAreMadeAreLockedInOneOrder() throws Exception {
        Future<String> cancelling = waiting(1, "cancel c", "schedule b");
        Future<String> scheduling = waiting(2, "schedule c", "schedule b");
        other.commit();
        assertEquals("cancelled of c, scheduled", cancelling.get(), "and no deadlock");
        assertEquals("scheduled, rescheduled", scheduling.get());
        assertEquals(List.of("b|0", "c|0", "d|0"), left());
    }

    @Test
    void whatIsMadeWhileACancellationWaitsComesAfterIt() throws Exception {
        Future<String> cancelling = waiting(1, "cancel b", "cancel c", "cancel d");
        lines(connection, call("schedule b"));
        other.commit();
        assertEquals("absent, cancelled of c, cancelled of d", cancelling.get());
        assertEquals(List.of("b|0"), left());
    }

    @Test
    void whatIsGoneWhenACancellationHasWaitedIsAbsent() throws Exception {
        lines(other, "delete from queen_store.timers where timer_key = 'c'");
        Future<String> cancelling = waiting(1, "cancel c", "schedule e");
        other.commit();
        assertEquals("absent, scheduled", cancelling.get());
        assertEquals(List.of("d|0", "e|0"), left());
    }

    @Test
    void whoComesTooLateDoesNotHoldTheMessageUpHoweverLongHisTransactionIs() throws SQLException {
        List<ClaimedTimer> claimed = claim("d");
        assertEquals(
                "too_late, too_late",
                line(other, call("cancel d")) + ", " + line(other, call("schedule d")));
        assertEquals("fired", fire(claimed));
        other.rollback();
        assertEquals(List.of("c|0"), left());
    }

    @Test
    void aClaimedTimerThatSomebodyHoldsStaysClaimedForAnotherTry() throws SQLException {
        List<ClaimedTimer> claimed = claim("d");
        lines(other, "select from queen_store.timers where timer_key = 'd' for update");
        assertEquals("locked", fire(claimed));
        other.commit();
        assertEquals("fired", fire(claimed));
        assertEquals("stale", fire(claimed));
    }
}
