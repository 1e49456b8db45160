package io.queenmq;

import static io.queenmq.testkit.PlanLog.LANES_OF_A_CALL;
import static io.queenmq.testkit.PlanLog.LEASE;
import static io.queenmq.testkit.PlanLog.leases;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.PlanLog;
import io.queenmq.testkit.PlanLog.Lane;
import io.queenmq.testkit.PlanScene;
import io.queenmq.testkit.PlanScene.Call;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Goal: what runs per message, and what cleans up behind it, touches as much as it is about, over
 * as many epochs as there may be. Method: 20,000 lanes with a segment in each of 16 epochs, a
 * quarter of them expired; generic plans, made while there was one lane of each kind; buffers and
 * scans are counted by the server. Nearly all calls are about 20 lanes.
 */
class HotPlanTest {
    private static final int EPOCHS = 16;
    private static final int LANES = 20_000;

    private static final String TENANT = "'" + LogFixture.TENANT + "'::uuid";

    private static PlanScene scene;

    private static final List<Call> PUSHES =
            List.of(
                    new Call(append(Lane.KEEPS_UP.of(1), 0, Long.MAX_VALUE, "null", "new"), 470),
                    new Call(append(Lane.KEEPS_UP.of(1), 1, 0, "null", "new"), 3_200),
                    new Call(append(Lane.KEEPS_UP.of(2), 1, 0, "null", "new"), 5_200),
                    new Call(append(Lane.KEEPS_UP.of(2), 1, 0, "null", "m9"), 5_700),
                    new Call(append(Lane.KEEPS_UP.of(1), 0, Long.MAX_VALUE, "20", "new"), 1_600),
                    new Call("queen.push('q', 'p3030', '{}')", 70),
                    new Call("queen.push('wide', 'p3040', '{}', 'm9')", 220),
                    new Call("queen_store.read_keys(3030, 0, 31, 'epoch', 10)", 70),
                    new Call("queen_store.message_at(3030, 9)", 50));

    private static final List<Call> POPS =
            List.of(
                    new Call(claim("leased", Lane.KEEPS_UP.of(1), 1, ""), 740),
                    new Call(claim("leased", Lane.LAGS.of(1), 1, ""), 2_700),
                    new Call(claim("leased", Lane.KEEPS_UP.of(3), 3, ""), 940),
                    new Call(claim("leased", Lane.LAGS.of(3), 3, ""), 3_100),
                    new Call(auto(Lane.KEEPS_UP.of(1)), 700),
                    new Call(auto(Lane.LAGS.of(1)), 2_700),
                    new Call(claim("first", Lane.NEW.of(1), 4, rules("null", "null")), 3_200),
                    new Call(claim("first", Lane.NEW.of(1), 5, rules("null", "null")), 4_100),
                    new Call(claim("first", Lane.NEW.of(1), 6, rules("'new'", "null")), 840),
                    new Call(
                            claim(
                                    "first",
                                    Lane.NEW.of(1),
                                    6,
                                    rules("'instant'", "(clock_timestamp() - interval '5 hours')")),
                            3_900),
                    new Call(
                            "queen_store.read_segments("
                                    + Lane.LAGS.of(1)
                                    + ", array_fill(20::bigint, array[20]))",
                            630),
                    new Call(
                            "queen_store.release_lease("
                                    + LEASE
                                    + ", "
                                    + Lane.LEASED.of(1)
                                    + ", array_fill(1, array[20]))",
                            290),
                    new Call(pending(Lane.KEEPS_UP.of(1), 1), 170),
                    new Call(pending(Lane.LAGS.of(3), 3), 560),
                    new Call(pending(Lane.NEW.of(1), 5), 1_100),
                    new Call("queen_store.lanes_with_work(1, 1, null, null, 0, 20)", 650),
                    new Call("queen_store.lanes_with_work(1, 5, null, null, 0, 20)", 1_500),
                    new Call("queen_store.effective_cursor(3039, 5)", 60),
                    new Call("queen_store.first_created_at(3057, 0, 15)", 60),
                    new Call("queen.pop('q', 'g', 2, 'p3030')", 70),
                    new Call("queen.pop('q', 'instant', 20, null, 20)", 49_000));

    private static final List<Call> ACKS =
            List.of(
                    new Call(batches(Lane.LEASED.of(1), "31"), 330),
                    new Call(batches(Lane.LAGS_LEASED.of(1), "21"), 1_500),
                    new Call(messages(Lane.LEASED.of(1), true, "m31", 0), 1_100),
                    new Call(messages(Lane.LAGS_LEASED.of(1), true, "m21", 0), 4_100),
                    new Call(messages(Lane.LAGS_LEASED.of(1), true, "m19", 1), 3_000),
                    new Call(messages(Lane.LAGS_LEASED.of(1), true, "m19", 2), 3_000),
                    new Call(messages(Lane.LAGS_LEASED.of(1), true, "m19", 3), 5_400),
                    new Call(messages(Lane.LAGS.of(1), false, "m31", 0), 4_400),
                    new Call(messages(Lane.LAGS.of(2), false, "m19", 0), 4_200),
                    new Call(messages(Lane.HAS_ALL.of(2), false, "m19", 0), 3_300),
                    new Call(messages(Lane.LAGS.of(2), false, "nowhere", 0), 5_000),
                    new Call(
                            "queen_store.extend_lease("
                                    + TENANT
                                    + ", queen_store.lease_uuid("
                                    + LEASE
                                    + ", "
                                    + Lane.LEASED.one(1)
                                    + "), 60)",
                            40),
                    new Call(
                            "queen.ack(queen_store.partition_uuid("
                                    + Lane.LAGS_LEASED.one(1)
                                    + "), 'm19', 'g', queen_store.lease_uuid("
                                    + LEASE
                                    + ", "
                                    + Lane.LAGS_LEASED.one(1)
                                    + "))",
                            240));

    /** Keys and timers know no epochs; what stands beside them in a bundle does. */
    private static final List<Call> BUNDLES =
            List.of(
                    new Call(bundle(), 7_800),
                    new Call(
                            "queen.transact(array['q'], array['p3030'], array['{}'],"
                                    + " array['new'], array[queen_store.partition_uuid(3036)],"
                                    + " array['m19'], array['g'], "
                                    + leases("array[3036::bigint]")
                                    + ", p_kv_ops => array['put'], p_kv_namespaces => array['n'],"
                                    + " p_kv_keys => array['k3030'], p_kv_values =>"
                                    + " array['2'::json], p_kv_ttl_seconds =>"
                                    + " array[null::bigint])",
                            410),
                    new Call(fire(), 3_200),
                    new Call(
                            "queen_store.claim_timers(20, 1048576, 60000, null, null, null, null)",
                            610),
                    new Call("queen.timer_schedule('q', 'k3030', '1', p_delay => '1 day')", 20),
                    new Call("queen.timer_cancel('q', 'k3031')", 20),
                    new Call("queen.kv_put('n', 'k3030', '2', null)", 30),
                    new Call("queen.kv_incr('n', 'k3031', 1, null)", 30),
                    new Call("queen.kv_get('n', 'k3032')", 20));

    private static final List<Call> READS =
            List.of(
                    new Call(
                            "queen_store.find_segments("
                                    + String.join(
                                            ", ",
                                            TENANT,
                                            filled("'q'::text"),
                                            "array(select 'p' || i from unnest("
                                                    + Lane.LAGS.of(1)
                                                    + ") i)",
                                            filled("8::bigint"),
                                            filled("1"),
                                            "67108864)"),
                            4_000),
                    new Call(
                            "queen_store.list_changes(" + TENANT + ", 'q', null, null, 'p3', 20)",
                            30),
                    new Call("queen_store.find_before(" + instants("'5 hours'") + ")", 600),
                    new Call("queen_store.find_before(" + instants("'9 hours'") + ")", 920),
                    new Call("queen_store.lane_depths(" + Lane.NEW.of(1) + ", null)", 1_400),
                    new Call(
                            "queen_store.unread_since("
                                    + Lane.LAGS.of(1)
                                    + ", "
                                    + filled("16::bigint")
                                    + ")",
                            1_200),
                    new Call("queen_store.count_lanes(1, 0, '', 20, true)", 3_800));

    private static final List<Call> JOBS =
            List.of(
                    new Call("queen_store.has_expired(clock_timestamp())", 20),
                    new Call("queen_store.expire(clock_timestamp(), 0, 20)", 5_300),
                    new Call(
                            "queen_store.evacuate(1, 20, 20, 1000000, false, clock_timestamp())",
                            250),
                    new Call("queen_store.count_epoch(8, 3000, 0, 20)", 90),
                    new Call("queen_store.sweep_epoch(20, clock_timestamp())", 30),
                    new Call(
                            "queen_store.seek_lane("
                                    + TENANT
                                    + ", 'q', 'p3030', 'g', 'instant', clock_timestamp() - interval"
                                    + " '5 hours', null)",
                            80),
                    new Call(
                            "queen_store.seek_lane("
                                    + TENANT
                                    + ", 'q', 'p3030', 'g', 'offset', null, 9)",
                            50));

    private static final List<Call> CALLS =
            List.of(PUSHES, POPS, ACKS, BUNDLES, READS, JOBS).stream()
                    .flatMap(List::stream)
                    .toList();

    private static String filled(String element) {
        return "array_fill(" + element + ", array[" + LANES_OF_A_CALL + "])";
    }

    /** A message for each of the lanes. */
    private static String append(
            String lanes, long vouchedFrom, long vouchedTo, String settleAbove, String id) {
        return "(select a.* from queen_store.encode_frames(array['"
                + id
                + "'], array['\\x7b7d'::bytea], null, null, null) f cross join lateral"
                + " queen_store.append("
                + String.join(
                        ", ",
                        lanes,
                        filled("7::bigint"),
                        filled(vouchedFrom + "::bigint"),
                        filled(vouchedTo + "::bigint"),
                        filled(settleAbove + "::bigint"),
                        "array(select generate_series(1, " + LANES_OF_A_CALL + "))",
                        filled("1"),
                        filled("f.keys"),
                        filled("f.frames"),
                        "false) a) a");
    }

    private static String claim(String kind, String lanes, int group, String rest) {
        return "queen_store.claim_"
                + kind
                + "(array[gen_random_uuid()], array[2000], array[0], array[60], array[true],"
                + " 1000000, "
                + filled("1")
                + ", "
                + lanes
                + ", "
                + filled("" + group)
                + rest
                + ")";
    }

    private static String rules(String rule, String at) {
        return ", " + filled(rule + "::text") + ", " + filled(at + "::timestamptz");
    }

    private static String auto(String lanes) {
        return "queen_store.claim_auto(array[2000], array[0], 1000000, "
                + filled("1")
                + ", "
                + lanes
                + ", "
                + filled("1")
                + ")";
    }

    private static String pending(String lanes, int group) {
        return "queen_store.pending_messages(" + lanes + ", " + group + ", 0, 1000)";
    }

    private static String batches(String lanes, String end) {
        return "queen_store.ack_batches("
                + String.join(", ", lanes, filled("1"), leases(lanes), filled(end + "::bigint"))
                + ")";
    }

    /**
     * The same message of each of the lanes; status 0 = completed, 1 = failed, 2 = retry, 3 = dlq.
     */
    private static String messages(String lanes, boolean leased, String id, int status) {
        return "queen_store.ack_messages("
                + String.join(
                        ", ",
                        filled(TENANT),
                        lanes,
                        filled("'g'::text"),
                        leased ? leases(lanes) : filled("null::uuid"),
                        "array(select generate_series(1, " + LANES_OF_A_CALL + "))",
                        filled("queen_store.key_of('" + id + "')"),
                        filled(status + "::smallint"),
                        filled("'x'::text"),
                        "false)");
    }

    /** Puts a key, schedules a timer, pushes to 20 lanes and acknowledges in as many others. */
    private static String bundle() {
        return "(select t.* from queen_store.encode_frames(array['new'], array['\\x7b7d'::bytea],"
                + " null, null, null) f cross join lateral queen_store.transact("
                + String.join(
                        ", ",
                        "gen_random_uuid(), false",
                        TENANT,
                        Lane.KEEPS_UP.of(1),
                        filled("7::bigint"),
                        filled("1::bigint"),
                        filled("0::bigint"),
                        "'{}'",
                        "array(select generate_series(1, " + LANES_OF_A_CALL + "))",
                        filled("1"),
                        filled("f.keys"),
                        filled("f.frames"),
                        Lane.LAGS_LEASED.of(1),
                        filled("'g'::text"),
                        leases(Lane.LAGS_LEASED.of(1)),
                        leases(Lane.LAGS_LEASED.of(1)),
                        "array(select generate_series(1, " + LANES_OF_A_CALL + "))",
                        filled("queen_store.key_of('m19')"),
                        filled("0::smallint"),
                        filled("null::text"),
                        Lane.LEASED.of(1),
                        filled("1"),
                        leases(Lane.LEASED.of(1)),
                        filled("31::bigint"),
                        "array['put'], array['n'], array['k3030'], array['2'],"
                                + " array[null::bigint], array[null::bigint],"
                                + " array[null::numeric], array[null::numeric],"
                                + " array[null::numeric], array[true], 1000000",
                        "array['q'], array['t'], array[false], array[3600000000],"
                                + " array[null::timestamptz], array['p'], array['t'],"
                                + " array[gen_random_uuid()], array['1'::bytea], array[false],"
                                + " array[false], null, 2000")
                + ") t) t";
    }

    private static String fire() {
        String lanes = Lane.KEEPS_UP.of(1);
        return "(select t.* from queen_store.encode_frames(array['new'], array['\\x7b7d'::bytea],"
                + " null, null, null) f cross join lateral queen_store.fire_timers("
                + String.join(
                        ", ",
                        filled(TENANT),
                        filled("'q'::text"),
                        "array(select 'k' || i from unnest(" + lanes + ") i)",
                        filled(LEASE),
                        "array(select generate_series(1, " + LANES_OF_A_CALL + "))",
                        filled(TENANT),
                        filled("'q'::text"),
                        "array(select 'p' || i from unnest(" + lanes + ") i)",
                        filled("7::bigint"),
                        filled("true"),
                        filled("false"),
                        "array(select generate_series(1, " + LANES_OF_A_CALL + "))",
                        filled("1"),
                        filled("f.keys"),
                        filled("f.frames"),
                        "1000, null")
                + ") t) t";
    }

    private static String instants(String ago) {
        return String.join(
                ", ",
                Lane.LAGS.of(1),
                filled("0::bigint"),
                filled("31::bigint"),
                filled("(clock_timestamp() - interval " + ago + ")"));
    }

    @BeforeAll
    static void load() throws SQLException {
        scene = new PlanScene("partitions", "cursors", "leases", "segments_\\d+", "kv", "timers");
        PlanLog log = new PlanLog(scene, EPOCHS);
        log.fillOneRound();
        scene.plan(CALLS);
        log.empty();
        log.fill(1, LANES);
    }

    @AfterAll
    static void drop() throws SQLException {
        scene.close();
    }

    @Test
    void aCallTouchesAFewBuffersPerLaneAndScansNothing() throws SQLException {
        assertEquals("", scene.findings(CALLS));
    }

    /** A call that finds nothing to do is cheap, and tells nothing. */
    @Test
    void theCallsDoWhatTheyAreCountedFor() throws SQLException {
        assertEquals("queued", verdicts(PUSHES.get(2)));
        assertEquals("duplicate", verdicts(PUSHES.get(3)));
        assertEquals("leased", verdicts(POPS.get(0)));
        assertEquals("leased", verdicts(POPS.get(1)));
        assertEquals("leased", verdicts(POPS.get(6)));
        assertEquals("released", verdicts(ACKS.get(0)));
        assertEquals("released", verdicts(ACKS.get(1)));
        assertEquals("done", verdicts(ACKS.get(3)));
    }

    private static String verdicts(Call call) throws SQLException {
        return scene.answer("select distinct verdict from " + call.sql() + " order by 1");
    }
}
