package io.queenmq.machine;

import static io.queenmq.machine.SqlState.number;
import static io.queenmq.machine.SqlState.text;

import io.queenmq.machine.Op.Delivered;
import io.queenmq.machine.Op.Job;
import io.queenmq.machine.Op.Start;
import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.LogFixture.Candidate;
import io.queenmq.testkit.LogFixture.Claim;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Pops as the broker makes them: the group by its name, lanes by theirs, then one claim. */
final class SqlPops {
    private static final int FRAMES_BYTES_MAX = 1 << 20;

    private final LogFixture log;
    private final UUID tenant;
    private final SqlState state;
    private final Map<Delivered, SqlMachine.Held> deliveries;
    private final Map<UUID, String> leaseNames;

    /**
     * @param deliveries told what was taken
     * @param leaseNames told what the model calls the leases
     */
    SqlPops(
            LogFixture log,
            UUID tenant,
            SqlState state,
            Map<Delivered, SqlMachine.Held> deliveries,
            Map<UUID, String> leaseNames) {
        this.log = log;
        this.tenant = tenant;
        this.state = state;
        this.deliveries = deliveries;
        this.leaseNames = leaseNames;
    }

    List<String> register(Op.Register register) throws SQLException {
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
                : state.ago(State.span(start.age()));
    }

    private static @Nullable String rule(@Nullable Start start) {
        return start == null ? null : start.rule().name().toLowerCase(Locale.ROOT);
    }

    List<String> queuePop(Op.QueuePop pop) throws SQLException {
        Job job = pop.job();
        registration(job.queue(), job.group(), pop.start(), true, pop.conflates());
        return pop(new Op.Pop(pop.id(), pop.claim(), pop.start(), List.of(job)));
    }

    List<String> pop(Op.Pop pop) throws SQLException {
        List<LogFixture.Job> jobs = new ArrayList<>();
        List<Candidate> candidates = new ArrayList<>();
        List<Delivered> places = new ArrayList<>();
        List<String> lines = new ArrayList<>();
        List<Integer> open = new ArrayList<>();
        for (int j = 0; j < pop.jobs().size(); j++) {
            Job job = pop.jobs().get(j);
            List<@Nullable Long> lanes = new ArrayList<>();
            for (String partition : job.partitions()) {
                lanes.add(lane(job.queue(), partition));
            }
            if (lanes.stream().allMatch(Objects::isNull)) {
                job.partitions().forEach(name -> lines.add(Pops.head(job, name) + "no lane"));
                continue;
            }
            int group = number(registration(job.queue(), job.group(), null, false, false)[1]);
            UUID lease = UUID.randomUUID();
            jobs.add(
                    new LogFixture.Job(
                            pop.claim().leases() ? lease : null,
                            job.budget(),
                            job.several() ? job.laneLimit() : 1,
                            job.leaseUnits() > 0 ? (int) State.span(job.leaseUnits()) : 0,
                            job.several()));
            for (int i = 0; i < job.partitions().size(); i++) {
                String head = Pops.head(job, job.partitions().get(i));
                Long lane = lanes.get(i);
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
            deliveries.put(
                    place, new SqlMachine.Held(candidate.lane(), candidate.group(), lease, end));
        } else {
            deliveries.put(
                    place,
                    new SqlMachine.Held(
                            candidate.lane(), candidate.group(), SqlMachine.STRANGER, end));
        }
        return "%s %d..%d%s"
                .formatted(
                        first.verdict(),
                        first.from(),
                        end,
                        lease == null ? "" : " attempt " + first.attempt());
    }

    /** Number of a lane by its name. */
    @Nullable Long lane(String queue, String partition) throws SQLException {
        List<@Nullable Object[]> rows =
                log.rows(
                        "select partition_id from queen_store.find_lanes(?, ?, ?)",
                        new UUID[] {tenant},
                        new String[] {queue},
                        new String[] {partition});
        return rows.isEmpty() ? null : (Long) rows.getFirst()[0];
    }
}
