package io.queenmq.kv;

import io.queenmq.model.Slice;
import java.math.BigDecimal;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Operations on the way to the database and back: the columns that the call takes, and what the
 * rows of its answer mean. For one thread.
 */
public final class KvCall {
    /** One array of the call, and its type there. */
    public record Column(String type, @Nullable Object[] elements) {
        /** The same column of several calls, one behind the other. */
        static Column joined(List<Column> parts) {
            return new Column(
                    parts.getFirst().type(),
                    parts.stream().flatMap(part -> Arrays.stream(part.elements())).toArray());
        }
    }

    /** A key that a call locks. */
    private record Touch(UUID tenant, String namespace, String key) {}

    /** What is asked of one key, or of one prefix. */
    private record Item(int op, String kind, String key) {}

    /** One row of the answer. */
    public record Row(
            int item,
            String verdict,
            @Nullable String key,
            @Nullable Slice value,
            long version,
            @Nullable Instant expiresAt,
            @Nullable Instant updatedAt) {
        /** The same of another place. */
        Row at(int place) {
            return place == item
                    ? this
                    : new Row(place, verdict, key, value, version, expiresAt, updatedAt);
        }

        private KvResult.Row found() {
            if (key == null || updatedAt == null) {
                throw new IllegalStateException("a key that was found has neither name nor time");
            }
            return new KvResult.Row(key, value, version, expiresAt, updatedAt);
        }
    }

    private static final int READ_COLUMNS = 3;

    private final UUID tenant;
    private final List<KvOp> ops;
    private final List<Item> items = new ArrayList<>();
    private final int readBytesMax;

    private boolean undone;

    /** By operation; of a read of several keys more than one. */
    private List<List<Row>> answers = List.of();

    KvCall(UUID tenant, List<KvOp> ops, int readBytesMax) {
        this.tenant = tenant;
        this.ops = ops;
        this.readBytesMax = readBytesMax;
        for (int i = 0; i < ops.size(); i++) {
            switch (ops.get(i)) {
                case KvOp.Get get -> items.add(new Item(i, "get", get.key()));
                case KvOp.GetMany many -> {
                    // In byte order, which is the one of code points, and each of them once.
                    Set<String> names = new TreeSet<>(KvCall::byBytes);
                    names.addAll(many.names());
                    for (String name : names) {
                        items.add(new Item(i, "read", name));
                    }
                }
                case KvOp.GetPrefix page -> items.add(new Item(i, "list", page.prefix()));
                case KvOp.Put put -> items.add(new Item(i, "put", put.key()));
                case KvOp.Delete delete -> items.add(new Item(i, "delete", delete.key()));
                case KvOp.Incr incr -> items.add(new Item(i, "incr", incr.key()));
                case KvOp.Check check -> items.add(new Item(i, "check", check.key()));
            }
        }
        begin();
    }

    private static int byBytes(String left, String right) {
        int length = Math.min(left.length(), right.length());
        for (int i = 0; i < length; i++) {
            char a = left.charAt(i);
            char b = right.charAt(i);
            if (a != b) {
                // Surrogates stand for what lies above every other character.
                return Character.isSurrogate(a) == Character.isSurrogate(b)
                        ? Character.compare(a, b)
                        : Character.isSurrogate(a) ? 1 : -1;
            }
        }
        return Integer.compare(left.length(), right.length());
    }

    public boolean isEmpty() {
        return ops.isEmpty();
    }

    UUID tenant() {
        return tenant;
    }

    public List<KvOp> ops() {
        return ops;
    }

    /** Once that much is read, what may be left out of the answer is. */
    int readBytesMax() {
        return readBytesMax;
    }

    boolean writes() {
        return ops.stream().anyMatch(KvOp.Write.class::isInstance);
    }

    /** Rows of its columns. */
    int items() {
        return items.size();
    }

    /** Of the values that it writes. */
    public long bytes() {
        return ops.stream()
                .mapToLong(op -> op instanceof KvOp.Put put ? put.value().length() : 0)
                .sum();
    }

    /** Whether its answer is bounded by itself, so that no other call may have a part in it. */
    public boolean readsMany() {
        return ops.stream()
                .anyMatch(op -> op instanceof KvOp.GetMany || op instanceof KvOp.GetPrefix);
    }

    /** The keys that it locks. */
    public Set<Object> touches() {
        Set<Object> touches = new HashSet<>();
        for (KvOp op : ops) {
            if (op instanceof KvOp.Guarded guarded) {
                touches.add(new Touch(tenant, guarded.namespace(), guarded.key()));
            }
        }
        return touches;
    }

    private static boolean isRequired(KvOp op) {
        return op instanceof KvOp.Guarded guarded && guarded.required();
    }

    /** What to do to which keys: the columns that every call takes, in its order. */
    List<Column> columns() {
        int count = items.size();
        @Nullable Object[] kinds = new @Nullable Object[count];
        @Nullable Object[] namespaces = new @Nullable Object[count];
        @Nullable Object[] keys = new @Nullable Object[count];
        @Nullable Object[] values = new @Nullable Object[count];
        @Nullable Object[] ttls = new @Nullable Object[count];
        @Nullable Object[] expects = new @Nullable Object[count];
        @Nullable Object[] deltas = new @Nullable Object[count];
        @Nullable Object[] mins = new @Nullable Object[count];
        @Nullable Object[] maxs = new @Nullable Object[count];
        for (int i = 0; i < count; i++) {
            Item item = items.get(i);
            KvOp op = ops.get(item.op());
            kinds[i] = item.kind();
            namespaces[i] = op.namespace();
            keys[i] = item.key();
            switch (op) {
                case KvOp.Put put -> {
                    values[i] = put.value().toString();
                    ttls[i] = put.ttlSeconds();
                    expects[i] = put.expect();
                }
                case KvOp.Delete delete -> expects[i] = delete.expect();
                case KvOp.Check check -> expects[i] = check.expect();
                case KvOp.Incr incr -> {
                    ttls[i] = incr.ttlSeconds();
                    deltas[i] = plain(incr.delta());
                    mins[i] = plain(incr.min());
                    maxs[i] = plain(incr.max());
                }
                case KvOp.Get get -> {}
                case KvOp.GetMany many -> {}
                case KvOp.GetPrefix page -> {}
            }
        }
        return List.of(
                new Column("text", kinds),
                new Column("text", namespaces),
                new Column("text", keys),
                new Column("text", values),
                new Column("int8", ttls),
                new Column("int8", expects),
                new Column("numeric", deltas),
                new Column("numeric", mins),
                new Column("numeric", maxs));
    }

    private static @Nullable String plain(@Nullable BigDecimal number) {
        return number == null ? null : number.toPlainString();
    }

    /** How to read prefixes: further columns of a call that may. */
    List<Column> pageColumns() {
        int count = items.size();
        @Nullable Object[] afters = new @Nullable Object[count];
        @Nullable Object[] limits = new @Nullable Object[count];
        @Nullable Object[] keysOnly = new @Nullable Object[count];
        for (int i = 0; i < count; i++) {
            if (ops.get(items.get(i).op()) instanceof KvOp.GetPrefix page) {
                afters[i] = page.after();
                limits[i] = page.limit();
                keysOnly[i] = page.keysOnly();
            }
        }
        List<Column> columns = new ArrayList<>(READ_COLUMNS);
        columns.add(new Column("text", afters));
        columns.add(new Column("int4", limits));
        columns.add(new Column("bool", keysOnly));
        return columns;
    }

    /** Which operations must be applied: the column of a call that takes it back otherwise. */
    Column required() {
        return new Column(
                "bool", items.stream().map(item -> isRequired(ops.get(item.op()))).toArray());
    }

    /** An answer begins; what an earlier attempt was told is void. */
    void begin() {
        undone = false;
        answers = new ArrayList<>(ops.size());
        for (int i = 0; i < ops.size(); i++) {
            answers.add(new ArrayList<>(1));
        }
    }

    /** Nothing took effect, because of an operation that had to be applied. */
    void setUndone() {
        undone = true;
    }

    boolean isUndone() {
        return undone;
    }

    /** One row of it. */
    void answered(Row row) {
        answers.get(items.get(row.item() - 1).op()).add(row);
    }

    /** The first operation that had to be applied and was not. */
    public KvAnswer.PreconditionLost lost() {
        for (int i = 0; i < ops.size(); i++) {
            if (ops.get(i) instanceof KvOp.Guarded guarded && guarded.required()) {
                KvResult.Written written = written(guarded, answers.get(i).getFirst());
                if (!written.applied()) {
                    return new KvAnswer.PreconditionLost(i, written);
                }
            }
        }
        throw new IllegalStateException("undone although everything was applied");
    }

    /** What each operation was answered. */
    public List<KvResult> results() {
        List<KvResult> results = new ArrayList<>(ops.size());
        for (int i = 0; i < ops.size(); i++) {
            List<Row> rows = answers.get(i);
            results.add(
                    switch (ops.get(i)) {
                        case KvOp.Get get ->
                                new KvResult.Got(
                                        get.key(),
                                        rows.getFirst().verdict().equals("found")
                                                ? rows.getFirst().found()
                                                : null);
                        case KvOp.GetMany many -> gotMany(many, rows);
                        case KvOp.GetPrefix page -> page(page, rows);
                        case KvOp.Guarded guarded -> written(guarded, rows.getFirst());
                    });
        }
        return results;
    }

    private static KvResult gotMany(KvOp.GetMany many, List<Row> rows) {
        List<KvResult.Row> found = new ArrayList<>(rows.size());
        Set<String> absent = new HashSet<>();
        boolean truncated = false;
        for (Row row : rows) {
            switch (row.verdict()) {
                case "found" -> found.add(row.found());
                case "absent" -> absent.add(row.key());
                case "cut" -> truncated = true;
                default -> throw new IllegalStateException("a read said " + row.verdict());
            }
        }
        Set<String> missing = new LinkedHashSet<>(many.names());
        missing.retainAll(absent);
        return new KvResult.GotMany(found, List.copyOf(missing), truncated);
    }

    private static KvResult page(KvOp.GetPrefix page, List<Row> rows) {
        List<KvResult.Row> found = new ArrayList<>(rows.size());
        boolean truncated = false;
        String passed = null;
        for (Row row : rows) {
            switch (row.verdict()) {
                case "row" -> found.add(row.found());
                case "more", "cut" -> {
                    truncated = true;
                    passed = row.key() != null || !found.isEmpty() ? row.key() : begin(page);
                }
                case "end" -> {}
                default -> throw new IllegalStateException("a list said " + row.verdict());
            }
        }
        return new KvResult.Page(found, truncated, passed);
    }

    /** Behind which a page begins of which nothing has been told yet. */
    private static String begin(KvOp.GetPrefix page) {
        if (page.after() != null) {
            return page.after();
        }
        // All that begins with the prefix is behind what the prefix begins with, and behind the
        // character before it.
        String prefix = page.prefix();
        int last = prefix.codePointBefore(prefix.length());
        String rest = prefix.substring(0, prefix.length() - Character.charCount(last));
        if (!rest.isEmpty() || last == 1) {
            return rest;
        }
        return Character.toString(last == Character.MAX_SURROGATE + 1 ? 0xd7ff : last - 1);
    }

    private static KvResult.Written written(KvOp.Guarded op, Row row) {
        boolean applied = row.verdict().equals("applied");
        Slice value = applied && op instanceof KvOp.Put put ? put.value() : row.value();
        return new KvResult.Written(applied ? null : row.verdict(), op.key(), value, row.version());
    }
}
