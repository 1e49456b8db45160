package io.queenmq.timer;

import static io.queenmq.testkit.Lines.line;
import static io.queenmq.testkit.Lines.lines;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.model.Caller;
import io.queenmq.runtime.Clock;
import io.queenmq.testkit.Buffers;
import io.queenmq.testkit.Contract;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** What a look for timers finds and what it costs, where there are many or have been. */
class TimerLooksProceduresTest extends TimerScene {
    private static final UUID OTHER = UUID.fromString("00000000-0000-0000-0000-00000000000b");
    private static final int MANY = 3_000;
    private static final int BATCH = 200;

    private long nanos;
    private final Clock clock =
            new Clock() {
                @Override
                public Instant now() {
                    return Instant.EPOCH;
                }

                @Override
                public long nanos() {
                    return nanos;
                }
            };

    /**
     * Timers that have been due for up to an hour; their order in time is not that of their rows.
     */
    private void due(UUID tenant, String queue, int many) throws SQLException {
        lines(
                connection,
                """
                insert into queen_store.timers (
                    tenant_id, queue, timer_key, partition, deliver_at, transaction_id,
                    message_id, payload)
                select '%s', '%s', 'k' || i, 'p',
                       clock_timestamp() - (600 + i * 1877 %% 3000) * interval '1 s', 't' || i,
                       gen_random_uuid(), '1'
                from generate_series(1, %d) i
                """
                        .formatted(tenant, queue, many));
    }

    /** A queue whose timers are in the shard of those of another one. */
    private String beside(String queue, UUID tenant) throws SQLException {
        String shard = "hashtextextended(%s, uuid_hash_extended('%s', 0)) >> 58";
        return line(
                connection,
                "select 'q' || i from generate_series(1, 10000) i where "
                        + shard.formatted("'q' || i", tenant)
                        + " = "
                        + shard.formatted("'" + queue + "'", Caller.DEFAULT_TENANT)
                        + " limit 1");
    }

    @Test
    @Contract("timer-18")
    void aBacklogHidesNeitherAnotherTenantNorAnotherQueueBesideIt() throws SQLException {
        due(Caller.DEFAULT_TENANT, "hot", MANY);
        String mine = beside("hot", Caller.DEFAULT_TENANT);
        String others = beside("hot", OTHER);
        due(Caller.DEFAULT_TENANT, mine, 1);
        due(OTHER, others, 1);
        lines(
                connection,
                "update queen_store.timers set deliver_at = clock_timestamp() where queue <> 'hot'");
        assertEquals("1", line(connection, "select count(distinct shard) from queen_store.timers"));

        List<ClaimedTimer> claimed = claim(BATCH);
        assertEquals(BATCH, claimed.size());
        assertTrue(claimed.stream().anyMatch(timer -> timer.queue().equals(mine)));
        assertTrue(claimed.stream().anyMatch(timer -> timer.tenant().equals(OTHER)));
        assertEquals(
                "198",
                line(
                        connection,
                        "select count(*) from (select claim_token from queen_store.timers where"
                                + " queue = 'hot' order by deliver_at limit 198) t"
                                + " where claim_token is not null"),
                "of the backlog itself the oldest");
    }

    @Test
    void aTenantHasItsShareASecondAndLeavesTheRestToOthers() throws SQLException {
        due(Caller.DEFAULT_TENANT, "hot", 100);
        due(OTHER, "cool", 10);
        FireRates rates = new FireRates(20, clock);
        assertEquals(List.of(20L, 10L), shares(rates));
        rates.delivered(Caller.DEFAULT_TENANT, 20);
        rates.delivered(OTHER, 10);
        assertEquals(List.of(0L, 0L), shares(rates));
        nanos += Duration.ofMillis(250).toNanos();
        assertEquals(List.of(5L, 0L), shares(rates));
        rates.delivered(Caller.DEFAULT_TENANT, 15);
        nanos += Duration.ofMillis(250).toNanos();
        assertEquals(List.of(0L, 0L), shares(rates), "what was too much it has to wait for");
        nanos += Duration.ofMinutes(1).toNanos();
        assertEquals(List.of(20L, 0L), shares(rates), "it does not save up");
    }

    /** How many timers the two tenants get in a claim. */
    private static List<Long> shares(FireRates rates) {
        List<ClaimedTimer> claimed = timers.claim(BATCH, 1 << 20, 30_000, null, rates).timers();
        long first = claimed.stream().filter(t -> t.tenant().equals(Caller.DEFAULT_TENANT)).count();
        return List.of(first, claimed.size() - first);
    }

    @Test
    void howMuchIsDueElsewhereIsNoPartOfWhatAClaimReads() throws SQLException {
        due(Caller.DEFAULT_TENANT, "hot", MANY);
        String claim =
                "queen_store.claim_timers(%d, 1000000, 30000, null, null, null, null)"
                        .formatted(BATCH);
        int few = cost(claim);
        lines(connection, "truncate queen_store.timers");
        due(Caller.DEFAULT_TENANT, "hot", 3 * MANY);
        int many = cost(claim);
        assertTrue(many < 2 * few, many + " buffers instead of " + few);
    }

    /** What a call touches that is undone. */
    private int cost(String call) throws SQLException {
        lines(connection, "analyze queen_store.timers");
        connection.setAutoCommit(false);
        try {
            return Buffers.of(connection, call);
        } finally {
            connection.rollback();
            connection.setAutoCommit(true);
        }
    }

    @Test
    void whileASnapshotKeepsWhatIsGoneALookBeginsBehindIt() throws SQLException {
        try (Connection old = database.connect()) {
            old.setAutoCommit(false);
            old.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            line(old, "select count(*) from queen_store.timers");
            due(Caller.DEFAULT_TENANT, "gone", MANY);
            // As a claim, and the fire behind it.
            lines(
                    connection,
                    """
                    update queen_store.timers
                    set claim_token = gen_random_uuid(),
                        held_until = clock_timestamp() + interval '30 s';
                    delete from queen_store.timers
                    """);
            due(Caller.DEFAULT_TENANT, "there", 1);
            lines(connection, "update queen_store.timers set deliver_at = clock_timestamp()");

            String from = "clock_timestamp() - interval '5 s'";
            int whole = Buffers.of(connection, "queen_store.probe_timers(2000, null, null)");
            int quick =
                    Buffers.of(
                            connection, "queen_store.probe_timers(2000, %s, 1000)".formatted(from));
            assertTrue(quick * 4 < whole, quick + " buffers instead of " + whole);
            whole = cost("queen_store.claim_timers(200, 1000000, 30000, null, null, null, null)");
            quick =
                    cost(
                            "queen_store.claim_timers(200, 1000000, 30000, %s, null, null, null)"
                                    .formatted(from));
            assertTrue(quick * 4 < whole, quick + " buffers instead of " + whole);
            old.rollback();
        }
    }

    /** The plans of a session last until somebody analyzes the table. */
    @Test
    void whatIsPlannedWhileThereIsLittleIsRightWhenThereIsMuch() throws SQLException {
        due(Caller.DEFAULT_TENANT, "few", 1);
        String claim = "queen_store.claim_timers(10, 1000000, 30000, null, null, null, null)";
        cost(claim);
        lines(
                connection,
                """
                insert into queen_store.timers (
                    tenant_id, queue, timer_key, partition, deliver_at, transaction_id,
                    message_id, payload)
                select '%s', 'many', 'k' || i, 'p', clock_timestamp() + interval '1 day', 't' || i,
                       gen_random_uuid(), '1'
                from generate_series(1, 20000) i
                """
                        .formatted(Caller.DEFAULT_TENANT));
        connection.setAutoCommit(false);
        int buffers = Buffers.of(connection, claim);
        connection.rollback();
        connection.setAutoCommit(true);
        assertTrue(buffers < 500, buffers + " buffers");
    }

    @Test
    void whoClaimAtOnceGetDifferentTimers() throws Exception {
        for (int i = 0; i < 10; i++) {
            due(Caller.DEFAULT_TENANT, "race-" + i, 20);
        }
        List<String> all = new ArrayList<>();
        try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
            List<Future<List<String>>> claims = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                claims.add(threads.submit(TimerLooksProceduresTest::claimedInTwenties));
            }
            for (Future<List<String>> claim : claims) {
                all.addAll(claim.get());
            }
        }
        assertEquals(200, all.size());
        assertEquals(200, new HashSet<>(all).size());
    }

    private static List<String> claimedInTwenties() {
        List<String> got = new ArrayList<>();
        for (int n = 0; n < 20; n++) {
            for (ClaimedTimer timer : claim(20)) {
                got.add(timer.queue() + " " + timer.timerKey());
            }
        }
        return got;
    }

    @Test
    void whatALookPassesOverIsFoundByTheNextWholeOneAndSleepIsShortUntilThen() throws SQLException {
        Duration long_ = Duration.ofSeconds(30);
        TimerLooks looks = new TimerLooks(TimersConfig.DEFAULT, timers, ANY, clock);
        looks.begin();
        assertEquals(List.of(), looks.claim().timers());
        looks.probe();
        assertEquals(long_, looks.sleep(long_), "it has seen that there is nothing");

        due(Caller.DEFAULT_TENANT, "late", 1);
        looks.begin();
        assertEquals(List.of(), looks.claim().timers());
        assertEquals(0, looks.probe().due());
        assertTrue(looks.sleep(long_).compareTo(Duration.ofSeconds(1)) < 0);

        nanos += Duration.ofMinutes(1).toNanos();
        looks.begin();
        assertEquals(1, looks.claim().timers().size());
        looks.probe();
        assertEquals(long_, looks.sleep(long_));
    }
}
