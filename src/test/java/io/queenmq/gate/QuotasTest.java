package io.queenmq.gate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.db.Database;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Lines;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a broker goes by when the database does not tell it what it asks. */
class QuotasTest {
    private static final UUID WELL = UUID.fromString("00000000-0000-0000-0000-00000000000a");
    private static final UUID ILL = UUID.fromString("00000000-0000-0000-0000-00000000000b");

    private TestDatabase test;
    private Database database;
    private Connection operator;

    @BeforeEach
    void open() throws SQLException {
        test = TestDatabase.migrated();
        database = test.pool();
        operator = test.connect();
    }

    @AfterEach
    void close() throws SQLException {
        operator.close();
        database.close();
        test.close();
    }

    private void execute(String sql) throws SQLException {
        try (Statement statement = operator.createStatement()) {
            statement.execute(sql);
        }
    }

    private Quotas quotas(boolean requireGrant, Duration refresh) {
        return new Quotas(
                new QuotaConfig(requireGrant, refresh, 90, 80),
                KvRates.NONE,
                database,
                new Metrics(),
                Clock.SYSTEM);
    }

    private static boolean takesOne(Quotas quotas, UUID tenant) {
        try {
            quotas.takeKeys(tenant, 1, 0);
            return true;
        } catch (QueenException e) {
            assertEquals(Failure.KV_QUOTA_EXCEEDED, e.failure());
            return false;
        }
    }

    /** After a second in vain it is left alone for more than a minute. */
    @Test
    void whoCannotBeMeasuredHoldsNobodyUpAndIsNotAskedForOverAndOver() throws SQLException {
        execute(
                """
                create sequence public.attempts;
                alter function queen_store.measure_tenant(uuid) rename to measure_well;
                create function queen_store.measure_tenant(p_tenant_id uuid)
                returns table (
                    kv_rows bigint, kv_bytes bigint, timer_rows bigint, measured_at timestamptz)
                language plpgsql
                as $$
                begin
                    if p_tenant_id = '%s' then
                        perform nextval('public.attempts'), pg_sleep(1);
                        raise exception 'it is ill';
                    end if;
                    return query select * from queen_store.measure_well(p_tenant_id);
                end
                $$
                """
                        .formatted(ILL));
        allowOneKey(WELL);
        allowOneKey(ILL);
        try (Quotas quotas = quotas(false, Duration.ofMillis(10))) {
            quotas.takeKeys(ILL, 1, 0);
            for (int i = 0; i < 3; i++) {
                Await.until("it is measured", () -> takesOne(quotas, WELL));
            }
            Await.until(
                    "an attempt", () -> !Lines.line(operator, attempts("is_called")).equals("f"));
            for (int i = 0; i < 3; i++) {
                Await.until("it is measured", () -> takesOne(quotas, WELL));
            }
            assertEquals("1", Lines.line(operator, attempts("last_value")));
        }
    }

    private void allowOneKey(UUID tenant) throws SQLException {
        execute(
                "select queen_store.set_kv_quota('%s', '{}', true, 1, null, null, null, null, null)"
                        .formatted(tenant));
    }

    @Contract("quota-4")
    @Test
    void whoIsRefusedForWhatIsOnlySupposedIsMeasuredSoon() throws SQLException {
        allowOneKey(WELL);
        try (Quotas quotas = quotas(false, Duration.ofHours(1))) {
            assertTrue(takesOne(quotas, WELL));
            Await.until("it is measured, and has nothing", () -> takesOne(quotas, WELL));
        }
    }

    private static String attempts(String column) {
        return "select " + column + " from public.attempts";
    }

    @Test
    void whileNobodyKnowsWhoHasAGrantNobodyIsToldToHaveNone() throws SQLException {
        execute("alter function queen_store.read_quotas() rename to read_well");
        try (Quotas quotas = quotas(true, Duration.ofMillis(10))) {
            assertEquals(Failure.DATABASE_AWAY, refusal(quotas));
            execute("alter function queen_store.read_well() rename to read_quotas");
            Await.until("it is known", () -> refusal(quotas) == Failure.FEATURE_GATED);
        }
    }

    private static Failure refusal(Quotas quotas) {
        return assertThrows(QueenException.class, () -> quotas.requireGrant(WELL)).failure();
    }
}
