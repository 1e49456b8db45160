package io.queenmq.insight;

import io.helidon.dbclient.DbRow;
import io.queenmq.db.ColdQuery;
import io.queenmq.db.ColdReads;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Messages as they are stored, without consuming them. Any thread. */
public final class MessageReads {
    /** Messages of one page. */
    public static final int PAGE_MAX = 1_000;

    /** Bytes of payload of one page: what is beyond is left out. */
    private static final int PAGE_BYTES_MAX = 8 << 20;

    /** Messages of one answer that are looked at for those of a status. */
    private static final int LOOKED_AT_MAX = 10_000;

    /** Groups that are told of one message. */
    private static final int GROUPS_MAX = 1_000;

    /** The place of a message in a list. */
    public record Place(Instant createdAt, long partitionNumber, long offset) {}

    /**
     * Which messages.
     *
     * @param queue null = any; so for the other filters
     * @param transactionId the whole of it
     * @param status dead_letter, completed, processing or pending
     * @param from inclusive
     * @param to exclusive
     * @param behind where the page begins; null = at the newest
     */
    public record Filter(
            UUID tenant,
            @Nullable String queue,
            @Nullable String partition,
            @Nullable String namespace,
            @Nullable String task,
            @Nullable String transactionId,
            @Nullable String status,
            Instant from,
            Instant to,
            @Nullable Place behind,
            int limit) {}

    /**
     * A message.
     *
     * @param baseOffset first offset of its segment
     * @param transactionId null where the text went with its expired payload
     * @param payload null = expired, or omitted
     * @param omitted whether the payload is left out for want of room
     * @param status dead_letter, completed, processing or pending
     * @param queueStatus that of pops without a group; null = there are none
     * @param groupsPassed of the named groups
     */
    public record Message(
            long partitionNumber,
            String queue,
            String partition,
            String namespace,
            String task,
            long offset,
            long baseOffset,
            Instant createdAt,
            UUID id,
            @Nullable String transactionId,
            byte[] key,
            int flags,
            @Nullable UUID traceId,
            @Nullable String producer,
            byte @Nullable [] payload,
            boolean omitted,
            String status,
            @Nullable String queueStatus,
            @Nullable Instant leaseExpiresAt,
            int groupsPassed,
            int groupsTotal) {
        Place place() {
            return new Place(createdAt, partitionNumber, offset);
        }
    }

    /**
     * Who consumes what was looked at.
     *
     * @param unnamed whether pops without a group do
     * @param named how many named groups there are
     */
    public record Kinds(boolean unnamed, int named) {
        private static final Kinds NONE = new Kinds(false, 0);

        private Kinds and(Message message) {
            return new Kinds(
                    unnamed || message.queueStatus() != null,
                    Math.max(named, message.groupsTotal()));
        }
    }

    /**
     * Part of a list.
     *
     * @param next behind which the next page begins; null = there is none
     * @param complete whether all was looked at that may belong here
     */
    public record Page(
            List<Message> messages, Kinds kinds, @Nullable Place next, boolean complete) {}

    /**
     * One message.
     *
     * @param message null = there is none from {@code searchedFrom} on
     * @param complete whether all that is kept was looked at
     * @param occurrences 2 = there are older ones of the same transactionId
     */
    public record Found(
            @Nullable Message message, long searchedFrom, boolean complete, int occurrences) {}

    /**
     * A group and what it has to do with a message.
     *
     * @param error why it gave the message up; null = it did not
     */
    public record Group(
            String name,
            boolean consumed,
            @Nullable Instant leaseExpiresAt,
            @Nullable String error,
            int retryCount) {}

    private record Row(@Nullable Place next, boolean complete, @Nullable Message message) {}

    private final ColdQuery<Row> page;
    private final ColdQuery<Kinds> kinds;
    private final ColdQuery<Found> one;
    private final ColdQuery<Group> groups;

    public MessageReads(ColdReads reads) {
        this.page =
                reads.query(
                        "find_messages",
                        "select f.next_at, f.next_partition_id, f.next_offset, f.complete, m.*"
                                + " from queen_store.find_messages(?::uuid, ?::text, ?::text,"
                                + " ?::text, ?::text, queen_store.key_of(?::text),"
                                + " ?::timestamptz, ?::timestamptz, ?::timestamptz, ?::bigint,"
                                + " ?::bigint, ?) f left join lateral queen_store.read_messages("
                                + "f.partition_ids, f.base_offsets, f.offsets, ?) m on true",
                        MessageReads::row);
        this.kinds =
                reads.query(
                        "group_kinds",
                        "select * from queen_store.group_kinds(?::uuid, ?::text)",
                        row ->
                                new Kinds(
                                        row.column("unnamed").getBoolean(),
                                        row.column("named").getInt()));
        this.one =
                reads.query(
                        "find_message",
                        "select f.searched_from, f.complete, f.occurrences, m.*"
                                + " from (select ?::bigint as lane) i cross join lateral"
                                + " queen_store.find_message(?::uuid, i.lane, ?::text, ?::bigint)"
                                + " f left join lateral queen_store.read_messages(array[i.lane],"
                                + " array[f.base_offset], array[f.\"offset\"], 2147483647) m"
                                + " on f.\"offset\" is not null",
                        row ->
                                new Found(
                                        message(row),
                                        row.column("searched_from").getLong(),
                                        row.column("complete").getBoolean(),
                                        row.column("occurrences").getInt()));
        this.groups =
                reads.query(
                        "message_groups",
                        "select * from queen_store.message_groups(?::bigint, ?::bigint,"
                                + " decode(?::text, 'hex'), ?)",
                        row ->
                                new Group(
                                        row.column("consumer_group").getString(),
                                        row.column("consumed").getBoolean(),
                                        ColdQuery.instant(row, "lease_expires_at"),
                                        orNull(row, "error", String.class),
                                        row.column("retry_count").as(Integer.class).orElse(0)));
    }

    /** Messages, the newest first. */
    public Page list(Filter filter) {
        String status = filter.status();
        Page found =
                status == null
                        ? page(filter, filter.behind(), filter.limit(), PAGE_BYTES_MAX)
                        : ofStatus(filter, status);
        String queue = filter.queue();
        return found.kinds().equals(Kinds.NONE) && queue != null
                ? new Page(
                        found.messages(),
                        kinds.ask(filter.tenant(), queue).getFirst(),
                        found.next(),
                        found.complete())
                : found;
    }

    /** A page of hits: looks on, page by page, until it is full or enough was looked at. */
    private Page ofStatus(Filter filter, String status) {
        List<Message> hits = new ArrayList<>();
        Kinds seen = Kinds.NONE;
        Place behind = filter.behind();
        boolean complete = true;
        int limit = filter.limit();
        int bytes = PAGE_BYTES_MAX;
        int lookedAt = 0;
        while (lookedAt < LOOKED_AT_MAX) {
            Page page = page(filter, behind, limit, bytes);
            complete &= page.complete();
            for (Message message : page.messages()) {
                seen = seen.and(message);
                if (!status.equals(message.status())) {
                    continue;
                }
                if (hits.size() == filter.limit()) {
                    return new Page(hits, seen, hits.getLast().place(), complete);
                }
                hits.add(message);
                byte[] payload = message.payload();
                bytes -= payload == null ? 0 : payload.length;
            }
            behind = page.next();
            if (behind == null || hits.size() == filter.limit()) {
                return new Page(hits, seen, behind, complete);
            }
            if (!page.complete()) {
                // It ended because it had read as much as an answer may, found or not.
                return new Page(hits, seen, behind, false);
            }
            lookedAt += page.messages().size();
            limit = PAGE_MAX;
        }
        return new Page(hits, seen, behind, false);
    }

    private Page page(Filter filter, @Nullable Place behind, int limit, int payloadBytes) {
        List<Row> rows =
                page.ask(
                        filter.tenant(),
                        filter.queue(),
                        filter.partition(),
                        filter.namespace(),
                        filter.task(),
                        filter.transactionId(),
                        time(filter.from()),
                        time(filter.to()),
                        behind == null ? null : time(behind.createdAt()),
                        behind == null ? null : behind.partitionNumber(),
                        behind == null ? null : behind.offset(),
                        limit,
                        payloadBytes);
        List<Message> messages = rows.stream().map(Row::message).filter(Objects::nonNull).toList();
        Kinds seen = Kinds.NONE;
        for (Message message : messages) {
            seen = seen.and(message);
        }
        return new Page(messages, seen, rows.getFirst().next(), rows.getFirst().complete());
    }

    /**
     * The newest message of that id in a partition, or the one at an offset.
     *
     * @return empty = the tenant has no such partition
     */
    public Optional<Found> find(
            UUID tenant, long partitionNumber, String transactionId, @Nullable Long offset) {
        return one.ask(partitionNumber, tenant, transactionId, offset).stream().findFirst();
    }

    /** Groups of the queue, by name. */
    public List<Group> groups(Message message) {
        return groups.ask(
                message.partitionNumber(),
                message.offset(),
                HexFormat.of().formatHex(message.key()),
                GROUPS_MAX);
    }

    private static OffsetDateTime time(Instant instant) {
        return instant.atOffset(ZoneOffset.UTC);
    }

    private static Row row(DbRow row) {
        Instant nextAt = ColdQuery.instant(row, "next_at");
        return new Row(
                nextAt == null
                        ? null
                        : new Place(
                                nextAt,
                                row.column("next_partition_id").getLong(),
                                row.column("next_offset").getLong()),
                row.column("complete").getBoolean(),
                message(row));
    }

    private static @Nullable Message message(DbRow row) {
        Instant createdAt = ColdQuery.instant(row, "created_at");
        if (createdAt == null) {
            return null;
        }
        return new Message(
                row.column("partition_id").getLong(),
                row.column("queue").getString(),
                row.column("partition").getString(),
                row.column("namespace").getString(),
                row.column("task").getString(),
                row.column("offset").getLong(),
                row.column("base_offset").getLong(),
                createdAt,
                row.column("message_id").get(UUID.class),
                orNull(row, "transaction_id", String.class),
                row.column("key").get(byte[].class),
                row.column("flags").getInt(),
                orNull(row, "trace_id", UUID.class),
                orNull(row, "producer", String.class),
                orNull(row, "payload", byte[].class),
                row.column("omitted").getBoolean(),
                row.column("status").getString(),
                orNull(row, "queue_status", String.class),
                ColdQuery.instant(row, "lease_expires_at"),
                row.column("groups_passed").getInt(),
                row.column("groups_total").getInt());
    }

    private static <T> @Nullable T orNull(DbRow row, String column, Class<T> type) {
        return row.column(column).as(type).orElse(null);
    }
}
