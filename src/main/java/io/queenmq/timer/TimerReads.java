package io.queenmq.timer;

import io.queenmq.db.ColdQuery;
import io.queenmq.db.ColdReads;
import java.util.UUID;

/** What has no bound is asked on connections of its own. Any thread. */
final class TimerReads {
    private final ColdQuery<Long> counted;

    TimerReads(ColdReads reads) {
        counted =
                reads.query(
                        "count_timers",
                        "select queen_store.count_timers(?::uuid, ?::text, ?::text) as timers",
                        row -> row.column("timers").getLong());
    }

    long count(UUID tenant, String queue, String prefix) {
        return counted.ask(tenant, queue, prefix).getFirst();
    }
}
