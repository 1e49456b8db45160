package io.queenmq.admin;

import io.queenmq.access.Access;
import io.queenmq.ack.DeadLetters;
import io.queenmq.cipher.PayloadCipher;
import io.queenmq.db.ColdReads;
import io.queenmq.gate.Quotas;
import io.queenmq.gate.Switches;
import io.queenmq.group.GroupPositions;
import io.queenmq.insight.AnalyticsReads;
import io.queenmq.insight.ChangeReads;
import io.queenmq.insight.DeadLetterDepthReads;
import io.queenmq.insight.FootprintReads;
import io.queenmq.insight.GroupReads;
import io.queenmq.insight.LaneReads;
import io.queenmq.insight.MessageReads;
import io.queenmq.insight.QueueListReads;
import io.queenmq.insight.StatusReads;
import io.queenmq.insight.StorageReads;
import io.queenmq.insight.SystemReads;
import io.queenmq.insight.TrafficReads;
import io.queenmq.maintain.OnCall;
import io.queenmq.metrics.Metrics;
import io.queenmq.metrics.Traffic;
import io.queenmq.queue.QueueReads;
import io.queenmq.ready.ReadyLanes;
import io.queenmq.runtime.Clock;
import io.queenmq.trace.Traces;
import io.queenmq.web.Router;
import java.util.function.BooleanSupplier;

/** The routes of management. Any thread. */
public final class AdminPlane {
    private final GroupRoutes groups;
    private final DeadLetterRoutes deadLetters;
    private final MetricsRoutes metrics;
    private final ResourceRoutes resources;
    private final MessageRoutes messages;
    private final TraceRoutes traces;
    private final ChangeRoutes changes;
    private final SwitchRoutes switches;
    private final QuotaRoutes quotas;
    private final MaintenanceRoutes maintenance;
    private final StatusRoutes status;
    private final AnalyticsRoutes analytics;
    private final SystemRoutes system;
    private final StorageRoutes storage;
    private final IdentityRoutes identity;

    /**
     * @param serverId the name of this broker
     * @param reads where what changes nothing is asked
     * @param traffic what is asked of the other routes
     * @param databaseTakesWrites whether a push would be stored now
     */
    public AdminPlane(
            String serverId,
            GroupPositions groups,
            DeadLetters deadLetters,
            Traces traces,
            Switches switches,
            Quotas quotas,
            OnCall onCall,
            ReadyLanes ready,
            PayloadCipher cipher,
            ColdReads reads,
            Access access,
            Traffic traffic,
            BooleanSupplier databaseTakesWrites,
            Metrics metrics,
            Clock clock) {
        this.groups = new GroupRoutes(groups, new GroupReads(reads), clock);
        this.deadLetters = new DeadLetterRoutes(deadLetters, cipher);
        this.metrics =
                new MetricsRoutes(
                        metrics,
                        traffic,
                        new DeadLetterDepthReads(reads, clock),
                        new ClusterMetrics(new TrafficReads(reads, clock)),
                        new StorageMetrics(new StorageReads(reads, clock)),
                        clock);
        this.switches = new SwitchRoutes(switches, quotas);
        this.quotas = new QuotaRoutes(quotas);
        this.maintenance = new MaintenanceRoutes(switches, databaseTakesWrites, metrics);
        this.status = new StatusRoutes(new StatusReads(reads), databaseTakesWrites, clock);
        this.analytics = new AnalyticsRoutes(new AnalyticsReads(reads), clock);
        this.identity = new IdentityRoutes(access, serverId);
        this.traces = new TraceRoutes(traces);
        this.changes = new ChangeRoutes(new ChangeReads(reads), clock);
        QueueReads queues = new QueueReads(reads);
        SystemReads ofSystem = new SystemReads(reads);
        this.system =
                new SystemRoutes(serverId, ofSystem, onCall, queues, ready, switches, metrics);
        this.storage = new StorageRoutes(ofSystem, onCall, clock);
        this.messages = new MessageRoutes(new MessageReads(reads), queues, cipher, clock);
        this.resources =
                new ResourceRoutes(
                        queues,
                        new QueueListReads(reads),
                        new LaneReads(reads),
                        new FootprintReads(reads),
                        clock);
    }

    /** Adds the routes. */
    public void addTo(Router.Builder routes) {
        groups.addTo(routes);
        deadLetters.addTo(routes);
        metrics.addTo(routes);
        resources.addTo(routes);
        messages.addTo(routes);
        traces.addTo(routes);
        changes.addTo(routes);
        switches.addTo(routes);
        quotas.addTo(routes);
        maintenance.addTo(routes);
        EphemeralRoutes.addTo(routes);
        status.addTo(routes);
        analytics.addTo(routes);
        system.addTo(routes);
        storage.addTo(routes);
        identity.addTo(routes);
    }
}
