package io.queenmq.kv;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.db.Database;
import io.queenmq.kv.KvResult.Written;
import io.queenmq.model.Caller;
import io.queenmq.model.Slice;
import io.queenmq.testkit.TestDatabase;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Random batches against a map: whatever is put, counted, removed and read in one call, the answers
 * are those of a map that is asked one after another.
 */
class KvPropertyTest {
    private static final int CALLS = 120;
    private static final List<String> KEYS = List.of("a", "b", "b/c", "\u00e9", "\uD83D\uDE00");
    private static final String NS = "n";

    private record Entry(String value, long version) {}

    private final Map<String, Entry> map = new HashMap<>();
    private Random random = new Random();

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void answersAreThoseOfAMap(long seed) {
        random = new Random(seed);
        KvConfig config = KvConfig.of(8);
        try (TestDatabase database = TestDatabase.migrated();
                Database pool = database.pool()) {
            KvProcedures procedures = new KvProcedures(pool);
            for (int i = 0; i < CALLS; i++) {
                List<KvOp> ops = batch();
                // As one call or two that go together: nobody can tell.
                int cut = random.nextInt(ops.size() + 1);
                List<KvCall> calls =
                        Stream.of(ops.subList(0, cut), ops.subList(cut, ops.size()))
                                .map(
                                        part ->
                                                new KvCall(
                                                        Caller.DEFAULT_TENANT,
                                                        part,
                                                        config.readBytesMax()))
                                .toList();
                procedures.apply(new KvBatch(calls), Duration.ofSeconds(1));
                boolean applied = !calls.getFirst().isUndone();
                String where = "seed " + seed + " call " + i + " " + ops;
                Map<String, Entry> before = new HashMap<>(map);
                int lost = -1;
                List<KvResult> results =
                        applied
                                ? calls.stream().flatMap(call -> call.results().stream()).toList()
                                : List.of();
                for (int j = 0; j < ops.size(); j++) {
                    String expected = expected(ops.get(j), before, applied ? results.get(j) : null);
                    if (expected.startsWith("lost") && lost < 0) {
                        lost = j;
                    }
                    if (applied && !isLate(ops.get(j))) {
                        assertEquals(expected, shown(results.get(j)), where + " at " + j);
                    }
                }
                if (applied) {
                    for (int j = 0; j < ops.size(); j++) {
                        if (isLate(ops.get(j))) {
                            assertEquals(
                                    expected(ops.get(j), before, results.get(j)),
                                    shown(results.get(j)),
                                    where + " at " + j);
                        }
                    }
                } else {
                    assertEquals(
                            lost,
                            lost < cut
                                    ? calls.getFirst().lost().index()
                                    : cut + calls.getLast().lost().index(),
                            where);
                    map.clear();
                    map.putAll(before);
                }
            }
        }
    }

    private static boolean isLate(KvOp op) {
        return op instanceof KvOp.GetMany || op instanceof KvOp.GetPrefix;
    }

    private List<KvOp> batch() {
        List<KvOp> ops = new ArrayList<>();
        Set<String> written = new HashSet<>();
        for (int left = 1 + random.nextInt(6); left > 0; left--) {
            String key = KEYS.get(random.nextInt(KEYS.size()));
            KvOp op =
                    switch (random.nextInt(8)) {
                        case 0 -> new KvOp.Get(NS, key);
                        case 1 -> new KvOp.GetMany(NS, List.of(key, "none", KEYS.get(0), key));
                        case 2 ->
                                new KvOp.GetPrefix(
                                        NS, random.nextBoolean() ? "b" : key, null, 2, false);
                        case 3 -> new KvOp.Delete(NS, key, expect(key), required());
                        case 4 ->
                                new KvOp.Incr(
                                        NS,
                                        key,
                                        BigDecimal.valueOf(random.nextInt(9) - 4),
                                        null,
                                        null,
                                        random.nextBoolean() ? BigDecimal.valueOf(5) : null,
                                        required());
                        case 5 ->
                                new KvOp.Check(
                                        NS,
                                        key,
                                        random.nextBoolean() ? Math.max(1, version(key)) : 3,
                                        random.nextInt(3) == 0);
                        default ->
                                new KvOp.Put(
                                        NS,
                                        key,
                                        Slice.utf8(
                                                random.nextBoolean()
                                                        ? Integer.toString(random.nextInt(7))
                                                        : "{\"v\": [" + key.length() + "]}"),
                                        null,
                                        expect(key),
                                        false,
                                        required());
                    };
            if (!(op instanceof KvOp.Write write) || written.add(write.key())) {
                ops.add(op);
            }
        }
        return ops;
    }

    private boolean required() {
        return random.nextInt(6) == 0;
    }

    private long version(String key) {
        Entry entry = map.get(key);
        return entry == null ? 0 : entry.version();
    }

    private @Nullable Long expect(String key) {
        return switch (random.nextInt(4)) {
            case 0 -> 0L;
            case 1 -> version(key);
            case 2 -> 3L;
            default -> null;
        };
    }

    /** What a map says, which the operation changes; a version that is new is the database's. */
    private String expected(KvOp op, Map<String, Entry> before, @Nullable KvResult result) {
        return switch (op) {
            case KvOp.Get get -> get.key() + " " + map.get(get.key());
            case KvOp.GetMany many -> {
                Map<String, Entry> found = new TreeMap<>();
                Set<String> missing = new LinkedHashSet<>();
                for (String name : many.names()) {
                    Entry entry = map.get(name);
                    if (entry == null) {
                        missing.add(name);
                    } else {
                        found.put(name, entry);
                    }
                }
                yield found + " " + missing;
            }
            case KvOp.GetPrefix page -> {
                Map<String, Entry> found = new TreeMap<>();
                for (String name : new TreeMap<>(map).keySet()) {
                    if (name.startsWith(page.prefix()) && found.size() < page.limit()) {
                        found.put(name, map.get(name));
                    }
                }
                yield found.toString();
            }
            case KvOp.Check check -> {
                Entry entry = before.get(check.key());
                String refusal =
                        entry == null
                                ? "absent"
                                : entry.version() == check.expect() ? null : "version";
                yield verdict(check, refusal, entry);
            }
            case KvOp.Put put -> {
                Entry entry = map.get(put.key());
                String refusal = refusal(put.expect(), entry);
                if (refusal != null) {
                    yield verdict(put, refusal, entry);
                }
                Entry after = new Entry(put.value().toString(), versionOf(result));
                map.put(put.key(), after);
                yield verdict(put, null, after);
            }
            case KvOp.Delete delete -> {
                Entry entry = map.get(delete.key());
                Long expect = delete.expect();
                String refusal =
                        expect == null ? (entry == null ? "absent" : null) : refusal(expect, entry);
                if (refusal == null) {
                    map.remove(delete.key());
                }
                yield verdict(delete, refusal, entry);
            }
            case KvOp.Incr incr -> {
                Entry entry = map.get(incr.key());
                if (entry != null && entry.value().startsWith("{")) {
                    yield verdict(incr, "type", entry);
                }
                BigDecimal sum =
                        incr.delta()
                                .add(
                                        entry == null
                                                ? BigDecimal.ZERO
                                                : new BigDecimal(entry.value()));
                if (incr.max() != null && sum.compareTo(incr.max()) > 0) {
                    yield verdict(incr, "limit", entry == null ? new Entry("0", 0) : entry);
                }
                Entry after = new Entry(sum.toPlainString(), versionOf(result));
                map.put(incr.key(), after);
                yield verdict(incr, null, after);
            }
        };
    }

    private static @Nullable String refusal(@Nullable Long expect, @Nullable Entry entry) {
        if (expect == null) {
            return null;
        }
        if (expect == 0) {
            return entry == null ? null : "exists";
        }
        return entry == null ? "absent" : entry.version() == expect ? null : "version";
    }

    private static long versionOf(@Nullable KvResult result) {
        return result instanceof Written written ? written.version() : 0;
    }

    private static String verdict(
            KvOp.Guarded op, @Nullable String refusal, @Nullable Entry entry) {
        return (refusal != null && op.required() ? "lost " : "")
                + (refusal == null ? "applied" : refusal)
                + " "
                + (entry == null ? new Entry("null", 0) : entry);
    }

    private static String shown(KvResult result) {
        return switch (result) {
            case KvResult.Got(String key, KvResult.Row row) ->
                    key + " " + (row == null ? null : entry(row));
            case KvResult.GotMany many -> byKey(many.rows()) + " " + many.missing();
            case KvResult.Page page -> byKey(page.rows()).toString();
            case Written written ->
                    (written.applied() ? "applied" : written.refusal())
                            + " "
                            + new Entry(String.valueOf(written.value()), written.version());
        };
    }

    private static Entry entry(KvResult.Row row) {
        return new Entry(String.valueOf(row.value()), row.version());
    }

    private static Map<String, Entry> byKey(List<KvResult.Row> rows) {
        Map<String, Entry> entries = new TreeMap<>();
        for (KvResult.Row row : rows) {
            entries.put(row.key(), entry(row));
        }
        return entries;
    }
}
