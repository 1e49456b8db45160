package io.queenmq.timer;

import static io.queenmq.testkit.Lines.line;
import static io.queenmq.testkit.Lines.lines;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.timer.TimerProcedures.Claim;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The timers of a lane that somebody holds: who waits for whom, and who for the lane. */
class TimerOrderProceduresTest extends TimerScene {
    @BeforeEach
    void hold() throws SQLException {
        lines(connection, "select queen.push('lane', 'Default', '1')");
        other.setAutoCommit(false);
        lines(other, "select 1 from queen_store.partitions p for no key update of p");
    }

    private void schedule(String queue, String key, int secondsAgo) throws SQLException {
        lines(
                connection,
                "select * from queen.timer_schedule('%s', '%s', '1', p_delay => '0')"
                        .formatted(queue, key));
        lines(
                connection,
                """
                update queen_store.timers set deliver_at = deliver_at - interval '%d s'
                where timer_key = '%s'
                """
                        .formatted(secondsAgo, key));
    }

    private static String fire(
            List<ClaimedTimer> claimed, @Nullable Duration pause, @Nullable Duration wait) {
        return timers.fire(List.of(LaneBatch.of(claimed)), pause, wait).getFirst().verdict();
    }

    @Test
    @Contract("timer-18")
    void noTimerIsClaimedBeforeAnEarlierOneOfItsLaneThatWasGivenBack() throws SQLException {
        schedule("lane", "z", 9);
        assertEquals("busy", fire(claim(1), Duration.ofHours(1), null));
        other.rollback();
        schedule("lane", "y", 5);
        schedule("lane", "a", 4);
        schedule("another", "b", 1);
        Claim claim = look(10);
        assertEquals(List.of("b"), keys(claim.timers()));
        assertEquals(2, claim.putOff());
        assertEquals(
                "1|0",
                line(
                        connection,
                        "select count(distinct held_until), count(claim_token)"
                                + " from queen_store.timers where queue = 'lane'"),
                "they wait until the same time");
        assertEquals(0, look(10).seen());

        lines(
                connection,
                "update queen_store.timers set held_until = held_until - interval '2 hours'"
                        + " where queue = 'lane'");
        assertEquals(List.of("z"), keys(claim(1)), "and then they come in their order");
        assertEquals(List.of("y", "a"), keys(claim(10)));
    }

    @Test
    @Contract("timer-18")
    void whatIsDueLaterComesLaterThoughItCouldBeClaimedEarlier() throws SQLException {
        schedule("lane", "first", 9);
        schedule("lane", "second", 8);
        assertEquals("busy", fire(claim(2), Duration.ofMillis(1), null));
        schedule("lane", "third", 5);
        Await.until("the pause is over", () -> timers.probe(10, null, null).due() == 3);
        assertEquals(1, look(1).putOff(), "by its time it is the first");
        assertEquals(List.of("first"), keys(claim(1)));
        assertEquals(List.of("second"), keys(claim(1)));
        Await.until("it was put off for a moment", () -> timers.probe(10, null, null).due() == 1);
        assertEquals(List.of("third"), keys(claim(1)));
    }

    /** Or the sweeper would claim and put off without a pause, for as long as somebody likes. */
    @Test
    @Contract("timer-18")
    void whatWaitsForATimerThatSomebodyHasLockedIsNotDueAtOnce() throws SQLException {
        schedule("lane", "first", 9);
        assertEquals("busy", fire(claim(1), Duration.ofMillis(1), null));
        other.rollback();
        schedule("lane", "second", 5);
        Await.until("the pause is over", () -> timers.probe(10, null, null).due() == 2);
        lines(other, "select 1 from queen_store.timers where timer_key = 'first' for update");
        assertEquals(1, look(10).putOff());
        assertEquals(
                "t",
                line(
                        connection,
                        "select held_until > claimed.at from queen_store.timers, lateral (select"
                                + " (select held_until from queen_store.timers where timer_key ="
                                + " 'first') as at) claimed where timer_key = 'second'"));
        other.rollback();
        assertEquals(List.of("first"), keys(claim(10)).subList(0, 1));
    }

    /** Or what waits would be written fifty times a second, for as long as somebody likes. */
    @Test
    @Contract("timer-18")
    void theLongerSomebodyHasATimerLockedTheLessOftenWhatWaitsForItIsWritten() throws SQLException {
        schedule("lane", "first", 9);
        assertEquals("busy", fire(claim(1), Duration.ofMillis(1), null));
        other.rollback();
        schedule("lane", "second", 5);
        lines(
                connection,
                "update queen_store.timers set held_until = clock_timestamp() - interval '3 s'"
                        + " where timer_key = 'first'");
        lines(other, "select 1 from queen_store.timers where timer_key = 'first' for update");
        String before = line(connection, "select clock_timestamp()");
        assertEquals(1, look(10).putOff());
        assertEquals(
                "t",
                line(
                        connection,
                        "select held_until >= '%s'::timestamptz + interval '320 ms' from"
                                        .formatted(before)
                                + " queen_store.timers where timer_key = 'second'"));
    }

    @Test
    void whatFailedForAReasonOfItsOwnIsNotWaitedFor() throws SQLException {
        schedule("lane", "poison", 9);
        timers.fail(claim(1), List.of("x"), 99, 100_000, 500_000);
        schedule("lane", "sound", 5);
        assertEquals(List.of("sound"), keys(claim(10)));
    }

    @Test
    void timersOfABusyLaneStayClaimedForWhoWaitsForIt() throws Exception {
        schedule("lane", "a", 1);
        List<ClaimedTimer> claimed = claim(1);
        assertEquals("busy", fire(claimed, null, null));
        assertEquals("busy", fire(claimed, null, Duration.ofMillis(1)), "the wait was over");
        CompletableFuture<String> waits =
                CompletableFuture.supplyAsync(() -> fire(claimed, null, Duration.ofMinutes(1)));
        awaitWaiting(1);
        other.rollback();
        assertEquals("fired", waits.get());
        assertEquals(List.of(), lines(connection, "select 1 from queen_store.timers"));
    }
}
