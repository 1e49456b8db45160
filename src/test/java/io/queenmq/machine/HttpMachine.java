package io.queenmq.machine;

import io.queenmq.machine.Op.Batch;
import io.queenmq.machine.Op.Delivered;
import io.queenmq.machine.Op.Item;
import io.queenmq.machine.Op.Job;
import io.queenmq.machine.Op.LaneRef;
import io.queenmq.machine.Op.Rule;
import io.queenmq.machine.Op.Start;
import io.queenmq.machine.Op.Unit;
import io.queenmq.model.Ids;
import io.queenmq.testkit.Await;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Whole brokers over one database, called in turn, as their clients call them. */
final class HttpMachine implements Machine {
    private static final long OFFSET_BITS = (1L << 38) - 1;
    private static final String STRANGER = "01890000-0000-7000-8000-000000000001";
    private static final Map<String, String> OPTIONS =
            Map.of(
                    "lease_seconds", "leaseTime",
                    "retry_limit", "retryLimit",
                    "dead_letter_queue", "deadLetterQueue",
                    "dlq_after_max_retries", "dlqAfterMaxRetries",
                    "dedup_window_seconds", "dedupWindowSeconds",
                    "delayed_processing_seconds", "delayedProcessing",
                    "completed_retention_seconds", "completedRetentionSeconds");
    private static final Map<String, String> ERRORS =
            Map.of(
                    "invalid or expired lease", "invalid_lease",
                    "consumer not found", "consumer_not_found",
                    "partition not owned by tenant", "not_owned",
                    "no leased batch", "no_leased_batch");

    private record Held(String partitionId, String leaseId) {}

    private final TestDatabase database;
    private final Connection connection;
    private final List<TestBroker> brokers;
    private final SqlState state;
    private final Map<Delivered, Held> deliveries = new LinkedHashMap<>();
    private final Map<UUID, String> leaseNames = new HashMap<>();
    private final Map<String, String> names = new HashMap<>();
    private final HttpMoves moves;
    private @Nullable Op chosen;

    HttpMachine(int count) throws SQLException {
        this.database = TestDatabase.migrated();
        this.connection = database.connect();
        this.brokers = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            brokers.add(TestBroker.on(database));
        }
        brokers.forEach(TestBroker::awaitListening);
        this.state = new SqlState(new LogFixture(connection), LogFixture.TENANT, leaseNames, names);
        this.moves = new HttpMoves(state, names);
    }

    @Override
    public void close() throws SQLException {
        brokers.forEach(TestBroker::close);
        connection.close();
        database.close();
    }

    @Override
    public List<String> apply(Op op) throws SQLException {
        List<String> lines = ask(op);
        if (isRemembered(op)) {
            awaitHeard();
        }
        return lines;
    }

    /** Whether brokers remember what it changes until they hear of it, a moment later. */
    private static boolean isRemembered(Op op) {
        return op instanceof Op.Configure
                || op instanceof Op.DeleteQueue
                || op instanceof Op.DeleteGroup
                || op instanceof Op.SeekQueue
                || op instanceof Op.SeekLane
                || op instanceof Op.Subscribe;
    }

    private void awaitHeard() {
        brokers.forEach(TestBroker::awaitTold);
        Await.until(
                "the brokers have heard each other",
                () -> brokers.stream().allMatch(broker -> unheard(broker) == 0));
    }

    /** Notifications that others sent and the broker has not acted on. */
    private double unheard(TestBroker broker) {
        return brokers.stream()
                        .filter(other -> other != broker)
                        .mapToDouble(other -> other.metric("queen_notify_sent_total"))
                        .sum()
                - broker.metric("queen_notify_received_total");
    }

    private List<String> ask(Op op) throws SQLException {
        chosen = op;
        Http http = brokers.get(op.id() % brokers.size()).http();
        return switch (op) {
            case Op.Push push -> push(http, push);
            case Op.Pop pop -> pop(http, pop);
            case Op.QueuePop pop -> queuePop(http, pop);
            case Op.Ack ack -> ack(http, ack);
            case Op.Transact bundle -> transact(http, bundle);
            case Op.Extend extend ->
                    List.of(
                            "renewed "
                                    + http.post(
                                                    "/api/v1/lease/"
                                                            + leaseOf(extend.lease())
                                                            + "/extend",
                                                    "{\"seconds\":"
                                                            + State.span(extend.units())
                                                            + "}")
                                            .json()
                                            .text("renewed"));
            case Op.Configure configure -> configure(http, configure);
            case Op.DeleteQueue delete ->
                    List.of(
                            "deleted "
                                    + http.delete("/api/v1/resources/queues/" + delete.queue())
                                            .json()
                                            .text("deleted"));
            case Op.Expire expire -> {
                state.expire(expire.queue(), expire.partition(), expire.segments());
                yield List.of();
            }
            case Op.Pass pass -> {
                state.pass(pass.units());
                yield List.of();
            }
            case Op.SeekQueue seek -> moves.seekQueue(http, seek);
            case Op.SeekLane seek -> moves.seekLane(http, seek);
            case Op.Subscribe subscribe -> moves.subscribe(http, subscribe);
            case Op.DeleteGroup delete -> moves.deleteGroup(http, delete);
            case Op.DeleteDeadLetter delete -> moves.deleteDeadLetter(http, delete);
            case Op.Replay replay -> moves.replay(http, replay);
            case Op.Settle ignored -> throw new IllegalArgumentException("not over HTTP");
            case Op.Register ignored -> throw new IllegalArgumentException("not over HTTP");
            case Op.AckBatches ignored -> throw new IllegalArgumentException("not over HTTP");
            case Op.Release ignored -> throw new IllegalArgumentException("not over HTTP");
        };
    }

    @Override
    public Op chosen(Op op) {
        return chosen == null ? op : chosen;
    }

    @Override
    public List<String> lines() throws SQLException {
        return state.lines();
    }

    @Override
    public List<String> log() throws SQLException {
        return state.log();
    }

    private static List<String> push(Http http, Op.Push push) {
        List<String> items = new ArrayList<>();
        for (Batch batch : push.batches()) {
            for (String id : batch.ids()) {
                items.add(Http.item(batch.queue(), batch.partition(), id, "\"" + id + "\""));
            }
        }
        Json answer = http.pushItems(items).json();
        List<String> first = new ArrayList<>();
        List<String> second = new ArrayList<>();
        int index = 0;
        for (Batch batch : push.batches()) {
            String name = batch.queue() + "/" + batch.partition();
            List<String> duplicates = new ArrayList<>();
            String queued = "";
            for (int i = 0; i < batch.ids().size(); i++, index++) {
                UUID id = UUID.fromString(answer.text(index, "message_id"));
                String offset =
                        id.equals(Ids.NIL)
                                ? "gone"
                                : String.valueOf(id.getLeastSignificantBits() & OFFSET_BITS);
                switch (answer.text(index, "status")) {
                    case "queued" -> queued = queued.isEmpty() ? offset : queued;
                    case "duplicate" -> duplicates.add(i + "=" + offset);
                    default -> duplicates.add(i + " " + answer.text(index, "status"));
                }
            }
            if (!duplicates.isEmpty()) {
                first.add("duplicate " + name + " " + duplicates);
            }
            if (!queued.isEmpty()) {
                (duplicates.isEmpty() ? first : second).add("queued " + name + " at " + queued);
            }
        }
        first.addAll(second);
        return first;
    }

    private List<String> pop(Http http, Op.Pop pop) throws SQLException {
        Job job = pop.jobs().getFirst();
        String partition = job.partitions().getFirst();
        String query = query(pop.claim(), job, pop.start());
        return popped(
                pop.id(),
                job,
                http.get("/api/v1/pop/queue/" + job.queue() + "/partition/" + partition + query));
    }

    private List<String> queuePop(Http http, Op.QueuePop pop) throws SQLException {
        Job job = pop.job();
        String query =
                query(pop.claim(), job, pop.start())
                        + "&partitions="
                        + (job.several() ? job.laneLimit() : 1)
                        + (pop.conflates() ? "&conflation=true" : "");
        Http.Reply reply = http.get("/api/v1/pop/queue/" + job.queue() + query);
        List<String> partitions =
                reply.status() == 200
                        ? reply.json().each("messages", "partition").stream().distinct().toList()
                        : List.of();
        Job served =
                new Job(
                        job.queue(),
                        job.group(),
                        job.budget(),
                        job.laneLimit(),
                        job.leaseUnits(),
                        job.several(),
                        partitions);
        chosen =
                new Op.QueuePop(
                        pop.id(),
                        pop.claim(),
                        pop.start(),
                        pop.conflates(),
                        served,
                        state.touched(job.queue(), job.group()));
        return popped(pop.id(), served, reply);
    }

    private String query(Op.Claim claim, Job job, @Nullable Start start) throws SQLException {
        StringBuilder query = new StringBuilder("?batch=").append(job.budget());
        if (!job.group().equals(State.QUEUE_MODE)) {
            query.append("&consumerGroup=").append(job.group());
        }
        if (!claim.leases()) {
            query.append("&autoAck=true");
        }
        if (job.leaseUnits() > 0) {
            query.append("&leaseSeconds=").append(State.span(job.leaseUnits()));
        }
        if (start != null && start.rule() == Rule.INSTANT) {
            Instant instant = state.ago(State.span(start.age()));
            query.append("&subscriptionFrom=").append(Http.encode(instant.toString()));
        } else if (start != null) {
            query.append("&subscriptionMode=").append(start.rule() == Rule.ALL ? "all" : "new");
        }
        return query.toString();
    }

    /** A line per lane that gave something; a lane that gave nothing says so. */
    private List<String> popped(int pop, Job job, Http.Reply reply) {
        if (reply.status() == 204) {
            return job.partitions().stream().map(name -> Pops.head(job, name) + "nothing").toList();
        }
        if (reply.status() != 200) {
            return List.of(reply.status() + " " + reply.body());
        }
        Json json = reply.json();
        List<String> lines = new ArrayList<>();
        for (int i = 0; i < job.partitions().size(); i++) {
            String partition = job.partitions().get(i);
            List<String> ids = new ArrayList<>();
            long from = -1;
            long end = -1;
            String verdict = "nothing";
            for (int m = 0; m < json.size("messages"); m++) {
                if (!json.text("messages", m, "partition").equals(partition)) {
                    continue;
                }
                UUID id = UUID.fromString(json.text("messages", m, "id"));
                long offset = id.getLeastSignificantBits() & OFFSET_BITS;
                String transactionId = json.text("messages", m, "transactionId");
                if ((end >= 0 && offset != end + 1)
                        || (!names.containsKey(transactionId)
                                && !json.text("messages", m, "data").equals(transactionId))) {
                    return List.of("out of order or spoiled: " + reply.body());
                }
                from = from < 0 ? offset : from;
                end = offset;
                ids.add(names.getOrDefault(transactionId, transactionId));
                String leaseId = json.text("messages", m, "leaseId");
                String partitionId = json.text("messages", m, "partitionId");
                deliveries.put(
                        new Delivered(pop, 0, i),
                        new Held(partitionId, leaseId.isEmpty() ? STRANGER : leaseId));
                if (leaseId.isEmpty()) {
                    verdict = "served %d..%d = %s".formatted(from, end, ids);
                } else {
                    leaseNames.put(UUID.fromString(leaseId), State.name(new Delivered(pop, 0, i)));
                    verdict =
                            "leased %d..%d attempt %s = %s"
                                    .formatted(
                                            from,
                                            end,
                                            json.text("messages", m, "deliveryAttempt"),
                                            ids);
                }
            }
            lines.add(Pops.head(job, partition) + verdict);
        }
        return lines;
    }

    private List<String> ack(Http http, Op.Ack ack) throws SQLException {
        List<String> items = new ArrayList<>();
        for (Item item : ack.items()) {
            Unit unit = ack.units().get(item.unit());
            items.add(acknowledgment(item, unit));
        }
        Json answer =
                http.post(
                                "/api/v1/ack/batch",
                                "{\"consumerGroup\":\""
                                        + ack.units().getFirst().group()
                                        + "\",\"acknowledgments\":["
                                        + String.join(",", items)
                                        + "]}")
                        .json();
        List<String> lines = new ArrayList<>();
        for (int i = 0; i < ack.items().size(); i++) {
            lines.add(
                    new Acks.Outcome(
                                    verdict(answer.at(i)),
                                    answer.bool(i, "leaseReleased"),
                                    answer.bool(i, "dlq"))
                            .toString());
        }
        return lines;
    }

    private String acknowledgment(Item item, Unit unit) throws SQLException {
        return "{\"transactionId\":\"%s\",\"partitionId\":\"%s\",\"status\":\"%s\"%s%s}"
                .formatted(
                        SqlMoves.real(names, item.transactionId()),
                        partitionOf(unit.lane()),
                        item.status().name().toLowerCase(Locale.ROOT),
                        unit.lease() == null
                                ? ""
                                : ",\"leaseId\":\"" + leaseOf(unit.lease()) + "\"",
                        item.error() == null ? "" : ",\"error\":\"" + item.error() + "\"");
    }

    private List<String> transact(Http http, Op.Transact bundle) throws SQLException {
        List<String> operations = new ArrayList<>();
        for (Batch batch : bundle.batches()) {
            List<String> items = new ArrayList<>();
            for (String id : batch.ids()) {
                items.add(Http.item(batch.queue(), batch.partition(), id, "\"" + id + "\""));
            }
            operations.add("{\"type\":\"push\",\"items\":[" + String.join(",", items) + "]}");
        }
        for (Item item : bundle.items()) {
            Unit unit = bundle.units().get(item.unit());
            operations.add(
                    "{\"type\":\"ack\",\"consumerGroup\":\""
                            + unit.group()
                            + "\","
                            + acknowledgment(item, unit).substring(1));
        }
        Json answer =
                http.post(
                                "/api/v1/transaction",
                                "{\"operations\":["
                                        + String.join(",", operations)
                                        + "],\"requiredLeases\":["
                                        + bundle.supplied().stream()
                                                .map(lease -> "\"" + leaseOf(lease) + "\"")
                                                .collect(Collectors.joining(","))
                                        + "]}")
                        .json();
        if (!answer.bool("success")) {
            return List.of("undone " + answer.text("reason"));
        }
        List<String> lines = new ArrayList<>();
        int index = 0;
        for (Batch batch : bundle.batches()) {
            UUID id = UUID.fromString(answer.text("results", index, "messageId"));
            index += batch.ids().size();
            lines.add(
                    "queued %s/%s at %d"
                            .formatted(
                                    batch.queue(),
                                    batch.partition(),
                                    id.getLeastSignificantBits() & OFFSET_BITS));
        }
        for (; index < answer.size("results"); index++) {
            lines.add(
                    (answer.bool("results", index, "success") ? "acked" : "refused")
                            + (answer.bool("results", index, "dlq") ? " dead" : ""));
        }
        return lines;
    }

    private static String verdict(Json result) {
        if (result.bool("success")) {
            return result.bool("noop") ? "noop" : "done";
        }
        String error = result.text("error");
        return error.startsWith("already committed")
                ? "stale"
                : error.startsWith("unresolvable")
                        ? "unresolvable"
                        : ERRORS.getOrDefault(error, error);
    }

    private String partitionOf(LaneRef ref) throws SQLException {
        if (ref.delivered() != null) {
            Held held = deliveries.get(ref.delivered());
            return held == null ? Ids.partitionId(1L << 35).toString() : held.partitionId();
        }
        return state.partitionId(ref.queue(), ref.partition());
    }

    private String leaseOf(Delivered delivered) {
        for (Map.Entry<Delivered, Held> entry : deliveries.entrySet()) {
            if (State.isSameLease(entry.getKey(), delivered)) {
                return entry.getValue().leaseId();
            }
        }
        return STRANGER;
    }

    private static List<String> configure(Http http, Op.Configure configure) {
        String options =
                configure.options().stream()
                        .map(option -> "\"" + OPTIONS.get(option.name()) + "\":" + option.value())
                        .collect(Collectors.joining(",", "{", "}"));
        Http.Reply reply =
                http.post(
                        "/api/v1/configure",
                        "{\"queue\":\""
                                + configure.queue()
                                + "\",\"mode\":\"merge\",\"options\":"
                                + options
                                + "}");
        return List.of(reply.status() == 200 ? "configured" : reply.body());
    }
}
