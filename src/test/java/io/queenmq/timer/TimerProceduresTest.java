package io.queenmq.timer;

import static io.queenmq.testkit.Lines.line;
import static io.queenmq.testkit.Lines.lines;
import static java.util.Objects.requireNonNull;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.model.Caller;
import io.queenmq.model.QueenException;
import io.queenmq.model.Slice;
import io.queenmq.testkit.Contract;
import io.queenmq.timer.TimerProcedures.Fired;
import io.queenmq.timer.TimerProcedures.Probe;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** How timers are scheduled, claimed and fired, and who sees what of another's doing. */
class TimerProceduresTest extends TimerScene {
    private static final UUID TENANT = Caller.DEFAULT_TENANT;
    private static final UUID OTHER = UUID.fromString("00000000-0000-0000-0000-00000000000b");
    private static final Duration DUE = Duration.ZERO;
    private static final Duration LATER = Duration.ofHours(1);

    private static TimerOp.Schedule schedule(String queue, String key, Duration delay) {
        return new TimerOp.Schedule(
                queue,
                key,
                "p",
                new TimerOp.When.After(delay),
                "txn-" + key,
                Slice.utf8("{\"key\":\"" + key + "\"}"),
                false,
                false);
    }

    private static TimerOp cancel(String queue, String key) {
        return new TimerOp.Cancel(queue, key, null);
    }

    private static List<TimerResult> change(UUID tenant, TimerOp... ops) {
        TimerChanges changes = TimerChanges.of(tenant, "someone", List.of(ops));
        for (int i = 0; i < ops.length; i++) {
            switch (ops[i]) {
                case TimerOp.Cancel _ -> changes.cancel(i);
                case TimerOp.Schedule op ->
                        changes.schedule(i, op, UUID.randomUUID(), op.payload(), op.encrypted());
            }
        }
        return timers.change(changes, Duration.ofSeconds(2));
    }

    private static List<String> statuses(TimerOp... ops) {
        return change(TENANT, ops).stream()
                .map(
                        result ->
                                switch (result) {
                                    case TimerResult.Scheduled(_, boolean replaced, _, _, _) ->
                                            replaced ? "rescheduled" : "scheduled";
                                    case TimerResult.Cancelled(_, String id) -> "cancelled " + id;
                                    case TimerResult.Absent _ -> "absent";
                                    case TimerResult.TooLate _ -> "too late";
                                })
                .toList();
    }

    private static List<Fired> fire(List<ClaimedTimer> claimed) {
        return timers.fire(
                LaneBatch.byLane(claimed).stream().map(l -> LaneBatch.of(l.getFirst())).toList(),
                Duration.ZERO,
                null);
    }

    private static List<String> verdicts(List<Fired> fired) {
        return fired.stream().map(Fired::verdict).toList();
    }

    private List<String> messages(String queue) throws SQLException {
        return lines(
                connection,
                "select \"offset\", transaction_id, payload, message_id from queen.messages"
                        + " where queue = '%s' order by partition, \"offset\"".formatted(queue));
    }

    private String count() throws SQLException {
        return line(connection, "select count(*) from queen_store.timers");
    }

    @Test
    void schedulingAgainReplacesAndCancellingTellsWhatWasThere() throws SQLException {
        assertEquals(
                List.of("scheduled", "absent", "scheduled"),
                statuses(
                        schedule("q", "b", LATER),
                        cancel("q", "nothing"),
                        schedule("q", "a", LATER)));
        lines(
                connection,
                "update queen_store.timers set attempts = 3, last_error = 'x',"
                        + " held_until = clock_timestamp() + interval '1 hour'");
        String before = line(connection, "select message_id from queen.timers where timer_key='a'");
        assertEquals(List.of("rescheduled"), statuses(schedule("q", "a", DUE)));
        assertEquals(
                "due|0||t|someone",
                line(
                        connection,
                        "select state, attempts, last_error, message_id <> '%s', producer"
                                        .formatted(before)
                                + " from queen.timers where timer_key = 'a'"));
        assertEquals(
                List.of("cancelled txn-b", "rescheduled"),
                statuses(cancel("q", "b"), schedule("q", "a", LATER)));
        assertEquals(List.of("absent"), statuses(cancel("q", "b")));
        assertEquals(
                List.of(new TimerResult.Absent(new TimerOp.Cancel("q", "a", null))),
                change(OTHER, cancel("q", "a")));
        assertEquals("1", count());
    }

    @Test
    void aClaimedTimerCanNeitherBeCancelledNorReplacedUntilTheClaimHasEnded() throws SQLException {
        statuses(schedule("q", "a", DUE), schedule("q", "b", DUE));
        assertEquals(2, claim(10).size());
        assertEquals(List.of(), claim(10));
        assertEquals(
                List.of("too late", "too late", "scheduled"),
                statuses(cancel("q", "a"), schedule("q", "b", LATER), schedule("q", "c", LATER)));
        assertEquals(
                List.of("a|claimed", "b|claimed", "c|pending"),
                lines(connection, "select timer_key, state from queen.timers order by 1"));
        lines(
                connection,
                "update queen_store.timers set held_until = clock_timestamp() - interval '1 s'"
                        + " where held_until is not null");
        assertEquals(
                List.of("cancelled txn-a", "rescheduled"),
                statuses(cancel("q", "a"), schedule("q", "b", LATER)));
    }

    @Test
    void aClaimTakesOfEveryTenantInTurnTheOldestFirst() throws SQLException {
        List<TimerOp> many = new ArrayList<>();
        for (int i = 0; i < 60; i++) {
            many.add(schedule("busy", "k%02d".formatted(i), DUE));
        }
        Collections.shuffle(many);
        change(TENANT, many.toArray(TimerOp[]::new));
        lines(
                connection,
                "update queen_store.timers set deliver_at = clock_timestamp() - interval '1 hour'"
                        + " + substr(timer_key, 2)::int * interval '1 s'");
        change(OTHER, schedule("quiet", "x", DUE), schedule("quiet", "y", LATER));
        List<ClaimedTimer> first = claim(10);
        assertEquals(
                List.of("k00", "k01", "k02", "k03", "k04", "k05", "k06", "k07", "k08", "x"),
                keys(first));
        assertEquals(List.of("k09", "k10"), keys(claim(2)));
        // By bytes: what goes over is left, but for the first.
        assertEquals(List.of("k11"), keys(timers.claim(10, 1, 30_000, null, ANY).timers()));
        Probe probe = timers.probe(7, null, null);
        assertEquals(7, probe.due());
        assertTrue(requireNonNull(probe.oldestDue()).isBefore(probe.readAt().minusSeconds(3_000)));
        assertEquals(48, timers.probe(1_000, null, null).due());
        assertEquals(
                3,
                timers.release(first.subList(0, 3), 0),
                "given back: they can be claimed at once");
        assertEquals(List.of("k00", "k01", "k02", "k12"), keys(claim(4)));
        assertEquals(0, timers.release(first.subList(0, 3), 0), "these claims are of others now");
    }

    @Test
    @Contract("timer-16")
    void aFiredTimerIsAMessageWithThePromisedIdAndTheTimerIsGone() throws SQLException {
        String queue = "fired.now";
        List<String> promised = new ArrayList<>();
        for (TimerResult result :
                change(
                        TENANT,
                        schedule(queue, "b", DUE),
                        schedule(queue, "a", DUE),
                        schedule(queue, "later", LATER))) {
            promised.add(
                    assertInstanceOf(TimerResult.Scheduled.class, result).messageId().toString());
        }
        lines(
                connection,
                "update queen_store.timers set deliver_at = deliver_at - interval '1 s'"
                        + " where timer_key = 'b'");
        List<Fired> fired = fire(claim(10));
        assertEquals(List.of("fired"), verdicts(fired));
        assertEquals(1, fired.getFirst().lastOffset());
        assertEquals(
                List.of(
                        "0|txn-b|{\"key\":\"b\"}|" + promised.get(0),
                        "1|txn-a|{\"key\":\"a\"}|" + promised.get(1)),
                messages(queue));
        assertEquals(
                "fired|now|someone",
                line(
                        connection,
                        "select q.namespace, q.task, m.producer from queen.queues q"
                                + " join queen.messages m on m.queue = q.queue"
                                + " where q.queue = 'fired.now' limit 1"));
        assertEquals("1", count());
        assertEquals(List.of("absent"), statuses(cancel(queue, "a")));
    }

    @Test
    void aFireThatIsUndoneLeavesTheTimer() throws SQLException {
        change(TENANT, schedule("undone", "a", DUE));
        List<ClaimedTimer> claimed = claim(1);
        lines(
                connection,
                "create function public.fail() returns trigger language plpgsql as $$"
                        + " begin raise exception 'no'; end $$;"
                        + "create trigger no before delete on queen_store.timers"
                        + " for each row execute function public.fail()");
        try {
            assertThrows(QueenException.class, () -> fire(claimed));
        } finally {
            lines(connection, "drop trigger no on queen_store.timers");
        }
        assertEquals(List.of(), messages("undone"));
        assertEquals(List.of("fired"), verdicts(fire(claimed)));
        assertEquals(List.of("stale"), verdicts(fire(claimed)), "the same once more");
        assertEquals(1, messages("undone").size());
    }

    @Test
    void aHeldLaneGivesItsTimersBackAndDelaysNoOther() throws SQLException {
        change(TENANT, schedule("held", "a", DUE));
        assertEquals(List.of("fired"), verdicts(fire(claim(1))));
        change(TENANT, schedule("held", "b", DUE), schedule("free", "c", DUE));
        other.setAutoCommit(false);
        lines(other, "select 1 from queen_store.partitions order by id for no key update");
        List<ClaimedTimer> claimed = claim(10);
        assertEquals(Set.of("busy", "fired"), new HashSet<>(verdicts(fire(claimed))));
        assertEquals(
                "b|0||",
                line(
                        connection,
                        "select timer_key, attempts, last_error, claim_token"
                                + " from queen_store.timers"));
        other.rollback();
        assertEquals(List.of("fired"), verdicts(fire(claim(10))));
        assertEquals(2, messages("held").size());
        assertEquals(1, messages("free").size());
    }

    @Test
    void aLaneIsFiredWholeOrNotAtAll() throws SQLException {
        change(TENANT, schedule("whole", "a", DUE), schedule("whole", "b", DUE));
        List<ClaimedTimer> claimed = claim(10);
        lines(
                connection,
                "update queen_store.timers set claim_token = gen_random_uuid()"
                        + " where timer_key = 'b'");
        assertEquals(List.of("stale"), verdicts(fire(claimed)));
        assertEquals(List.of(), messages("whole"));
        assertEquals(List.of("a"), keys(claim(10)), "what was ours can be claimed again");
    }

    @Test
    @Contract("timer-17")
    void withDedupATransactionIdOfTheWindowIsDroppedAndWithoutItIsDelivered() throws SQLException {
        lines(connection, "select queen.push('dup', 'p', '1', 'txn-a')");
        change(TENANT, dedup(schedule("dup", "a", DUE)), dedup(schedule("dup", "b", DUE)));
        List<Fired> fired = fire(claim(10));
        assertEquals(List.of("duplicate"), verdicts(fired));
        assertEquals(1, fired.getFirst().dropped());
        assertEquals(1, messages("dup").size());
        assertEquals(List.of("fired"), verdicts(fire(claim(10))), "the other goes at once");
        assertEquals(2, messages("dup").size());

        change(TENANT, schedule("dup", "a", DUE));
        assertEquals(List.of("fired"), verdicts(fire(claim(10))));
        assertEquals(3, messages("dup").size());
        assertEquals("0", count());

        change(TENANT, dedup(schedule("fresh", "a", DUE)));
        assertEquals(List.of("fired"), verdicts(fire(claim(10))), "a lane that is just made");
        lines(
                connection,
                "update queen_store.queues set dedup_window_seconds = 0 where name = 'fresh'");
        change(TENANT, dedup(schedule("fresh", "a", DUE)));
        assertEquals(List.of("fired"), verdicts(fire(claim(10))), "where no window is");
    }

    private static TimerOp.Schedule dedup(TimerOp.Schedule op) {
        return new TimerOp.Schedule(
                op.queue(),
                op.timerKey(),
                op.partition(),
                op.when(),
                op.transactionId(),
                op.payload(),
                false,
                true);
    }

    @Test
    void aRepeatedTransactionIdIsFoundWhenTheFirstIsStored() {
        TimerOp.Schedule first = dedup(schedule("twice", "a", DUE));
        TimerOp.Schedule second =
                new TimerOp.Schedule(
                        "twice", "b", "p", first.when(), "txn-a", first.payload(), false, true);
        change(TENANT, first, second, schedule("twice", "c", DUE));
        List<String> verdicts = new ArrayList<>();
        for (List<ClaimedTimer> run : LaneBatch.byLane(claim(10)).getFirst()) {
            verdicts.addAll(verdicts(timers.fire(List.of(LaneBatch.of(run)), Duration.ZERO, null)));
        }
        assertEquals(List.of("fired", "duplicate", "fired"), verdicts);
    }

    @Test
    void anEncryptingQueueTakesEnvelopesOnly() throws SQLException {
        lines(connection, "select queen.push('secret', 'p', '1')");
        lines(
                connection,
                "update queen_store.queues set encryption_enabled = true where name = 'secret'");
        change(TENANT, schedule("secret", "a", DUE));
        List<ClaimedTimer> claimed = claim(1);
        assertTrue(claimed.getFirst().queueEncrypts());
        assertEquals(List.of("unsealed"), verdicts(fire(claimed)));
        List<ClaimedTimer> again =
                claim(1).stream().map(timer -> timer.sealed(Slice.utf8("{\"iv\":1}"))).toList();
        assertEquals(List.of("fired"), verdicts(fire(again)));
        assertEquals(
                "t|",
                line(
                        connection,
                        "select encrypted, payload from queen.messages"
                                + " where queue = 'secret' and \"offset\" = 1"));
    }

    @Test
    @Contract("timer-19")
    void whatFailsTooOftenIsADeadLetterOfItsLane() throws SQLException {
        change(TENANT, schedule("poison", "a", DUE), schedule("poison", "b", LATER));
        for (int attempt = 1; attempt <= 3; attempt++) {
            List<ClaimedTimer> claimed = claim(1);
            assertEquals(List.of("a"), keys(claimed));
            int dead = timers.fail(claimed, List.of("because"), 3, 0, 0);
            assertEquals(attempt == 3 ? 1 : 0, dead);
        }
        assertEquals(
                "poison|p|__timer__|-1|txn-a|because|3|{\"key\":\"a\"}|someone",
                line(
                        connection,
                        "select queue, partition, consumer_group, \"offset\", transaction_id,"
                                + " error, retry_count, payload, producer"
                                + " from queen.dead_letters where queue = 'poison'"));
        assertEquals(
                "1",
                line(
                        connection,
                        "select sum(dead_letters) from queen_store.count_deltas d"
                                + " join queen_store.queues q on q.id = d.queue_id"
                                + " where q.name = 'poison'"));
        assertEquals("1", count());
        assertEquals(List.of(), messages("poison"));
    }

    @Test
    void thePauseAfterAFailureDoublesAndSchedulingAgainEndsIt() throws SQLException {
        change(TENANT, schedule("pause", "a", DUE));
        String pause =
                "select round(extract(epoch from held_until - clock_timestamp()) / 100)"
                        + " from queen_store.timers";
        List<String> pauses = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            timers.fail(claim(1), List.of("x"), 99, 100_000, 500_000);
            pauses.add(line(connection, pause));
            assertEquals(List.of(), claim(1));
            lines(connection, "update queen_store.timers set held_until = null");
        }
        assertEquals(List.of("1", "2", "4", "5"), pauses);
        timers.fail(claim(1), List.of("x"), 99, 100_000, 500_000);
        assertEquals(List.of("rescheduled"), statuses(schedule("pause", "a", DUE)));
        assertEquals(List.of("a"), keys(claim(1)));
    }

    @Test
    void pagesAndPrefixesGoByTheBytesOfTheKeys() throws SQLException {
        change(
                TENANT,
                schedule("list", "a", LATER),
                schedule("list", "a%", LATER),
                schedule("list", "a\uD83D\uDE00b", LATER),
                schedule("list", "aé", LATER),
                schedule("list", "b", LATER),
                schedule("other", "a", LATER));
        change(OTHER, schedule("list", "a", LATER));
        List<PendingTimer> page = timers.list(TENANT, "list", "a", 3);
        assertEquals(
                List.of("a%", "aé", "a\uD83D\uDE00b"),
                page.stream().map(PendingTimer::timerKey).toList());
        assertEquals(null, page.getFirst().payload());
        assertEquals(
                "4 1 0",
                line(
                        connection,
                        "select string_agg(queen_store.count_timers('%s', 'list', p)::text, ' ')"
                                        .formatted(TENANT)
                                + " from unnest('{a,a%,c}'::text[]) p"));
        assertEquals(
                "{\"key\":\"aé\"}",
                new String(
                        requireNonNull(timers.find(TENANT, "list", "aé").orElseThrow().payload()),
                        StandardCharsets.UTF_8));
        assertTrue(timers.find(TENANT, "list", "x").isEmpty());
    }
}
