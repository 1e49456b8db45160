package io.queenmq.push;

import io.queenmq.cipher.CipherConfig;
import io.queenmq.cipher.PayloadCipher;
import io.queenmq.count.Counts;
import io.queenmq.db.Database;
import io.queenmq.db.DatabaseConfig;
import io.queenmq.dedup.DedupConfig;
import io.queenmq.dedup.KeyMemory;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Caller;
import io.queenmq.model.Slice;
import io.queenmq.model.UuidMint;
import io.queenmq.queue.QueueCatalog;
import io.queenmq.queue.QueueConfig;
import io.queenmq.queue.Queues;
import io.queenmq.ready.LaneWrites;
import io.queenmq.runtime.Clock;
import io.queenmq.testkit.TestDatabase;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;

/** The push engine of one broker, without anything in front of it. */
final class TestEngine implements AutoCloseable {
    final Metrics metrics = new Metrics();
    private final Counts counts;
    final ConcurrentLinkedQueue<LaneWrites.Lane> written = new ConcurrentLinkedQueue<>();
    final Database database;
    final QueueCatalog catalog;
    final KeyMemory memory;
    final Queues queues;
    final Push push;

    TestEngine(TestDatabase server) {
        this(server, server.port(), PushConfig.defaults(), DedupConfig.defaults());
    }

    TestEngine(TestDatabase server, int port, PushConfig config, DedupConfig dedup) {
        this(server, port, config, dedup, Clock.SYSTEM, null);
    }

    /**
     * @param clock of the memory of keys
     * @param writes null = {@link #written}
     */
    TestEngine(
            TestDatabase server,
            int port,
            PushConfig config,
            DedupConfig dedup,
            Clock clock,
            @Nullable LaneWrites writes) {
        database =
                new Database(
                        DatabaseConfig.of(server.host(), port, server.name(), server.user(), "")
                                .withPoolSize(8)
                                .withBorrowTimeout(Duration.ofMillis(500)),
                        metrics,
                        Clock.SYSTEM);
        counts = new Counts(Duration.ofHours(1), database, metrics, Clock.SYSTEM);
        catalog = new QueueCatalog(QueueConfig.defaults(), database, Clock.SYSTEM);
        memory = new KeyMemory(dedup, clock);
        queues = new Queues(QueueConfig.defaults(), database, catalog, false);
        push =
                new Push(
                        config,
                        database,
                        catalog,
                        memory,
                        counts,
                        writes == null ? written::addAll : writes,
                        new PayloadCipher(CipherConfig.NONE, metrics),
                        catalog::serverChanged,
                        new UuidMint(System::currentTimeMillis),
                        metrics,
                        Clock.SYSTEM);
        catalog.start();
        push.start();
    }

    /** Deadlines short enough for a test to wait for. */
    static PushConfig impatient(Duration deadline) {
        PushConfig defaults = PushConfig.defaults();
        return new PushConfig(
                deadline,
                Duration.ofSeconds(1),
                Duration.ofMillis(50),
                defaults.hydrators(),
                defaults.searchers(),
                defaults.combiner());
    }

    List<PushResult> push(PushItem... items) {
        return push.push(Caller.ANYONE, List.of(items));
    }

    static PushItem item(String queue, String partition, String transactionId, String payload) {
        return new PushItem(queue, partition, transactionId, null, Slice.utf8(payload));
    }

    static PushItem minted(String queue, String partition, String payload) {
        return new PushItem(queue, partition, null, null, Slice.utf8(payload));
    }

    static List<PushItem> batch(String queue, String partition, int size, String payload) {
        List<PushItem> items = new ArrayList<>();
        for (int i = 0; i < size; i++) {
            items.add(item(queue, partition, UUID.randomUUID().toString(), payload + i));
        }
        return items;
    }

    void configure(String queue, String option, String value) {
        queues.configure(
                Caller.DEFAULT_TENANT,
                queue,
                null,
                Map.of(option, new Queues.Option(Queues.Option.Kind.NUMBER, value)));
    }

    @Override
    public void close() {
        push.stop(Duration.ofSeconds(1));
        catalog.stop(Duration.ofSeconds(1));
        counts.close();
        database.close();
        metrics.close();
    }
}
