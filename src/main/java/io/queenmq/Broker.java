package io.queenmq;

import io.queenmq.access.Access;
import io.queenmq.ack.Ack;
import io.queenmq.ack.DeadLetters;
import io.queenmq.ack.Deliveries;
import io.queenmq.admin.AdminPlane;
import io.queenmq.cipher.PayloadCipher;
import io.queenmq.count.Counts;
import io.queenmq.count.Rates;
import io.queenmq.count.Reports;
import io.queenmq.db.ColdReads;
import io.queenmq.db.Database;
import io.queenmq.db.DatabaseConfig;
import io.queenmq.db.Health;
import io.queenmq.db.Migrations;
import io.queenmq.dedup.KeyMemory;
import io.queenmq.embedded.EmbeddedPostgres;
import io.queenmq.fetch.Fetch;
import io.queenmq.gate.Quotas;
import io.queenmq.gate.Switch;
import io.queenmq.gate.Switches;
import io.queenmq.group.GroupPositions;
import io.queenmq.group.Groups;
import io.queenmq.hint.HintOutbox;
import io.queenmq.http.DataPlane;
import io.queenmq.kv.Kv;
import io.queenmq.kv.Locks;
import io.queenmq.maintain.Maintain;
import io.queenmq.maintain.OnCall;
import io.queenmq.metrics.Metrics;
import io.queenmq.metrics.Traffic;
import io.queenmq.model.UuidMint;
import io.queenmq.notify.NotifyCarrier;
import io.queenmq.openapi.OpenApi;
import io.queenmq.pop.Pop;
import io.queenmq.push.Push;
import io.queenmq.queue.QueueCatalog;
import io.queenmq.queue.Queues;
import io.queenmq.ready.HintedLanes;
import io.queenmq.ready.LaneNames;
import io.queenmq.ready.ReadyLanes;
import io.queenmq.runtime.Clock;
import io.queenmq.runtime.Loop;
import io.queenmq.runtime.Overdue;
import io.queenmq.runtime.Parts;
import io.queenmq.runtime.StartRefused;
import io.queenmq.runtime.Version;
import io.queenmq.timer.TimerAlarm;
import io.queenmq.timer.Timers;
import io.queenmq.trace.Traces;
import io.queenmq.transact.Transact;
import io.queenmq.web.Listener;
import io.queenmq.web.Router;
import io.queenmq.web.WebConfig;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * A broker: its constructor is the wiring diagram. Parts start in its order and stop in reverse.
 * Made, started and closed by one thread.
 */
public final class Broker implements AutoCloseable {
    private static final Duration STOP_PATIENCE = Duration.ofSeconds(10);

    private static final Duration HINT_BRIDGE_PAUSE = Duration.ofSeconds(1);

    private final Parts parts = new Parts();
    private final Metrics metrics;
    private final Optional<EmbeddedPostgres> embedded;
    private final DatabaseConfig databaseConfig;
    private final Pop pop;
    private final WebConfig web;
    private final List<Router.Route> served;
    private final Listener listener;
    private volatile int port;

    /**
     * Brings the database up and into shape, and starts everything but the HTTP server.
     *
     * @throws StartRefused with a sentence for the operator
     */
    public Broker(BrokerConfig config) {
        boolean complete = false;
        try {
            Clock clock = Clock.SYSTEM;
            metrics = parts.own("metrics", new Metrics());
            UuidMint mint = new UuidMint(() -> clock.now().toEpochMilli());

            embedded =
                    config.embedded()
                            .map(
                                    folder ->
                                            parts.own(
                                                    "embedded",
                                                    EmbeddedPostgres.start(
                                                            folder, metrics, clock)));
            databaseConfig =
                    embedded.map(server -> onEmbedded(config.database(), server))
                            .orElse(config.database());
            new Migrations(databaseConfig, clock).apply();
            Database database = parts.own("db", new Database(databaseConfig, metrics, clock));
            ColdReads coldReads =
                    parts.own("cold-reads", new ColdReads(databaseConfig, metrics, clock));
            Health health = parts.own("health", new Health(databaseConfig, clock));

            Counts counts =
                    parts.own(
                            "count",
                            new Counts(
                                    config.maintain().statistics().interval(),
                                    database,
                                    metrics,
                                    clock));

            parts.own(
                    "report",
                    new Reports(config.report(), counts, database, this::port, metrics, clock));
            parts.own("rates", new Rates(config.report(), counts.activities(), metrics, clock));

            HintOutbox outbox = new HintOutbox();
            Switches switches = parts.own("gate", new Switches(database, outbox, metrics, clock));
            Quotas quotas =
                    parts.own(
                            "quotas",
                            new Quotas(
                                    config.kv().quotas(),
                                    config.kv().rates(),
                                    database,
                                    metrics,
                                    clock));
            TimerAlarm alarm = new TimerAlarm(outbox, clock);
            ReadyLanes ready =
                    parts.own(
                            "ready",
                            new ReadyLanes(config.ready(), database, outbox, metrics, clock));
            QueueCatalog catalog = new QueueCatalog(config.queue(), database, clock);
            PayloadCipher cipher = new PayloadCipher(config.cipher(), metrics);
            Queues queues = new Queues(config.queue(), database, catalog, cipher.hasKey());
            catalog.start();
            parts.own("queue", () -> catalog.stop(STOP_PATIENCE));

            Groups groups = new Groups(config.group(), database, clock);
            LaneNames names = new LaneNames(database);
            catalog.onChange(groups::queueChanged);
            catalog.onChange(names::queueChanged);
            catalog.onChange(ready::queueChanged);
            HintedLanes hinted =
                    new HintedLanes(
                            ready,
                            database,
                            // Not what announces a change: two brokers would go on for ever.
                            queueId -> {
                                catalog.forget(queueId);
                                groups.queueChanged(queueId);
                                names.queueChanged(queueId);
                            },
                            () -> {
                                catalog.forgetAll();
                                groups.everythingChanged();
                                names.everythingChanged();
                                switches.changed();
                                alarm.look();
                            },
                            alarm::heard);
            NotifyCarrier carrier =
                    parts.own(
                            "notify", new NotifyCarrier(database, outbox, hinted, metrics, clock));
            carrier.start();
            parts.own(
                    "hint-bridge",
                    Loop.start(
                            "hint-bridge",
                            HINT_BRIDGE_PAUSE,
                            () -> hinted.bridge(carrier::isListening),
                            metrics,
                            clock));

            KeyMemory memory = new KeyMemory(config.dedup(), clock);
            Push push =
                    new Push(
                            config.push(),
                            database,
                            catalog,
                            memory,
                            counts,
                            ready,
                            cipher,
                            () -> {
                                catalog.serverChanged();
                                names.serverChanged();
                                hinted.everythingChanged();
                            },
                            mint,
                            metrics,
                            clock);
            push.start();
            parts.own("push", () -> push.stop(STOP_PATIENCE));

            Deliveries deliveries = new Deliveries(config.ack(), clock);
            pop =
                    parts.own(
                            "pop",
                            new Pop(
                                    config.pop(),
                                    database,
                                    counts,
                                    groups,
                                    ready,
                                    names,
                                    deliveries,
                                    mint,
                                    () -> !switches.isOn(Switch.POP),
                                    metrics,
                                    clock));
            pop.start();
            Ack ack =
                    parts.own(
                            "ack",
                            new Ack(
                                    config.ack(),
                                    database,
                                    counts,
                                    ready,
                                    deliveries,
                                    metrics,
                                    clock));
            ack.start();
            Kv kv = new Kv(config.kv(), database, coldReads, switches, quotas, metrics, clock);

            Timers timers =
                    parts.own(
                            "timer",
                            new Timers(
                                    config.timers(),
                                    database,
                                    coldReads,
                                    catalog,
                                    ready,
                                    counts,
                                    cipher,
                                    alarm,
                                    carrier::isListening,
                                    switches,
                                    quotas,
                                    mint,
                                    metrics,
                                    clock));
            timers.start();
            Transact transact =
                    new Transact(
                            config.transact(),
                            database,
                            push,
                            ack,
                            kv,
                            timers,
                            mint,
                            metrics,
                            clock);

            parts.own(
                    "maintain",
                    new Maintain(
                            config.maintain(), database, catalog::queueChanged, metrics, clock));

            Access access = parts.own("access", Access.of(config.access(), metrics, clock));
            Traffic traffic = new Traffic(metrics);
            Router.Builder routes = Router.builder();
            new DataPlane(
                            config.http(),
                            push,
                            pop,
                            ack,
                            new Fetch(database, ready, clock),
                            transact,
                            kv,
                            new Locks(kv, clock),
                            timers,
                            queues,
                            cipher,
                            traffic,
                            health::databaseTakesWrites,
                            () -> Overdue.names(metrics),
                            Version.current())
                    .addTo(routes);
            new AdminPlane(
                            config.report().broker(),
                            new GroupPositions(database, groups, ready),
                            new DeadLetters(database, coldReads, ready, cipher, clock),
                            new Traces(config.report().broker(), database, coldReads, mint),
                            switches,
                            quotas,
                            new OnCall(
                                    database,
                                    config.maintain(),
                                    catalog::queueChanged,
                                    counts::tellNow,
                                    metrics,
                                    clock),
                            ready,
                            cipher,
                            coldReads,
                            access,
                            traffic,
                            health::databaseTakesWrites,
                            metrics,
                            clock)
                    .addTo(routes);
            new OpenApi(this::routes, Version.current()).addTo(routes);
            web = config.web();
            Router router = routes.build();
            served = router.routes();
            listener = new Listener(web, router, access, clock, metrics);
            complete = true;
        } finally {
            if (!complete) {
                parts.close();
            }
        }
    }

    private static DatabaseConfig onEmbedded(DatabaseConfig bounds, EmbeddedPostgres server) {
        return bounds.at(
                server.host(), server.port(), server.database(), server.user(), server.password());
    }

    /**
     * Begins to serve.
     *
     * @throws StartRefused the port cannot be had; every part has been stopped
     */
    public void start() {
        port = listener.start();
        if (port < 0) {
            // The server has logged the reason and swallowed it.
            parts.close();
            throw new StartRefused(
                    "cannot listen on %s:%d: is the port in use? PORT chooses another"
                            .formatted(web.host(), web.port()));
        }
        parts.own("web", this::stopServing);
    }

    /** Where the HTTP API listens. */
    public int port() {
        return port;
    }

    /** What can be asked of it over HTTP, and by whom. */
    public List<Router.Route> routes() {
        return served;
    }

    /** Where the data is. */
    public DatabaseConfig database() {
        return databaseConfig;
    }

    /** What it counts. */
    public Metrics metrics() {
        return metrics;
    }

    /** The server of our own, if there is one. */
    public Optional<EmbeddedPostgres> embedded() {
        return embedded;
    }

    /** Answers what is in flight, lets parked polls go, then stops every part. */
    @Override
    public void close() {
        parts.close();
    }

    /**
     * Readiness first, so that a balancer looks elsewhere; a parked poll would hold the rest up.
     */
    private void stopServing() {
        listener.drain();
        pop.wakeAll();
        listener.stop();
    }
}
