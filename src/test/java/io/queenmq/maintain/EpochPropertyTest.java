package io.queenmq.maintain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.LogFixture.Claim;
import io.queenmq.testkit.LogFixture.Job;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Goal: whatever becomes of epochs, nobody who reads, consumes or repeats a push can tell. Method:
 * random pushes, pops, seeks and expiries, some in a transaction that stays open for a while,
 * between steps of epochs; a plain list per lane says what must be read and delivered. In odd runs
 * keys stay needed for ever, and every repetition must be recognised; in even ones those of expired
 * messages are not, so that rows die.
 */
class EpochPropertyTest {
    private static final int LANES = 3;
    private static final int STEPS = 250;

    /** What is known of a lane: messages by offset, what has expired, who has read how far. */
    private static final class Lane {
        final long number;
        final String name;
        final List<String> messages = new ArrayList<>();
        final List<Integer> segmentStarts = new ArrayList<>();
        int logStart;
        final int[] committed = {-1, -1};

        Lane(long number, String name) {
            this.number = number;
            this.name = name;
        }
    }

    /** A pop of group 1 in a transaction that has not ended. */
    private record OpenPop(Connection connection, Lane lane, int committed) {}

    private EpochScene scene;
    private LogFixture log;
    private Random random = new Random(0);
    private boolean keysAgeless;
    private final List<Lane> lanes = new ArrayList<>();
    private final int[] groups = new int[2];
    private final List<String> history = new ArrayList<>();
    private @Nullable OpenPop openPop;
    private int names;

    @BeforeEach
    void create() throws SQLException {
        scene = new EpochScene();
        log = scene.log;
    }

    @AfterEach
    void close() throws SQLException {
        scene.close();
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4})
    void nobodyCanTell(long seed) throws SQLException {
        random = new Random(seed);
        keysAgeless = seed % 2 == 1;
        try {
            int queue = log.queue("q");
            groups[0] = log.group(queue, "a", "all", null);
            groups[1] = log.group(queue, "b", "all", null);
            for (int i = 0; i < LANES; i++) {
                long number = log.lane(queue);
                lanes.add(
                        new Lane(
                                number,
                                (String)
                                        log.value(
                                                "select name from queen_store.partitions where id = ?",
                                                number)));
            }
            for (int step = 0; step < STEPS; step++) {
                step();
                for (Lane lane : lanes) {
                    assertRead(lane);
                }
            }
            end();
            for (Lane lane : lanes) {
                assertRead(lane);
                assertEquals(List.of(), scene.violations(lane.number), this::run);
            }
            assertTrue(
                    Integer.parseInt(scene.line("select max(epoch) from queen_store.epochs")) > 3);
        } catch (SQLException | AssertionError e) {
            throw new AssertionError("seed " + seed + "\n" + run(), e);
        }
    }

    private String run() {
        return String.join("\n", history);
    }

    private void step() throws SQLException {
        Lane lane = lanes.get(random.nextInt(LANES));
        int dice = random.nextInt(100);
        if (dice < 25) {
            push(lane);
        } else if (dice < 40) {
            pop(lane, 0);
        } else if (dice < 45) {
            seek(lane);
        } else if (dice < 55) {
            expire(lane);
        } else if (dice < 62) {
            repeat(lane);
        } else if (dice < 70) {
            begin(lane);
        } else if (dice < 76) {
            end();
        } else {
            moveEpochs();
        }
    }

    private void push(Lane lane) throws SQLException {
        String[] ids = new String[random.nextInt(1, 4)];
        for (int i = 0; i < ids.length; i++) {
            ids[i] = "m" + names++;
        }
        history.add("push " + lane.number + " " + ids.length);
        assertEquals(lane.messages.size(), log.append(lane.number, ids), this::run);
        lane.segmentStarts.add(lane.messages.size());
        lane.messages.addAll(List.of(ids));
    }

    /** The next messages of a lane for a group, and no others. */
    private int pop(LogFixture on, Lane lane, int group) throws SQLException {
        int budget = random.nextInt(1, 6);
        history.add("pop " + lane.number + " " + "ab".charAt(group) + " " + budget);
        int from = Math.max(lane.committed[group] + 1, lane.logStart);
        int to = Math.min(from + budget, lane.messages.size());
        List<Long> expected = new ArrayList<>();
        for (long offset = from; offset < to; offset++) {
            expected.add(offset);
        }
        List<Long> taken = new ArrayList<>();
        for (Claim claim :
                on.claimFirst(
                        random.nextBoolean() ? Job.auto(budget) : Job.of(budget),
                        groups[group],
                        null,
                        null,
                        lane.number)) {
            for (int i = 0; i < claim.count(); i++) {
                taken.add(claim.from() + i);
            }
            if (claim.leaseId() != null) {
                assertEquals(
                        "released",
                        on.ackBatch(groups[group], lane.number, claim.leaseId(), to - 1),
                        this::run);
                break;
            }
        }
        assertEquals(
                expected.isEmpty() ? List.of() : expected.subList(0, Math.max(taken.size(), 1)),
                taken,
                this::run);
        return to - 1;
    }

    private void pop(Lane lane, int group) throws SQLException {
        int end = pop(log, lane, group);
        lane.committed[group] = Math.max(lane.committed[group], end);
    }

    private void seek(Lane lane) throws SQLException {
        int offset = random.nextInt(lane.messages.size() + 1);
        history.add("seek " + lane.number + " " + offset);
        scene.line(
                "select verdict from queen_store.seek_lane('%s', 'q', '%s', 'a', 'offset', null, %d)"
                        .formatted(LogFixture.TENANT, lane.name, offset));
        lane.committed[0] = Math.max(offset, lane.logStart) - 1;
    }

    private void expire(Lane lane) throws SQLException {
        List<Integer> starts =
                new ArrayList<>(
                        lane.segmentStarts.stream().filter(s -> s > lane.logStart).toList());
        starts.add(lane.messages.size());
        int to = starts.get(random.nextInt(Math.min(3, starts.size())));
        history.add("expire " + lane.number + " " + to);
        scene.expire(lane.number, to);
        lane.logStart = to;
    }

    private void repeat(Lane lane) throws SQLException {
        int from = keysAgeless ? 0 : lane.logStart;
        if (from < lane.messages.size()) {
            int offset = random.nextInt(from, lane.messages.size());
            history.add("repeat " + lane.number + " " + offset);
            assertEquals(
                    "duplicate|" + offset,
                    scene.line(
                            "select a.verdict, a.duplicate_offsets[1] from"
                                    + " queen_store.encode_frames(array['"
                                    + lane.messages.get(offset)
                                    + "'], array['\\x7b7d'::bytea], null, null, null) f cross join"
                                    + " lateral queen_store.append(array["
                                    + lane.number
                                    + "::bigint], array[7::bigint], array[1::bigint],"
                                    + " array[0::bigint], array[null::bigint], array[1], array[1],"
                                    + " array[f.keys], array[f.frames], false) a"),
                    this::run);
        }
    }

    private void begin(Lane lane) throws SQLException {
        if (openPop == null) {
            Connection connection = scene.begin(Connection.TRANSACTION_READ_COMMITTED);
            history.add("begin");
            int end = pop(new LogFixture(connection), lane, 1);
            openPop = new OpenPop(connection, lane, Math.max(lane.committed[1], end));
        }
    }

    private void end() throws SQLException {
        OpenPop pop = openPop;
        if (pop != null) {
            boolean commits = random.nextInt(4) > 0;
            history.add(commits ? "commit" : "rollback");
            if (commits) {
                pop.connection().commit();
                pop.lane().committed[1] = pop.committed();
            } else {
                pop.connection().rollback();
            }
            pop.connection().close();
            openPop = null;
        }
    }

    /** One step that there is to take, whichever. */
    private void moveEpochs() throws SQLException {
        String now = keysAgeless ? "clock_timestamp()" : "clock_timestamp() + interval '2 hours'";
        int dice = random.nextInt(10);
        history.add("epochs " + dice + " " + scene.states());
        if (dice == 0 && scene.states().size() < 7) {
            scene.line(
                    "select queen_store.build_epoch((select epoch from queen_store.epochs where state"
                            + " = 'open'), clock_timestamp())");
        } else if (dice < 3) {
            scene.open();
        } else if (dice < 5) {
            scene.seal();
        } else if (dice < 8) {
            for (String oldest :
                    scene.lines(
                            "select min(epoch) from queen_store.epochs where epoch > 0 and state not"
                                    + " in ('empty')")) {
                history.add(
                        scene.evacuate(Integer.parseInt(oldest), "20, 2, 100000, false, " + now));
            }
        } else if (dice < 9) {
            scene.line("select rows from queen_store.sweep_epoch(5, " + now + ")");
        } else {
            depart();
        }
    }

    /** A detach would wait for the transaction that is open. */
    private void depart() throws SQLException {
        String step = scene.departing();
        if (step.endsWith("detach") && openPop == null) {
            scene.detach(Integer.parseInt(step.substring(0, step.indexOf('|'))), "concurrently");
        } else if (step.endsWith("drop")) {
            scene.line(
                    "select queen_store.drop_epoch(" + step.substring(0, step.indexOf('|')) + ")");
        }
    }

    private void assertRead(Lane lane) throws SQLException {
        List<String> expected = new ArrayList<>();
        for (int offset = lane.logStart; offset < lane.messages.size(); offset++) {
            expected.add(offset + "|" + lane.messages.get(offset) + "|{}");
        }
        assertEquals(
                expected,
                scene.lines(
                        "select \"offset\", transaction_id, payload from queen.read('q', '"
                                + lane.name
                                + "', 0, 10000)"),
                this::run);
    }
}
