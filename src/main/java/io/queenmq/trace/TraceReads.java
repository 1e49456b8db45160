package io.queenmq.trace;

import io.helidon.dbclient.DbRow;
import io.queenmq.db.ColdQuery;
import io.queenmq.db.ColdReads;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.UUID;

/** Reads notes, on the connections of administrators. */
final class TraceReads {
    /** The client reads no arrays: names come as a text of JSON. */
    private static final String COLUMNS =
            "t.id, t.event_type, t.data, t.consumer_group, t.worker, t.created_at,"
                    + " array_to_json(t.names)::text as names, t.transaction_id, t.partition_id,"
                    + " t.queue, t.partition";

    /** Data and names of one answer. */
    private static final int BYTES_MAX = 8 << 20;

    private final ColdQuery<Trace> ofMessage;
    private final ColdQuery<Trace> named;
    private final ColdQuery<Long> count;
    private final ColdQuery<Row> names;

    private record Row(TraceNames.Name name, long total) {}

    TraceReads(ColdReads reads) {
        this.ofMessage =
                reads.query(
                        "list_traces",
                        "select "
                                + COLUMNS
                                + " from queen_store.list_traces(?::uuid, ?::bigint, ?::text, ?, ?,"
                                + " ?) t",
                        TraceReads::trace);
        this.named =
                reads.query(
                        "list_named_traces",
                        "select "
                                + COLUMNS
                                + " from queen_store.list_named_traces(?::uuid, ?::text, ?, ?, ?)"
                                + " t",
                        TraceReads::trace);
        this.count =
                reads.query(
                        "count_named_traces",
                        "select queen_store.count_named_traces(?::uuid, ?::text, ?) as total",
                        row -> row.column("total").getLong());
        this.names =
                reads.query(
                        "list_trace_names",
                        "select * from queen_store.list_trace_names(?::uuid, ?, ?, ?)",
                        row ->
                                new Row(
                                        new TraceNames.Name(
                                                row.column("name").getString(),
                                                row.column("traces").getLong(),
                                                row.column("messages").getLong(),
                                                at(row, "last_seen"),
                                                row.column("complete").getBoolean()),
                                        row.column("total").getLong()));
    }

    List<Trace> ofMessage(
            UUID tenant, long partitionNumber, String transactionId, int limit, int offset) {
        return ofMessage.ask(tenant, partitionNumber, transactionId, limit, offset, BYTES_MAX);
    }

    List<Trace> named(UUID tenant, String name, int limit, int offset) {
        return named.ask(tenant, name, limit, offset, BYTES_MAX);
    }

    long count(UUID tenant, String name, int max) {
        return count.ask(tenant, name, max).getFirst();
    }

    TraceNames names(UUID tenant, int limit, int offset, int max) {
        List<Row> rows = names.ask(tenant, limit, offset, max);
        long total = 0;
        if (!rows.isEmpty()) {
            total = rows.getFirst().total();
        } else if (offset > 0) {
            // Behind the end nothing says where that is.
            List<Row> first = names.ask(tenant, 1, 0, max);
            total = first.isEmpty() ? 0 : first.getFirst().total();
        }
        return new TraceNames(rows.stream().map(Row::name).toList(), total);
    }

    private static Trace trace(DbRow row) {
        return new Trace(
                row.column("id").get(UUID.class),
                row.column("event_type").getString(),
                row.column("data").as(String.class).orElse(null),
                row.column("consumer_group").getString(),
                row.column("worker").getString(),
                at(row, "created_at"),
                row.column("names").getString(),
                row.column("transaction_id").getString(),
                row.column("partition_id").getLong(),
                row.column("queue").getString(),
                row.column("partition").getString());
    }

    private static Instant at(DbRow row, String column) {
        return Objects.requireNonNull(ColdQuery.instant(row, column));
    }
}
