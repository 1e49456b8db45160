package io.queenmq.machine;

import static io.queenmq.machine.SqlState.number;
import static io.queenmq.machine.SqlState.text;

import io.queenmq.machine.Op.Batch;
import io.queenmq.machine.Op.Delivered;
import io.queenmq.machine.Op.Item;
import io.queenmq.machine.Op.LaneRef;
import io.queenmq.machine.Op.Unit;
import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.LogFixture.Acked;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The procedures themselves, called as the broker calls them, for one tenant. */
final class SqlMachine implements Machine {
    static final UUID STRANGER = UUID.fromString("01890000-0000-7000-8000-000000000001");

    /** What a delivery was of. */
    record Held(long lane, int group, UUID lease, long end) {}

    private final Connection connection;
    private final LogFixture log;
    private final UUID tenant;
    private final Map<Delivered, Held> deliveries;
    private final Map<UUID, String> leaseNames;
    private final Map<String, String> names;
    private final SqlPushes pushes;
    private final SqlState state;
    private final SqlPops pops;
    private final SqlMoves moves;

    SqlMachine(Connection connection) {
        this(
                connection,
                UUID.randomUUID(),
                new ConcurrentHashMap<>(),
                new ConcurrentHashMap<>(),
                new ConcurrentHashMap<>());
    }

    /** Another connection for the same tenant, that knows of the same deliveries. */
    SqlMachine(Connection connection, SqlMachine other) {
        this(connection, other.tenant, other.deliveries, other.leaseNames, other.names);
    }

    private SqlMachine(
            Connection connection,
            UUID tenant,
            Map<Delivered, Held> deliveries,
            Map<UUID, String> leaseNames,
            Map<String, String> names) {
        this.names = names;
        this.tenant = tenant;
        this.deliveries = deliveries;
        this.leaseNames = leaseNames;
        this.connection = connection;
        this.log = new LogFixture(connection);
        this.pushes = new SqlPushes(log, tenant);
        this.state = new SqlState(log, tenant, leaseNames, names);
        this.pops = new SqlPops(log, tenant, state, deliveries, leaseNames);
        this.moves = new SqlMoves(log, tenant, state, names);
    }

    @Override
    public List<String> apply(Op op) throws SQLException {
        return switch (op) {
            case Op.Push push -> pushes.push(push);
            case Op.Settle settle ->
                    pushes.append(
                            List.of(settle.batch()), settle.above(), false, new ArrayList<>());
            case Op.Pop pop -> pops.pop(pop);
            case Op.QueuePop pop -> pops.queuePop(pop);
            case Op.Register register -> pops.register(register);
            case Op.AckBatches acks -> ackBatches(acks);
            case Op.Ack ack -> ack(ack);
            case Op.SeekQueue seek -> moves.seekQueue(seek);
            case Op.SeekLane seek -> moves.seekLane(seek);
            case Op.Subscribe subscribe -> moves.subscribe(subscribe);
            case Op.DeleteGroup delete -> moves.deleteGroup(delete);
            case Op.DeleteDeadLetter delete ->
                    moves.deleteDeadLetter(delete, pops.lane(delete.queue(), delete.partition()));
            case Op.Replay replay -> moves.replay(replay);
            case Op.Transact bundle -> transact(bundle);
            case Op.Extend extend -> extend(extend);
            case Op.Release release -> release(release);
            case Op.Configure configure -> configure(configure);
            case Op.DeleteQueue delete ->
                    List.of(
                            "deleted "
                                    + log.value(
                                            "select queen_store.delete_queue(?, ?)",
                                            tenant,
                                            delete.queue()));
            case Op.Expire expire -> {
                state.expire(expire.queue(), expire.partition(), expire.segments());
                yield List.of();
            }
            case Op.Pass pass -> {
                state.pass(pass.units());
                yield List.of();
            }
        };
    }

    @Override
    public List<String> lines() throws SQLException {
        return state.lines();
    }

    @Override
    public List<String> log() throws SQLException {
        return state.log();
    }

    @Override
    public void close() throws SQLException {
        connection.close();
    }

    private List<String> ackBatches(Op.AckBatches acks) throws SQLException {
        List<Delivered> known = new ArrayList<>();
        List<Long> ends = new ArrayList<>();
        for (int i = 0; i < acks.batches().size(); i++) {
            Held held = deliveries.get(acks.batches().get(i));
            if (held != null) {
                known.add(acks.batches().get(i));
                ends.add(held.end() + acks.shifts().get(i));
            }
        }
        List<Held> held = known.stream().map(deliveries::get).toList();
        List<String> lines = new ArrayList<>();
        for (@Nullable Object[] row :
                log.rows(
                        "select ordinal, verdict from queen_store.ack_batches(?, ?, ?, ?) order by"
                                + " ordinal",
                        held.stream().map(Held::lane).toArray(Long[]::new),
                        held.stream().map(Held::group).toArray(Integer[]::new),
                        held.stream().map(Held::lease).toArray(UUID[]::new),
                        ends.toArray(Long[]::new))) {
            lines.add(known.get(number(row[0]) - 1) + ": " + row[1]);
        }
        return lines;
    }

    private List<String> ack(Op.Ack ack) throws SQLException {
        List<LogFixture.Unit> units = new ArrayList<>();
        for (Unit unit : ack.units()) {
            units.add(
                    new LogFixture.Unit(
                            tenant,
                            laneOf(unit.lane()),
                            unit.group(),
                            unit.lease() == null ? null : leaseOf(unit.lease())));
        }
        LogFixture.Item[] items = new LogFixture.Item[ack.items().size()];
        for (int i = 0; i < items.length; i++) {
            Item item = ack.items().get(i);
            items[i] =
                    new LogFixture.Item(
                            item.unit() + 1,
                            SqlMoves.real(names, item.transactionId()),
                            item.status().code,
                            item.error());
        }
        List<String> lines = new ArrayList<>();
        for (Acked acked : log.ack(units, ack.waiting(), items)) {
            lines.add(
                    new Acks.Outcome(acked.verdict(), acked.released(), acked.deadLettered())
                            .toString());
        }
        return lines;
    }

    private List<String> transact(Op.Transact bundle) throws SQLException {
        SqlPushes.Batches pushed = pushes.arrays(bundle.batches());
        if (pushed == null) {
            return List.of("busy name");
        }
        List<Unit> units = bundle.units();
        Long[] lanes = new Long[units.size()];
        @Nullable UUID[] leases = new UUID[lanes.length];
        for (int i = 0; i < lanes.length; i++) {
            lanes[i] = laneOf(units.get(i).lane());
            Delivered lease = units.get(i).lease();
            leases[i] = lease == null ? null : leaseOf(lease);
        }
        List<Item> items = bundle.items();
        List<String> lines = new ArrayList<>();
        List<String> acked = new ArrayList<>();
        String undone = null;
        for (@Nullable Object[] row :
                log.rows(
                        "select part, ordinal, verdict, base_offset, lease_released, dead_lettered"
                                + " from queen_store.transact(?, false, ?, ?, ?, ?, ?, '{}', ?, ?, ?,"
                                + " ?, ?, ?, ?, ?, ?, array(select queen_store.key_of(t) from"
                                + " unnest(?::text[]) with ordinality k (t, n) order by n), ?, ?,"
                                + " '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}',"
                                + " '{}', '{}', '{}', 0,"
                                + " '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}',"
                                + " null, 2000)",
                        UUID.randomUUID(),
                        tenant,
                        pushed.lanes(),
                        pushed.flushes(),
                        pushed.vouchedFrom(),
                        pushed.vouchedTo(),
                        pushed.segmentLanes(),
                        pushed.counts(),
                        pushed.keys(),
                        pushed.frames(),
                        lanes,
                        units.stream().map(Unit::group).toArray(String[]::new),
                        leases,
                        bundle.supplied().stream().map(this::leaseOf).toArray(UUID[]::new),
                        items.stream().map(item -> item.unit() + 1).toArray(Integer[]::new),
                        items.stream()
                                .map(item -> SqlMoves.real(names, item.transactionId()))
                                .toArray(String[]::new),
                        items.stream()
                                .map(item -> (short) item.status().code)
                                .toArray(Short[]::new),
                        items.stream().map(Item::error).toArray(String[]::new))) {
            switch (text(row[0])) {
                case "undone" -> undone = text(row[2]);
                case "push" -> {
                    Batch batch = bundle.batches().get(number(row[1]) - 1);
                    lines.add(
                            "%s %s/%s at %s"
                                    .formatted(row[2], batch.queue(), batch.partition(), row[3]));
                }
                default ->
                        acked.add(
                                new Acks.Outcome(
                                                text(row[2]),
                                                Boolean.TRUE.equals(row[4]),
                                                Boolean.TRUE.equals(row[5]))
                                        .toString());
            }
        }
        if (undone != null) {
            lines.clear();
            lines.add("undone " + undone);
            acked.replaceAll(line -> line.replaceFirst(" .*", ""));
        }
        lines.addAll(acked);
        return lines;
    }

    private long laneOf(LaneRef ref) throws SQLException {
        if (ref.delivered() != null) {
            Held held = deliveries.get(ref.delivered());
            return held == null ? 0 : held.lane();
        }
        Long lane = pops.lane(ref.queue(), ref.partition());
        return lane == null ? 0 : lane;
    }

    private UUID leaseOf(Delivered delivered) {
        for (Map.Entry<Delivered, Held> entry : deliveries.entrySet()) {
            if (State.isSameLease(entry.getKey(), delivered)) {
                return entry.getValue().lease();
            }
        }
        return STRANGER;
    }

    /** What an id that a message really has is called here. */
    String name(String realId) {
        return names.getOrDefault(realId, realId);
    }

    /** Ids of the messages that a delivery brought, from this offset on. */
    List<String> ids(Delivered delivered, long from) throws SQLException {
        Held held = deliveries.get(delivered);
        if (held == null) {
            return List.of();
        }
        return log
                .rows(
                        "select m.transaction_id from generate_series(?, ?) o cross join lateral"
                                + " queen_store.message_at(?, o) m order by o",
                        from,
                        held.end(),
                        held.lane())
                .stream()
                .map(row -> text(row[0]))
                .toList();
    }

    /** What could be moved to that lane, the oldest first. */
    List<Op.Replay> deadLetters(int id, String toPartition) throws SQLException {
        List<Op.Replay> letters = new ArrayList<>();
        for (@Nullable Object[] row :
                log.rows(
                        "select queue, partition, consumer_group, \"offset\" from"
                                + " queen.dead_letters where tenant_id = ? order by id limit 3",
                        tenant)) {
            letters.add(
                    new Op.Replay(
                            id,
                            text(row[0]),
                            text(row[1]),
                            text(row[2]),
                            Long.parseLong(text(row[3])),
                            text(row[0]),
                            toPartition));
        }
        return letters;
    }

    /** The lease that is on the lane of this delivery runs out now, whosever it is. */
    int expireLease(Delivered delivered) throws SQLException {
        Held held = deliveries.get(delivered);
        return held == null
                ? 0
                : log.run(
                        "update queen_store.cursors set lease_expires_at = clock_timestamp() -"
                                + " interval '1 second' where partition_id = ? and group_id = ? and"
                                + " lease_id is not null",
                        held.lane(),
                        held.group());
    }

    private List<String> extend(Op.Extend extend) throws SQLException {
        return List.of(
                "renewed "
                        + log.rows(
                                        "select * from queen_store.extend_lease(?, ?, ?)",
                                        tenant,
                                        leaseOf(extend.lease()),
                                        (int) State.span(extend.units()))
                                .size());
    }

    private List<String> release(Op.Release release) throws SQLException {
        List<Held> held =
                deliveries.entrySet().stream()
                        .filter(
                                entry ->
                                        entry.getKey().pop() == release.pop()
                                                && entry.getKey().job() == release.job())
                        .map(Map.Entry::getValue)
                        .toList();
        return List.of(
                "released "
                        + log.value(
                                "select queen_store.release_lease(?, ?, ?)",
                                held.isEmpty() ? STRANGER : held.getFirst().lease(),
                                held.stream().map(Held::lane).toArray(Long[]::new),
                                held.stream().map(Held::group).toArray(Integer[]::new)));
    }

    private List<String> configure(Op.Configure configure) throws SQLException {
        String options =
                configure.options().stream()
                        .map(option -> "\"" + option.name() + "\":" + option.value())
                        .collect(Collectors.joining(",", "{", "}"));
        log.rows(
                "select * from queen_store.configure_queue(?, ?, true, ?::jsonb)",
                tenant,
                configure.queue(),
                options);
        return List.of("configured");
    }
}
