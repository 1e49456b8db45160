package io.queenmq.insight;

import io.queenmq.db.ColdQuery;
import io.queenmq.db.ColdReads;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Which partitions were written, for those who follow a queue. Any thread. */
public final class ChangeReads {
    /** Partitions of one page. */
    public static final int PAGE_MAX = 1_000;

    /**
     * Before this nothing is stored any more.
     *
     * @param degraded whether the server hides since when transactions are open
     * @param heldBy transaction that has kept it back for over a minute; null = there is none
     */
    public record SafeTime(Instant at, boolean degraded, @Nullable String heldBy) {}

    /**
     * Which page.
     *
     * @param since null = all partitions, by name; else those written since, by time and name
     * @param afterAt of the last row of the page before; null = by name, or the first page
     * @param afterName null = the first page
     */
    public record Page(
            String queue,
            @Nullable Instant since,
            @Nullable Instant afterAt,
            @Nullable String afterName,
            int limit) {}

    /** A partition and its bounds. */
    public record Change(String partition, long lastOffset, long logStart, Instant lastWriteAt) {}

    private final ColdQuery<SafeTime> safeTime;
    private final ColdQuery<Optional<Change>> changes;

    public ChangeReads(ColdReads reads) {
        this.safeTime =
                reads.query(
                        "safe_time",
                        "select * from queen_store.safe_time()",
                        row ->
                                new SafeTime(
                                        Objects.requireNonNull(ColdQuery.instant(row, "safe_at")),
                                        row.column("degraded").getBoolean(),
                                        row.column("held_by").as(String.class).orElse(null)));
        this.changes =
                reads.query(
                        "list_changes",
                        "select * from queen_store.list_changes(?::uuid, ?::text, ?::timestamptz,"
                                + " ?::timestamptz, ?::text, ?)",
                        row ->
                                row.column("partition")
                                        .as(String.class)
                                        .map(
                                                partition ->
                                                        new Change(
                                                                partition,
                                                                row.column("last_offset").getLong(),
                                                                row.column("log_start").getLong(),
                                                                Objects.requireNonNull(
                                                                        ColdQuery.instant(
                                                                                row,
                                                                                "last_write_at")))));
    }

    /** To be asked before the pages are. */
    public SafeTime safeTime() {
        return safeTime.ask().getFirst();
    }

    /** Partitions of a page, as they are now; empty = there is no such queue. */
    public Optional<List<Change>> changes(UUID tenant, Page page) {
        // An answer begun before the safe time was would lack what that takes for seen.
        List<Optional<Change>> rows =
                changes.askAnew(
                        tenant,
                        page.queue(),
                        time(page.since()),
                        time(page.afterAt()),
                        page.afterName(),
                        page.limit());
        return rows.isEmpty()
                ? Optional.empty()
                : Optional.of(rows.stream().flatMap(Optional::stream).toList());
    }

    private static @Nullable Object time(@Nullable Instant instant) {
        return instant == null ? null : instant.atOffset(ZoneOffset.UTC);
    }
}
