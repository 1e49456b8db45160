package io.queenmq.kv;

import io.helidon.dbclient.DbRow;
import io.queenmq.db.ColdQuery;
import io.queenmq.db.ColdReads;
import io.queenmq.model.QueenException;
import io.queenmq.model.Slice;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** What administrators see of keys, on connections of their own. Any thread. */
public final class KvReads {
    /** A namespace and how many keys it has, expired ones included, deleted ones not. */
    public record Namespace(String name, long keys) {}

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
     * @param truncated whether there are further ones
     * @param bytes of keys and values on the page
     */
    public record Listing(List<Shown> rows, boolean truncated, long bytes) {}

    /**
     * A row of the database.
     *
     * @param found how many there are for the page, those included that it has no room for
     */
    private record Listed(int bytes, int found, Shown shown) {}

    private final KvConfig config;
    private final ColdQuery<Namespace> namespaces;
    private final ColdQuery<Listed> page;

    KvReads(ColdReads reads, KvConfig config) {
        this.config = config;
        this.namespaces =
                reads.query(
                        "kv_namespaces",
                        "select namespace, count(*) as keys from queen_store.kv"
                                + " where tenant_id = ?::uuid"
                                + " and expires_at is distinct from '-infinity'"
                                + " group by namespace order by namespace",
                        row ->
                                new Namespace(
                                        row.column("namespace").getString(),
                                        row.column("keys").getLong()));
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

    /** All namespaces of a tenant, in byte order. */
    public List<Namespace> namespaces(UUID tenant) {
        return namespaces.ask(tenant);
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
        List<Shown> shown = rows.stream().limit(limit).map(Listed::shown).toList();
        return new Listing(
                shown,
                !rows.isEmpty() && rows.getFirst().found() > shown.size(),
                rows.stream().limit(limit).mapToLong(Listed::bytes).sum());
    }

    private static Listed listed(DbRow row) {
        Instant updatedAt = Objects.requireNonNull(ColdQuery.instant(row, "updated_at"));
        String value = row.column("value").as(String.class).orElse(null);
        return new Listed(
                row.column("bytes").getInt(),
                row.column("found").getInt(),
                new Shown(
                        new KvResult.Row(
                                row.column("key").getString(),
                                value == null ? null : Slice.utf8(value),
                                row.column("version").getLong(),
                                ColdQuery.instant(row, "expires_at"),
                                updatedAt),
                        row.column("expired").getBoolean()));
    }
}
