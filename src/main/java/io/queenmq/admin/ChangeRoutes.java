package io.queenmq.admin;

import io.queenmq.access.Level;
import io.queenmq.insight.ChangeReads;
import io.queenmq.web.Exchange;
import io.queenmq.web.JsonBuffer;
import io.queenmq.web.Router;
import java.util.List;
import java.util.Optional;

/** {@code POST /api/v1/partitions/changed}: for connectors that follow whole queues. */
final class ChangeRoutes {
    private final ChangeReads reads;

    ChangeRoutes(ChangeReads reads) {
        this.reads = reads;
    }

    void addTo(Router.Builder routes) {
        routes.route(Level.READ_ONLY, "POST", "/api/v1/partitions/changed", this::changed);
    }

    private void changed(Exchange exchange) {
        List<ChangeJson.Entry> entries = ChangeJson.read(exchange.body());
        // Before the partitions are read, or what is stored in between would be taken for seen.
        JsonBuffer json = ChangeJson.begin(reads.safeTime());
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
}
