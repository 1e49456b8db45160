package io.queenmq.testkit;

import io.queenmq.ack.Ack;
import io.queenmq.ack.AckConfig;
import io.queenmq.ack.AckItem;
import io.queenmq.ack.AckResult;
import io.queenmq.ack.AckStatus;
import io.queenmq.ack.Deliveries;
import io.queenmq.count.Counts;
import io.queenmq.db.Database;
import io.queenmq.db.DatabaseConfig;
import io.queenmq.group.Groups;
import io.queenmq.group.GroupsConfig;
import io.queenmq.hint.HintOutbox;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Caller;
import io.queenmq.model.Ids;
import io.queenmq.model.Names;
import io.queenmq.model.UuidMint;
import io.queenmq.pop.Client;
import io.queenmq.pop.Pop;
import io.queenmq.pop.PopConfig;
import io.queenmq.pop.PopRequest;
import io.queenmq.pop.PopResult;
import io.queenmq.pop.PopScope;
import io.queenmq.pop.StartAt;
import io.queenmq.ready.HintedLanes;
import io.queenmq.ready.LaneNames;
import io.queenmq.ready.LaneWrites;
import io.queenmq.ready.ReadyConfig;
import io.queenmq.ready.ReadyLanes;
import io.queenmq.runtime.Clock;
import io.queenmq.segment.FrameReader;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The consuming half of a broker over a database of its own, and a way to put messages there. */
public final class ConsumeEngine implements AutoCloseable {
    /** One message as a consumer sees it. */
    public record Message(
            String queue, String partition, long lane, String transactionId, String payload) {}

    public final TestDatabase server;
    private final Connection connection;
    public final Metrics metrics = new Metrics();
    public final Database database;
    public final Groups groups;
    public final LaneNames names;
    public final ReadyLanes ready;
    public final Counts counts;
    public final HintOutbox outbox = new HintOutbox();
    public final HintedLanes hinted;
    public final Deliveries deliveries;
    public final Pop pop;
    public final Ack ack;
    private final boolean ownServer;

    public ConsumeEngine() {
        this(TestDatabase.migrated(), true);
    }

    /** A second broker over the same database. */
    public ConsumeEngine(TestDatabase server) {
        this(server, false);
    }

    private ConsumeEngine(TestDatabase server, boolean ownServer) {
        this.server = server;
        this.ownServer = ownServer;
        Clock clock = Clock.SYSTEM;
        try {
            connection = server.connect();
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
        database =
                new Database(
                        DatabaseConfig.of(
                                        server.host(),
                                        server.port(),
                                        server.name(),
                                        server.user(),
                                        "")
                                .withPoolSize(12),
                        metrics,
                        clock);
        groups = new Groups(GroupsConfig.DEFAULT, database, clock);
        names = new LaneNames(database);
        ready = new ReadyLanes(ReadyConfig.DEFAULT, database, outbox, metrics, clock);
        hinted =
                new HintedLanes(
                        ready,
                        database,
                        queueId -> {
                            groups.queueChanged(queueId);
                            names.queueChanged(queueId);
                        },
                        () -> {
                            groups.everythingChanged();
                            names.everythingChanged();
                        },
                        timerDue -> {});
        counts = new Counts(Duration.ofHours(1), database, metrics, clock);
        deliveries = new Deliveries(AckConfig.DEFAULT, clock);
        pop =
                new Pop(
                        PopConfig.DEFAULT,
                        database,
                        counts,
                        groups,
                        ready,
                        names,
                        deliveries,
                        new UuidMint(() -> clock.now().toEpochMilli()),
                        () -> false,
                        metrics,
                        clock);
        ack = new Ack(AckConfig.DEFAULT, database, counts, ready, deliveries, metrics, clock);
        pop.start();
        ack.start();
    }

    /** Stores messages of one lane as JSON strings through SQL and tells the ready lanes. */
    public void push(String queue, String partition, String... payloads) {
        store(queue, partition, payloads);
        ready.written(List.of(lane(queue, partition)));
    }

    /** Stores messages behind the broker's back. */
    public void store(String queue, String partition, String... payloads) {
        for (String payload : payloads) {
            rows(
                    "select status from queen.push(?, ?, ?, ?)",
                    queue,
                    partition,
                    '"' + payload + '"',
                    payload);
        }
    }

    public LaneWrites.Lane lane(String queue, String partition) {
        @Nullable Object[] row =
                rows(
                                "select q.id, p.id, p.last_offset from queen_store.partitions p"
                                        + " join queen_store.queues q on q.id = p.queue_id"
                                        + " where q.name = ? and p.name = ?"
                                        + " and q.deleted_at is null",
                                queue,
                                partition)
                        .getFirst();
        return new LaneWrites.Lane(
                Caller.DEFAULT_TENANT,
                number(row[0]).intValue(),
                queue,
                number(row[1]).longValue(),
                partition,
                number(row[2]).longValue());
    }

    private static Number number(@Nullable Object value) {
        if (value instanceof Number number) {
            return number;
        }
        throw new IllegalStateException("not a number: " + value);
    }

    public List<@Nullable Object[]> rows(String sql, @Nullable Object... args) {
        try {
            synchronized (connection) {
                return TestDatabase.rows(connection, sql, args);
            }
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    /** A pop without a group, one lane at most, that does not wait. */
    public static PopRequest queueMode(String queue) {
        return request(new PopScope.Queue(queue), Names.QUEUE_MODE);
    }

    public static PopRequest request(PopScope scope, String group) {
        return new PopRequest(
                Caller.DEFAULT_TENANT,
                scope,
                group,
                100,
                1,
                false,
                Duration.ZERO,
                0,
                new StartAt.Oldest());
    }

    public static PopRequest waiting(PopRequest r, Duration patience) {
        return new PopRequest(
                r.tenant(),
                r.scope(),
                r.group(),
                r.batch(),
                r.lanes(),
                r.autoAck(),
                patience,
                r.leaseSeconds(),
                r.startAt());
    }

    public static PopRequest sized(PopRequest r, int batch, int lanes) {
        return new PopRequest(
                r.tenant(),
                r.scope(),
                r.group(),
                batch,
                lanes,
                r.autoAck(),
                r.patience(),
                r.leaseSeconds(),
                r.startAt());
    }

    public static PopRequest auto(PopRequest r) {
        return new PopRequest(
                r.tenant(),
                r.scope(),
                r.group(),
                r.batch(),
                r.lanes(),
                true,
                r.patience(),
                r.leaseSeconds(),
                r.startAt());
    }

    public static PopRequest leased(PopRequest r, int seconds) {
        return new PopRequest(
                r.tenant(),
                r.scope(),
                r.group(),
                r.batch(),
                r.lanes(),
                r.autoAck(),
                r.patience(),
                seconds,
                r.startAt());
    }

    public static PopRequest starting(PopRequest r, StartAt startAt) {
        return new PopRequest(
                r.tenant(),
                r.scope(),
                r.group(),
                r.batch(),
                r.lanes(),
                r.autoAck(),
                r.patience(),
                r.leaseSeconds(),
                startAt);
    }

    public PopResult pop(PopRequest request) {
        return pop.pop(request, Client.PRESENT);
    }

    /** Every message of a result, in its order. */
    public static List<Message> messages(PopResult result) {
        List<Message> messages = new ArrayList<>();
        for (PopResult.Lane lane : result.lanes()) {
            for (PopResult.Batch batch : lane.batches()) {
                FrameReader reader =
                        new FrameReader(
                                lane.partitionNumber(),
                                batch.baseOffset(),
                                batch.createdAt().toEpochMilli(),
                                batch.keys(),
                                batch.frames(),
                                batch.first(),
                                batch.count());
                while (reader.next()) {
                    messages.add(
                            new Message(
                                    lane.queue(),
                                    lane.partition(),
                                    lane.partitionNumber(),
                                    reader.transactionId(),
                                    text(reader.payload().toString())));
                }
            }
        }
        return messages;
    }

    /** What stands between the quotes of a JSON string. */
    private static String text(String json) {
        return json.substring(1, json.length() - 1);
    }

    public static List<String> payloads(PopResult result) {
        return messages(result).stream().map(Message::payload).toList();
    }

    /** Acknowledges everything of a result with one status. */
    public List<AckResult> ack(PopRequest request, PopResult result, AckStatus status) {
        return ack.ack(
                request.tenant(),
                request.group(),
                messages(result).stream()
                        .map(message -> item(message, result.leaseId(), status))
                        .toList());
    }

    public static AckItem item(Message message, @Nullable UUID leaseId, AckStatus status) {
        return new AckItem(
                message.transactionId(),
                Ids.partitionId(message.lane()).toString(),
                leaseId == null ? null : leaseId.toString(),
                status,
                null);
    }

    @Override
    public void close() {
        pop.close();
        ack.close();
        ready.close();
        counts.close();
        database.close();
        metrics.close();
        try {
            connection.close();
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
        if (ownServer) {
            server.close();
        }
    }
}
