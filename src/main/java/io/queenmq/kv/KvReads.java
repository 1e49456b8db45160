package io.queenmq.kv;

import io.helidon.dbclient.DbRow;
import io.queenmq.db.ColdQuery;
import io.queenmq.db.ColdReads;
import io.queenmq.model.QueenException;
import io.queenmq.model.Slice;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** What administrators see of keys, on connections of their own. Any thread. */
public final class KvReads {
    /** How many namespaces are told of, and how many keys of all of them are counted. */
    private static final int NAMESPACES_MAX = 10_000;

    private static final long COUNTED_MAX = 1_000_000;

    /**
     * A namespace and how many keys it has, expired ones included, deleted ones not.
     *
     * @param capped whether it has more
     */
    public record Namespace(String name, long keys, boolean capped) {}

    /**
     * Which keys to show.
     *
     * @param after the page begins behind this key; null = at the first one
     * @param limit is clamped
     */
    public record Filter(
            String namespace,
            String prefix,
            @Nullable String after,
            int limit,
            boolean keysOnly,
            boolean withExpired) {}

    /** A key as the console shows it. */
    public record Shown(KvResult.Row row, boolean expired) {}

    /**
     * A page of keys.
     *
     * @param nextAfter key behind which the next page begins; null = there are no further ones
     * @param bytes of keys and values on the page
     */
    public record Listing(List<Shown> rows, @Nullable String nextAfter, long bytes) {}

    /**
     * A row of the database.
     *
     * @param found how many there are for the page, those included that it has no room for
     * @param shown null = it only tells how far was read
     */
    private record Listed(String key, int bytes, int found, @Nullable Shown shown) {}

    private final KvConfig config;
    private final ColdQuery<Namespace> namespaces;
    private final ColdQuery<Listed> page;

    KvReads(ColdReads reads, KvConfig config) {
        this.config = config;
        this.namespaces =
                reads.query(
                        "list_namespaces",
                        "select namespace, keys, capped"
                                + " from queen_store.list_namespaces(?::uuid, ?, ?)",
                        row ->
                                new Namespace(
                                        row.column("namespace").getString(),
                                        row.column("keys").getLong(),
                                        row.column("capped").getBoolean()));
        this.page =
                reads.query(
                        "list_kv",
                        "select l.*, coalesce(l.expires_at <= l.instant, false) as expired"
                                + " from (select l.*, i.instant, (count(*) over ())::integer as found,"
                                + " sum(l.bytes) over (order by l.place) - l.bytes as before"
                                + " from (select clock_timestamp() as instant) i"
                                + " cross join lateral queen_store.list_kv(?::uuid, ?::text,"
                                + " ?::text, ?::text, ?, ?::boolean, ?::boolean, i.instant) l) l"
                                + " where l.before < ?::bigint order by l.place",
                        KvReads::listed);
    }

    /** The namespaces of a tenant, in byte order. */
    public List<Namespace> namespaces(UUID tenant) {
        return namespaces.ask(tenant, NAMESPACES_MAX, COUNTED_MAX);
    }

    /**
     * A page of keys, in byte order.
     *
     * @throws QueenException bad request
     */
    public Listing list(UUID tenant, Filter filter) {
        KvRules.namespace(filter.namespace());
        KvRules.storable("prefix", filter.prefix());
        if (filter.after() != null) {
            KvRules.storable("after", filter.after());
        }
        int limit = Math.clamp(filter.limit(), 1, config.prefixLimitMax());
        List<Listed> rows =
                page.ask(
                        tenant,
                        filter.namespace(),
                        filter.prefix(),
                        filter.after(),
                        limit + 1,
                        filter.keysOnly(),
                        filter.withExpired(),
                        config.readBytesMax());
        List<Listed> onPage = rows.stream().limit(limit).toList();
        List<Shown> shown = new ArrayList<>(onPage.size());
        for (Listed listed : onPage) {
            if (listed.shown() != null) {
                shown.add(listed.shown());
            }
        }
        return new Listing(
                shown, nextAfter(onPage), onPage.stream().mapToLong(Listed::bytes).sum());
    }

    private static @Nullable String nextAfter(List<Listed> page) {
        if (page.isEmpty()) {
            return null;
        }
        Listed last = page.getLast();
        return last.shown() == null || last.found() > page.size() ? last.key() : null;
    }

    private static Listed listed(DbRow row) {
        return new Listed(
                row.column("key").getString(),
                row.column("bytes").getInt(),
                row.column("found").getInt(),
                shown(row));
    }

    private static @Nullable Shown shown(DbRow row) {
        Instant updatedAt = ColdQuery.instant(row, "updated_at");
        if (updatedAt == null) {
            return null;
        }
        String value = row.column("value").as(String.class).orElse(null);
        return new Shown(
                new KvResult.Row(
                        row.column("key").getString(),
                        value == null ? null : Slice.utf8(value),
                        row.column("version").getLong(),
                        ColdQuery.instant(row, "expires_at"),
                        updatedAt),
                row.column("expired").getBoolean());
    }
}
