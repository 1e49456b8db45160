package io.queenmq.ack;

import io.helidon.dbclient.DbRow;
import io.queenmq.db.ColdQuery;
import io.queenmq.db.ColdReads;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Lists dead letters, on the connections of administrators. */
final class DeadLetterReads {
    /**
     * Rows that a page, or counting, looks at: the list of a broken consumer may be as long as its
     * queue, and a filter may let none of it through.
     */
    static final int LOOKED_AT_MAX = 100_000;

    /** The client sends every parameter as the nearest type it knows, so each is told its own. */
    private static final String FILTER =
            "(?::uuid, ?::text, ?::text, ?::text, ?::timestamptz, ?::timestamptz, ?::text";

    /**
     * @param capped whether there was more to look at
     */
    private record Count(long total, boolean capped) {}

    /**
     * A row of a page; all of them say the same about what comes next.
     *
     * @param letter null = the page is empty
     */
    private record Row(
            DeadLetterFilter.@Nullable Place next,
            int nextOffset,
            boolean complete,
            @Nullable DeadLetter letter) {}

    private final ColdQuery<Row> page;
    private final ColdQuery<Count> count;

    DeadLetterReads(ColdReads reads) {
        this.page =
                reads.query(
                        "find_dead_letters",
                        "select f.next_at, f.next_id, f.next_offset, f.complete, d.*"
                                + " from queen_store.find_dead_letters"
                                + FILTER
                                + ", ?::timestamptz, ?::bigint, ?, ?, ?) f left join lateral"
                                + " queen_store.read_dead_letters(f.ids) d on true"
                                + " order by d.failed_at desc, d.id desc",
                        DeadLetterReads::row);
        this.count =
                reads.query(
                        "count_dead_letters",
                        "select * from queen_store.count_dead_letters" + FILTER + ", ?)",
                        row ->
                                new Count(
                                        row.column("total").getLong(),
                                        row.column("capped").getBoolean()));
    }

    DeadLetterPage list(DeadLetterFilter filter) {
        DeadLetterFilter.Place before = filter.before();
        OffsetDateTime from = time(filter.from());
        OffsetDateTime to = time(filter.to());
        Count counted =
                count.ask(
                                filter.tenant(),
                                filter.queue(),
                                filter.group(),
                                filter.partition(),
                                from,
                                to,
                                filter.search(),
                                LOOKED_AT_MAX)
                        .getFirst();
        List<Row> rows =
                page.ask(
                        filter.tenant(),
                        filter.queue(),
                        filter.group(),
                        filter.partition(),
                        from,
                        to,
                        filter.search(),
                        before == null ? null : time(before.failedAt()),
                        before == null ? null : before.id(),
                        filter.limit(),
                        filter.offset(),
                        LOOKED_AT_MAX);
        List<DeadLetter> letters = rows.stream().map(Row::letter).filter(Objects::nonNull).toList();
        Row first = rows.getFirst();
        return new DeadLetterPage(
                letters,
                first.next(),
                first.nextOffset(),
                first.complete(),
                Math.max(counted.total(), letters.size()),
                counted.capped());
    }

    private static @Nullable OffsetDateTime time(@Nullable Instant instant) {
        return instant == null ? null : instant.atOffset(ZoneOffset.UTC);
    }

    private static Row row(DbRow row) {
        Instant nextAt = ColdQuery.instant(row, "next_at");
        Instant failedAt = ColdQuery.instant(row, "failed_at");
        return new Row(
                nextAt == null
                        ? null
                        : new DeadLetterFilter.Place(nextAt, row.column("next_id").getLong()),
                nextAt == null ? 0 : row.column("next_offset").getInt(),
                row.column("complete").getBoolean(),
                failedAt == null ? null : letter(row, failedAt));
    }

    private static DeadLetter letter(DbRow row, Instant failedAt) {
        return new DeadLetter(
                row.column("id").getLong(),
                row.column("queue").getString(),
                row.column("partition_id").getLong(),
                orNull(row, "partition", String.class),
                row.column("consumer_group").getString(),
                row.column("offset").getLong(),
                row.column("message_id").get(UUID.class),
                row.column("transaction_id").getString(),
                orNull(row, "payload", byte[].class),
                row.column("omitted").getBoolean(),
                row.column("flags").getInt(),
                orNull(row, "trace_id", UUID.class),
                orNull(row, "producer", String.class),
                ColdQuery.instant(row, "created_at"),
                row.column("error").getString(),
                row.column("retry_count").getInt(),
                failedAt);
    }

    private static <T> @Nullable T orNull(DbRow row, String column, Class<T> type) {
        return row.column(column).as(type).orElse(null);
    }
}
