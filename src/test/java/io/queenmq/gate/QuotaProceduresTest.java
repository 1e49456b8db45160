package io.queenmq.gate;

import static io.queenmq.testkit.Lines.line;
import static io.queenmq.testkit.Lines.lines;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** What tenants have is measured page by page, and kept beside what they may have. */
class QuotaProceduresTest {
    private static final String ONE = "00000000-0000-0000-0000-00000000000a";
    private static final String TWO = "00000000-0000-0000-0000-00000000000b";
    private static final String USAGE =
            "select right(tenant_id::text, 1), kv_rows, kv_bytes, timer_rows, timer_bytes"
                    + " from queen_store.kv_usage order by 1";

    @Test
    void pagesOfATableAddUpToWhatTenantsHave() throws Exception {
        try (TestDatabase database = TestDatabase.migrated();
                Connection db = database.connect()) {
            lines(
                    db,
                    "insert into queen_store.kv select ('"
                            + ONE
                            + "')::uuid, 'n', 'k' || i,"
                            + " to_json(repeat('x', 300))::text, i, null, now(), now()"
                            + " from generate_series(1, 1000) i");
            // One of them far longer than a page, and one that is over.
            lines(
                    db,
                    "insert into queen_store.kv select ('"
                            + TWO
                            + "')::uuid, 'n', 'k' || i,"
                            + " case i when 1 then (select '\"' || string_agg(md5(j::text), '') ||"
                            + " '\"' from generate_series(1, 1000) j) else '1' end, i,"
                            + " case i when 2 then now() end, now(), now()"
                            + " from generate_series(1, 3) i");
            lines(
                    db,
                    "insert into queen_store.timers (tenant_id, queue, timer_key, partition,"
                            + " deliver_at, transaction_id, message_id, payload)"
                            + " select ('"
                            + TWO
                            + "')::uuid, 'q', 'k' || i, 'p', now(), 't',"
                            + " gen_random_uuid(), '\\x0102' from generate_series(1, 4) i");
            int pages =
                    Integer.parseInt(
                            line(db, "select kv_pages from queen_store.usage_outlook(now())"));
            assertTrue(pages > 10, "the table has pages to step over");
            String all =
                    "select right(tenant_id::text, 1), sum(items), sum(bytes)"
                            + " from generate_series(0, 1000, %d) p,"
                            + " queen_store.weigh_kv(p, %d, clock_timestamp()) group by 1"
                            + " order by 1";
            List<String> weighed = lines(db, all.formatted(1, 1));
            assertEquals(List.of("a|1000|302000", "b|2|32003"), weighed);
            assertEquals(weighed, lines(db, all.formatted(1001, 1001)));
            assertEquals(weighed, lines(db, all.formatted(3, 3)));
            assertEquals(
                    List.of("b|4|8"),
                    lines(
                            db,
                            "select right(tenant_id::text, 1), items, bytes"
                                    + " from queen_store.weigh_timers(0, 100)"));
            String page =
                    "explain (analyze, buffers) select * from queen_store.weigh_kv(0, 1, now())";
            lines(db, page);
            String buffers =
                    lines(db, page).stream()
                            .filter(l -> l.contains("Buffers:"))
                            .findFirst()
                            .orElseThrow();
            Matcher hit = Pattern.compile("hit=(\\d+)").matcher(buffers);
            assertTrue(hit.find() && Integer.parseInt(hit.group(1)) < pages / 2, buffers);

            // One tenant alone, now; that is news for whoever enforces.
            assertEquals(
                    "2|32003|4",
                    line(
                            db,
                            "select kv_rows, kv_bytes, timer_rows"
                                    + " from queen_store.measure_tenant('"
                                    + TWO
                                    + "')"));
            assertEquals(List.of("b|2|32003|4|8"), lines(db, USAGE));
        }
    }

    @Test
    void whoIsNotNamedInAMeasurementHasNothingAndALaterOneStays() throws Exception {
        try (TestDatabase database = TestDatabase.migrated();
                Connection db = database.connect()) {
            String record =
                    "select queen_store.record_usage('2026-01-0%d', array%s::uuid[],"
                            + " array%s::bigint[], array%s::bigint[], array%s::bigint[],"
                            + " array%s::bigint[])";
            lines(
                    db,
                    record.formatted(
                            2,
                            "['" + ONE + "','" + TWO + "']",
                            "[1,2]",
                            "[3,4]",
                            "[5,6]",
                            "[7,8]"));
            assertEquals(List.of("a|1|3|5|7", "b|2|4|6|8"), lines(db, USAGE));
            lines(db, record.formatted(1, "['" + ONE + "']", "[9]", "[9]", "[9]", "[9]"));
            assertEquals(List.of("a|1|3|5|7", "b|2|4|6|8"), lines(db, USAGE));
            lines(
                    db,
                    "select queen_store.set_kv_quota('"
                            + TWO
                            + "', '{max_rows}', true, 10, null,"
                            + " null, null, null, null)");
            lines(db, record.formatted(3, "[]", "[]", "[]", "[]", "[]"));
            assertEquals(
                    List.of("b|0|0|0|0"),
                    lines(db, USAGE),
                    "who has a quota is told of nothing, too");
        }
    }

    /** Brokers would go by what was measured before for as long as the clock was set back. */
    @Test
    void aMeasurementOfATimeThatIsStillToComeIsVoid() throws Exception {
        try (TestDatabase database = TestDatabase.migrated();
                Connection db = database.connect()) {
            String later =
                    "insert into queen_store.kv_usage select id::uuid, 9, 9, 9, 9, now() +"
                            + " interval '1 hour' from unnest(array['"
                            + ONE
                            + "','"
                            + TWO
                            + "']) id";
            lines(db, later);
            lines(db, "select queen_store.measure_tenant('" + ONE + "')");
            assertEquals(List.of("a|0|0|0|0", "b|9|9|9|9"), lines(db, USAGE));
            lines(db, "delete from queen_store.kv_usage");
            lines(db, later);
            lines(
                    db,
                    "select queen_store.record_usage(now(), array['"
                            + ONE
                            + "']::uuid[], array[1]::bigint[], array[2]::bigint[],"
                            + " array[3]::bigint[], array[4]::bigint[])");
            assertEquals(List.of("a|1|2|3|4"), lines(db, USAGE), "and who is gone has nothing");
        }
    }

    @Test
    void whatIsNotNamedStaysAsItWas() throws Exception {
        try (TestDatabase database = TestDatabase.migrated();
                Connection db = database.connect()) {
            String set =
                    "select queen_store.set_kv_quota('"
                            + ONE
                            + "', '%s', %s, 10, 20, 30, 40, 50,"
                            + " 60)";
            String read =
                    "select enabled, max_rows, max_bytes, max_timers, max_timer_horizon_seconds,"
                            + " max_reads_per_second, max_writes_per_second, kv_rows,"
                            + " measured_at is null from queen_store.read_quotas()";
            lines(db, set.formatted("{enabled}", "false"));
            assertEquals("f|10|20|30|40|50|60|0|t", line(db, read));
            lines(
                    db,
                    "select queen_store.set_kv_quota('"
                            + ONE
                            + "', '{max_bytes,enabled}', true, 1,"
                            + " null, 1, 1, 1, 1)");
            assertEquals("t|10||30|40|50|60|0|t", line(db, read));
            assertEquals(
                    "t|10|0|",
                    line(db, "select enabled, max_rows, kv_rows, max_bytes from queen.quotas"));
        }
    }
}
