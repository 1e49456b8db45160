package io.queenmq.machine;

import static io.queenmq.machine.SqlState.number;
import static io.queenmq.machine.SqlState.text;

import io.queenmq.machine.Op.Delivered;
import io.queenmq.machine.Op.Item;
import io.queenmq.machine.Op.Job;
import io.queenmq.machine.Op.LaneRef;
import io.queenmq.machine.Op.Start;
import io.queenmq.machine.Op.Unit;
import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.LogFixture.Acked;
import io.queenmq.testkit.LogFixture.Candidate;
import io.queenmq.testkit.LogFixture.Claim;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Timestamp;
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

/** The procedures themselves, called as the broker calls them, for one tenant. */
final class SqlMachine implements Machine {
    private static final UUID STRANGER = UUID.fromString("01890000-0000-7000-8000-000000000001");
    private static final int FRAMES_BYTES_MAX = 1 << 20;

    /** What a delivery was of. */
    record Held(long lane, int group, UUID lease, long end) {}

    private final Connection connection;
    private final LogFixture log;
    private final UUID tenant;
    private final Map<Delivered, Held> deliveries = new LinkedHashMap<>();
    private final Map<UUID, String> leaseNames = new HashMap<>();
    private final SqlPushes pushes;
    private final SqlState state;

    SqlMachine(Connection connection) {
        this(connection, UUID.randomUUID());
    }

    /** Another connection for the same tenant, that knows of the same deliveries. */
    SqlMachine(Connection connection, SqlMachine other) {
        this(connection, other.tenant);
        deliveries.putAll(other.deliveries);
        leaseNames.putAll(other.leaseNames);
    }

    /** Tells another connection what this one was given. */
    void deliveriesInto(SqlMachine other) {
        other.deliveries.putAll(deliveries);
        other.leaseNames.putAll(leaseNames);
    }

    private SqlMachine(Connection connection, UUID tenant) {
        this.tenant = tenant;
        this.connection = connection;
        this.log = new LogFixture(connection);
        this.pushes = new SqlPushes(log, tenant);
        this.state = new SqlState(log, tenant, leaseNames);
    }

    @Override
    public List<String> apply(Op op) throws SQLException {
        return switch (op) {
            case Op.Push push -> pushes.push(push);
            case Op.Settle settle ->
                    pushes.append(
                            List.of(settle.batch()), settle.above(), false, new ArrayList<>());
            case Op.Pop pop -> pop(pop);
            case Op.Register register -> register(register);
            case Op.AckBatches acks -> ackBatches(acks);
            case Op.Ack ack -> ack(ack);
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

    private List<String> register(Op.Register register) throws SQLException {
        @Nullable Object[] row =
                registration(
                        register.queue(),
                        register.group(),
                        register.start(),
                        register.create(),
                        register.conflates());
        return List.of(
                text(row[0]).equals("ready")
                        ? "ready registered=" + (row[2] != null)
                        : text(row[0]));
    }

    /** Verdict, number of the group and its rule. */
    private @Nullable Object[] registration(
            String queue, String group, @Nullable Start start, boolean create, boolean conflates)
            throws SQLException {
        Instant instant = instant(start);
        return log.rows(
                        "select verdict, group_id, start_rule from queen_store.register_group(?, ?,"
                                + " ?, ?, ?::text::timestamptz, ?, ?)",
                        tenant,
                        queue,
                        group,
                        rule(start),
                        instant == null ? null : instant.toString(),
                        create,
                        conflates)
                .getFirst();
    }

    private @Nullable Instant instant(@Nullable Start start) throws SQLException {
        return start == null || start.rule() != Op.Rule.INSTANT
                ? null
                : ((Timestamp)
                                log.value(
                                        "select clock_timestamp() - make_interval(secs => ?)",
                                        State.span(start.age())))
                        .toInstant();
    }

    private static @Nullable String rule(@Nullable Start start) {
        return start == null ? null : start.rule().name().toLowerCase(Locale.ROOT);
    }

    private List<String> pop(Op.Pop pop) throws SQLException {
        List<LogFixture.Job> jobs = new ArrayList<>();
        List<Candidate> candidates = new ArrayList<>();
        List<Delivered> places = new ArrayList<>();
        List<String> lines = new ArrayList<>();
        List<Integer> open = new ArrayList<>();
        for (int j = 0; j < pop.jobs().size(); j++) {
            Job job = pop.jobs().get(j);
            Integer group = (Integer) registration(job.queue(), job.group(), null, false, false)[1];
            if (group == null) {
                lines.add("no queue");
                continue;
            }
            UUID lease = UUID.randomUUID();
            jobs.add(
                    new LogFixture.Job(
                            pop.claim().leases() ? lease : null,
                            job.budget(),
                            job.several() ? job.laneLimit() : 1,
                            job.leaseUnits() > 0 ? (int) State.span(job.leaseUnits()) : 0,
                            job.several()));
            for (int i = 0; i < job.partitions().size(); i++) {
                String head =
                        "%s/%s %s: ".formatted(job.queue(), job.partitions().get(i), job.group());
                Long lane = lane(job.queue(), job.partitions().get(i));
                if (lane == null) {
                    lines.add(head + "no lane");
                } else {
                    open.add(lines.size());
                    lines.add(head);
                    candidates.add(new Candidate(jobs.size(), lane, group));
                    places.add(new Delivered(pop.id(), j, i));
                }
            }
        }
        if (candidates.isEmpty()) {
            return lines;
        }
        Map<Integer, List<Claim>> claims =
                claim(pop, jobs, candidates).stream()
                        .collect(Collectors.groupingBy(Claim::candidate));
        for (int i = 0; i < candidates.size(); i++) {
            List<Claim> rows = claims.getOrDefault(i + 1, List.of());
            lines.set(
                    open.get(i),
                    lines.get(open.get(i)) + verdict(places.get(i), candidates.get(i), rows));
        }
        return lines;
    }

    private List<Claim> claim(Op.Pop pop, List<LogFixture.Job> jobs, List<Candidate> candidates)
            throws SQLException {
        return switch (pop.claim()) {
            case LEASED -> log.claim("claim_leased", jobs, candidates, FRAMES_BYTES_MAX);
            case AUTO -> log.claim("claim_auto", jobs, candidates, FRAMES_BYTES_MAX);
            case FIRST, FIRST_AUTO ->
                    log.claimFirst(jobs, candidates, rule(pop.start()), instant(pop.start()));
        };
    }

    /** The rows of a lane as one span; they must follow each other. */
    private String verdict(Delivered place, Candidate candidate, List<Claim> rows) {
        if (rows.isEmpty()) {
            return "no row";
        }
        Claim first = rows.getFirst();
        if (first.count() == 0 || first.attempt() == 0) {
            return first.verdict() + (rows.size() == 1 ? "" : " in " + rows.size() + " rows");
        }
        long end = first.from() - 1;
        for (Claim row : rows) {
            if (row.from() != end + 1) {
                return "a gap after " + end + ": " + rows;
            }
            end += row.count();
        }
        UUID lease = first.leaseId();
        if (lease != null) {
            leaseNames.put(lease, State.name(place));
            deliveries.put(place, new Held(candidate.lane(), candidate.group(), lease, end));
        } else {
            deliveries.put(place, new Held(candidate.lane(), candidate.group(), STRANGER, end));
        }
        return "%s %d..%d%s"
                .formatted(
                        first.verdict(),
                        first.from(),
                        end,
                        lease == null ? "" : " attempt " + first.attempt());
    }

    private @Nullable Long lane(String queue, String partition) throws SQLException {
        List<@Nullable Object[]> rows =
                log.rows(
                        "select partition_id from queen_store.find_lanes(?, ?, ?)",
                        new UUID[] {tenant},
                        new String[] {queue},
                        new String[] {partition});
        return rows.isEmpty() ? null : (Long) rows.getFirst()[0];
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
                            item.transactionId(),
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

    private long laneOf(LaneRef ref) throws SQLException {
        if (ref.delivered() != null) {
            Held held = deliveries.get(ref.delivered());
            return held == null ? 0 : held.lane();
        }
        Long lane = lane(ref.queue(), ref.partition());
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
