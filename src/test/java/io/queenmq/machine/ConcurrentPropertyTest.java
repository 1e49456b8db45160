package io.queenmq.machine;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.machine.CursorHistory.Call;
import io.queenmq.machine.CursorHistory.Event;
import io.queenmq.machine.Op.Option;
import io.queenmq.machine.Op.Rule;
import io.queenmq.machine.Op.Start;
import io.queenmq.machine.State.Lane;
import io.queenmq.machine.State.Message;
import io.queenmq.machine.State.Moment;
import io.queenmq.machine.State.Queue;
import io.queenmq.testkit.TestDatabase;
import java.security.SecureRandom;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Many clients at once on few lanes and groups. What each was told, and when it asked, is noted;
 * afterwards every lane must hold what was acknowledged and nothing else, in an order that the
 * clients could see, and the events of every cursor must have an order in which the model's cursor
 * answers so (see {@link LaneHistory} and {@link CursorHistory}). Leases end because a client says
 * so, never by the clock.
 */
class ConcurrentPropertyTest {
    private static final int CLIENTS = 6;
    private static final int STEPS = Run.steps("queen.machine.concurrentSteps", 160);

    private static TestDatabase database;

    @BeforeAll
    static void create() {
        database = TestDatabase.migrated();
    }

    @AfterAll
    static void drop() {
        database.close();
    }

    @Test
    void whatManyClientsWereToldHasAnOrder() throws Exception {
        Long given = Long.getLong("queen.machine.seed");
        long seed = given == null ? new SecureRandom().nextInt(1_000_000_000) : given;
        System.out.println("machine: " + CLIENTS + " clients at once, seed " + seed);
        AtomicLong clock = new AtomicLong();
        List<ConcurrentClient> clients = new ArrayList<>();
        List<String> findings = new ArrayList<>();
        try (SqlMachine machine = new SqlMachine(database.connect());
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            prepare(machine);
            for (int i = 0; i < CLIENTS; i++) {
                clients.add(
                        new ConcurrentClient(
                                i, seed, clock, new SqlMachine(database.connect(), machine)));
            }
            List<Future<?>> running = new ArrayList<>();
            for (ConcurrentClient client : clients) {
                running.add(
                        threads.submit(
                                () -> {
                                    client.run(STEPS);
                                    return null;
                                }));
            }
            for (Future<?> client : running) {
                client.get();
            }
            check(machine, clients, findings);
        } finally {
            for (ConcurrentClient client : clients) {
                client.close();
            }
        }
        assertEquals("", String.join("\n", findings), "seed " + seed);
    }

    private static void prepare(SqlMachine machine) throws SQLException {
        machine.apply(
                new Op.Configure(
                        -1,
                        "q",
                        List.of(
                                new Option("lease_seconds", String.valueOf(State.span(1))),
                                new Option("retry_limit", "1"))));
        for (String group : ConcurrentClient.GROUPS) {
            machine.apply(new Op.Register(-2, "q", group, new Start(Rule.ALL, 0), false, false));
        }
    }

    private static void check(
            SqlMachine machine, List<ConcurrentClient> clients, List<String> findings)
            throws SQLException {
        List<String> log = machine.log();
        log.stream().filter(line -> line.startsWith("violation")).forEach(findings::add);
        long letters =
                machine.lines().stream().filter(line -> line.startsWith("dead letter")).count();
        long told = clients.stream().mapToLong(ConcurrentClient::deadLetters).sum();
        if (letters != told) {
            findings.add(letters + " dead letters, but what clients were told leaves " + told);
        }
        for (String name : ConcurrentClient.LANES) {
            List<String> ids = ids(log, name);
            LaneHistory pushes = new LaneHistory();
            clients.forEach(client -> client.addPushes(name, pushes));
            findings.addAll(pushes.contradictions(name, ids));
            for (String group : ConcurrentClient.GROUPS) {
                List<Event> events =
                        CursorHistory.sorted(
                                clients.stream()
                                        .flatMap(client -> client.events(name, group).stream())
                                        .collect(Collectors.toList()));
                String contradiction =
                        new CursorHistory(lane(name, ids), group, events).contradiction();
                if (contradiction != null) {
                    findings.add("no order of events for " + contradiction);
                }
                findings.addAll(skipped(name, group, events, ids.size()));
            }
        }
    }

    private static List<String> ids(List<String> log, String lane) {
        String head = "message q/" + lane + " ";
        return log.stream()
                .filter(line -> line.startsWith(head))
                .map(line -> line.substring(head.length()).split(" ", 2))
                .sorted(
                        (one, other) ->
                                Long.compare(Long.parseLong(one[0]), Long.parseLong(other[0])))
                .map(parts -> parts[1])
                .toList();
    }

    private static Lane lane(String name, List<String> ids) {
        Queue queue = new Queue("q", (int) State.span(1));
        queue.retryLimit = 1;
        Lane lane = new Lane(queue, name);
        queue.lanes.put(name, lane);
        for (int i = 0; i < ids.size(); i++) {
            lane.messages.add(new Message(i, ids.get(i), new Moment(0, i), i));
        }
        return lane;
    }

    /** Nothing may be told to be leased that is not there. */
    private static List<String> skipped(String lane, String group, List<Event> events, int size) {
        List<String> findings = new ArrayList<>();
        for (Event event : events) {
            if (event.call() instanceof Call.Claimed claimed
                    && claimed.verdict().startsWith("leased")) {
                long end =
                        Long.parseLong(claimed.verdict().replaceFirst(".*\\.\\.(\\d+) .*", "$1"));
                if (end >= size) {
                    findings.add(lane + " " + group + ": leased beyond the end: " + event);
                }
            }
        }
        return findings;
    }
}
