package io.queenmq.admin;

import io.queenmq.access.Level;
import io.queenmq.insight.ChangeReads;
import io.queenmq.runtime.Clock;
import io.queenmq.web.Exchange;
import io.queenmq.web.JsonBuffer;
import io.queenmq.web.Router;
import java.lang.System.Logger;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;

/** {@code POST /api/v1/partitions/changed}: for connectors that follow whole queues. */
final class ChangeRoutes {
    private static final Logger LOG = System.getLogger(ChangeRoutes.class.getName());

    /** From one line about what keeps connectors back to the next. */
    private static final Duration LOG_PAUSE = Duration.ofMinutes(1);

    private final ChangeReads reads;
    private final Clock clock;
    private final AtomicLong loggedNanos;

    ChangeRoutes(ChangeReads reads, Clock clock) {
        this.reads = reads;
        this.clock = clock;
        this.loggedNanos = new AtomicLong(clock.nanos() - LOG_PAUSE.toNanos());
    }

    void addTo(Router.Builder routes) {
        routes.route(Level.READ_ONLY, "POST", "/api/v1/partitions/changed", this::changed);
    }

    private void changed(Exchange exchange) {
        List<ChangeJson.Entry> entries = ChangeJson.read(exchange.body());
        // Before the partitions are read, or what is stored in between would be taken for seen.
        ChangeReads.SafeTime safe = reads.safeTime();
        watch(safe);
        JsonBuffer json = ChangeJson.begin(safe);
        for (ChangeJson.Entry entry : entries) {
            ChangeReads.Page page = entry.page();
            if (page == null) {
                ChangeJson.error(json, entry, "BAD_CURSOR");
                continue;
            }
            Optional<List<ChangeReads.Change>> changes =
                    reads.changes(exchange.caller().tenant(), page);
            if (changes.isPresent()) {
                ChangeJson.changes(json, entry, page, changes.get());
            } else {
                ChangeJson.error(json, entry, "UNKNOWN_TOPIC_OR_PARTITION");
            }
        }
        exchange.ok(json.raw("]}"));
    }

    /** Whoever keeps connectors back should be known by name before they are asked why. */
    private void watch(ChangeReads.SafeTime safe) {
        long last = loggedNanos.get();
        long now = clock.nanos();
        if (safe.heldBy() != null
                && now - last >= LOG_PAUSE.toNanos()
                && loggedNanos.compareAndSet(last, now)) {
            LOG.log(
                    Logger.Level.WARNING,
                    "an open transaction keeps connectors back behind_s=%d by=\"%s\""
                            .formatted(
                                    Duration.between(safe.at(), clock.now()).toSeconds(),
                                    safe.heldBy()));
        }
    }
}
