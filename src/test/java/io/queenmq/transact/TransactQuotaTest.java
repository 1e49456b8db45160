package io.queenmq.transact;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.queenmq.cipher.CipherConfig;
import io.queenmq.cipher.PayloadCipher;
import io.queenmq.db.ColdReads;
import io.queenmq.dedup.DedupConfig;
import io.queenmq.dedup.KeyMemory;
import io.queenmq.gate.KvRates;
import io.queenmq.gate.QuotaConfig;
import io.queenmq.gate.Quotas;
import io.queenmq.gate.Switches;
import io.queenmq.kv.Kv;
import io.queenmq.kv.KvConfig;
import io.queenmq.kv.KvOp;
import io.queenmq.model.Caller;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.model.Slice;
import io.queenmq.model.UuidMint;
import io.queenmq.push.Push;
import io.queenmq.push.PushConfig;
import io.queenmq.queue.QueueCatalog;
import io.queenmq.queue.QueueConfig;
import io.queenmq.runtime.Clock;
import io.queenmq.testkit.ConsumeEngine;
import io.queenmq.timer.TimerAlarm;
import io.queenmq.timer.TimerOp;
import io.queenmq.timer.Timers;
import io.queenmq.timer.TimersConfig;
import java.time.Duration;
import java.util.AbstractList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a transaction takes of quotas it gives back if it took no effect, for whatever reason. */
class TransactQuotaTest {
    private static final List<KvOp> KEYS =
            List.of(new KvOp.Put("n", "k", Slice.utf8("1"), null, null, false, false));
    private static final List<TimerOp> TIMERS =
            List.of(
                    new TimerOp.Schedule(
                            "q",
                            "t",
                            "p",
                            new TimerOp.When.After(Duration.ofHours(1)),
                            null,
                            Slice.utf8("1"),
                            false,
                            false));

    private final ConsumeEngine engine = new ConsumeEngine();
    private ColdReads coldReads;
    private Switches switches;
    private Quotas quotas;
    private Transact transact;

    /** One of its tenant's one key and one timer has room. */
    @BeforeEach
    void start() {
        Clock clock = Clock.SYSTEM;
        engine.rows(
                "select queen_store.set_kv_quota(?, '{max_rows,max_timers}', true, 1, null, 1,"
                        + " null, null, null)",
                Caller.DEFAULT_TENANT);
        coldReads = new ColdReads(engine.server.config(), engine.metrics, clock);
        switches = new Switches(engine.database, engine.outbox, engine.metrics, clock);
        quotas =
                new Quotas(
                        new QuotaConfig(false, Duration.ofHours(1), 90, 80),
                        KvRates.NONE,
                        engine.database,
                        engine.metrics,
                        clock);
        UuidMint mint = new UuidMint(() -> clock.now().toEpochMilli());
        PayloadCipher cipher = new PayloadCipher(CipherConfig.NONE, engine.metrics);
        QueueCatalog catalog = new QueueCatalog(QueueConfig.defaults(), engine.database, clock);
        transact =
                new Transact(
                        TransactConfig.DEFAULT,
                        engine.database,
                        new Push(
                                PushConfig.defaults(),
                                engine.database,
                                catalog,
                                new KeyMemory(DedupConfig.defaults(), clock),
                                engine.counts,
                                engine.ready,
                                cipher,
                                () -> {},
                                mint,
                                engine.metrics,
                                clock),
                        engine.ack,
                        new Kv(
                                KvConfig.of(20),
                                engine.database,
                                coldReads,
                                switches,
                                quotas,
                                engine.metrics,
                                clock),
                        new Timers(
                                TimersConfig.DEFAULT,
                                engine.database,
                                coldReads,
                                catalog,
                                engine.ready,
                                engine.counts,
                                cipher,
                                new TimerAlarm(engine.outbox, clock),
                                () -> false,
                                switches,
                                quotas,
                                mint,
                                engine.metrics,
                                clock),
                        mint,
                        engine.metrics,
                        clock);
    }

    @AfterEach
    void stop() {
        quotas.close();
        switches.close();
        coldReads.close();
        engine.close();
    }

    /** Stands for a bug wherever somebody looks into it. */
    private static <T> List<T> bug() {
        return new AbstractList<>() {
            @Override
            public T get(int index) {
                throw new IllegalStateException("a bug");
            }

            @Override
            public int size() {
                return 1;
            }
        };
    }

    private TransactResult transact(List<String> leases, List<KvOp> keys) {
        return transact.transact(
                Caller.ANYONE,
                UUID.randomUUID(),
                new TransactRequest(List.of(), leases, keys, TIMERS));
    }

    private void assertRoomForAllAgain() {
        quotas.takeKeys(Caller.DEFAULT_TENANT, 1, 0);
        quotas.takeTimers(Caller.DEFAULT_TENANT, 1);
        QueenException full =
                assertThrows(
                        QueenException.class,
                        () -> quotas.takeKeys(Caller.DEFAULT_TENANT, 1, 0),
                        "there is a quota");
        assertEquals(Failure.KV_QUOTA_EXCEEDED, full.failure());
    }

    @Test
    void aBugBeforeTheCallIsToldAsOneAndHasTakenNothing() {
        QueenException refusal = assertThrows(QueenException.class, () -> transact(bug(), KEYS));
        assertEquals(Failure.INTERNAL, refusal.failure());
        assertRoomForAllAgain();
    }

    @Test
    void aBugAmongWhatRidesAlongHasTakenNothing() {
        assertThrows(RuntimeException.class, () -> transact(List.of(), bug()));
        assertRoomForAllAgain();
    }

    @Test
    void whatIsUndoneHasTakenNothing() {
        KvOp lost = new KvOp.Check("n", "absent", 7, true);
        assertInstanceOf(
                TransactResult.PreconditionLost.class,
                transact(List.of(), List.of(KEYS.getFirst(), lost)));
        assertRoomForAllAgain();
    }
}
