package io.queenmq.insight;

import io.queenmq.db.ColdQuery;
import io.queenmq.db.ColdReads;
import java.util.List;
import java.util.UUID;

/** What a tenant keeps of keys and timers, as last measured. Any thread. */
public final class FootprintReads {
    /** Nothing where it was not measured yet. */
    public record Footprint(long kvRows, long kvBytes, long timerRows, long timerBytes) {}

    private final ColdQuery<Footprint> footprint;

    public FootprintReads(ColdReads reads) {
        this.footprint =
                reads.query(
                        "kv_usage",
                        "select kv_rows, kv_bytes, timer_rows, timer_bytes"
                                + " from queen_store.kv_usage where tenant_id = ?::uuid",
                        row ->
                                new Footprint(
                                        row.column("kv_rows").getLong(),
                                        row.column("kv_bytes").getLong(),
                                        row.column("timer_rows").getLong(),
                                        row.column("timer_bytes").getLong()));
    }

    public Footprint of(UUID tenant) {
        List<Footprint> rows = footprint.ask(tenant);
        return rows.isEmpty() ? new Footprint(0, 0, 0, 0) : rows.getFirst();
    }
}
