package io.queenmq.http;

import io.queenmq.ack.Ack;
import io.queenmq.cipher.PayloadCipher;
import io.queenmq.fetch.Fetch;
import io.queenmq.kv.Kv;
import io.queenmq.kv.Locks;
import io.queenmq.metrics.Traffic;
import io.queenmq.pop.Pop;
import io.queenmq.push.Push;
import io.queenmq.queue.Queues;
import io.queenmq.timer.Timers;
import io.queenmq.transact.Transact;
import io.queenmq.web.Router;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** The routes that messages travel on, and those that probes ask. Any thread. */
public final class DataPlane {
    private final PushRoutes push;
    private final PopRoutes pop;
    private final AckRoutes ack;
    private final LeaseRoutes lease;
    private final FetchRoutes fetch;
    private final TransactionRoutes transactions;
    private final KvRoutes kv;
    private final KvListRoutes kvList;
    private final LockRoutes locks;
    private final TimerRoutes timers;
    private final QueueRoutes queues;
    private final HealthRoutes health;

    /**
     * Takes the use cases it renders.
     *
     * @param traffic is told what is asked for
     * @param databaseReady whether the database takes writes, answered within a second or two
     * @param overdue what the broker should have done in the background long ago
     * @param version of this broker
     */
    public DataPlane(
            HttpConfig config,
            Push push,
            Pop pop,
            Ack ack,
            Fetch fetch,
            Transact transact,
            Kv kv,
            Locks locks,
            Timers timers,
            Queues queues,
            PayloadCipher cipher,
            Traffic traffic,
            BooleanSupplier databaseReady,
            Supplier<List<String>> overdue,
            String version) {
        this.push = new PushRoutes(push, traffic);
        this.pop = new PopRoutes(pop, cipher, config, traffic);
        this.ack = new AckRoutes(ack, traffic);
        this.lease = new LeaseRoutes(ack);
        this.fetch = new FetchRoutes(fetch, cipher);
        this.transactions = new TransactionRoutes(transact, kv.limits(), timers.config());
        this.kv = new KvRoutes(kv);
        this.locks = new LockRoutes(locks);
        this.kvList = new KvListRoutes(kv.reads());
        this.timers = new TimerRoutes(timers);
        this.queues = new QueueRoutes(queues);
        this.health = new HealthRoutes(databaseReady, overdue, version);
    }

    /** Adds the routes. */
    public void addTo(Router.Builder routes) {
        push.addTo(routes);
        pop.addTo(routes);
        ack.addTo(routes);
        lease.addTo(routes);
        fetch.addTo(routes);
        transactions.addTo(routes);
        kv.addTo(routes);
        kvList.addTo(routes);
        locks.addTo(routes);
        timers.addTo(routes);
        queues.addTo(routes);
        health.addTo(routes);
    }
}
