package io.queenmq.queue;

import io.helidon.dbclient.DbRow;
import io.queenmq.db.ColdQuery;
import io.queenmq.db.ColdReads;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;

/** What a queue is set to, asked on the connections of administrators. Any thread. */
public final class QueueReads {
    /**
     * A queue.
     *
     * @param options every option by its name on the wire: a String, Integer or Boolean each
     */
    public record Described(int queueId, Instant createdAt, Map<String, Object> options) {}

    private final ColdQuery<Described> find;

    public QueueReads(ColdReads reads) {
        this.find =
                reads.query(
                        "find_queue",
                        "select * from queen_store.find_queue(?::uuid, ?::text)",
                        QueueReads::described);
    }

    public Optional<Described> find(UUID tenant, String queue) {
        return find.ask(tenant, queue).stream().findFirst();
    }

    private static Described described(DbRow row) {
        Map<String, Object> options = new LinkedHashMap<>();
        for (QueueOption option : QueueOption.values()) {
            options.put(
                    option.wireName(),
                    option.read(
                            column -> row.column(column).getString(),
                            column -> row.column(column).getBoolean(),
                            column -> row.column(column).getInt()));
        }
        return new Described(
                row.column("queue_id").getInt(),
                Objects.requireNonNull(ColdQuery.instant(row, "created_at")),
                options);
    }
}
