package io.queenmq.kv;

import io.queenmq.kv.KvCall.Column;
import io.queenmq.kv.KvCall.Row;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.function.Function;

/** Calls of one tenant on their way to the database and back, one behind the other. */
public final class KvBatch {
    private final List<KvCall> calls;

    /**
     * @param calls at least one
     */
    public KvBatch(List<KvCall> calls) {
        this.calls = calls;
    }

    UUID tenant() {
        return calls.getFirst().tenant();
    }

    boolean writes() {
        return calls.stream().anyMatch(KvCall::writes);
    }

    /** Once that much is read, what may be left out of the answer is. */
    public int readBytesMax() {
        return calls.getFirst().readBytesMax();
    }

    /** What to do to which keys: the columns that every call takes, in its order. */
    public List<Column> columns() {
        return joined(KvCall::columns);
    }

    /** How to read prefixes: further columns of a call that may. */
    List<Column> pageColumns() {
        return joined(KvCall::pageColumns);
    }

    /** Which operations must be applied: the column of a call that takes it back otherwise. */
    public Column required() {
        return joined(call -> List.of(call.required())).getFirst();
    }

    private List<Column> joined(Function<KvCall, List<Column>> columns) {
        if (calls.size() == 1) {
            return columns.apply(calls.getFirst());
        }
        List<List<Column>> all = calls.stream().map(columns).toList();
        List<Column> joined = new ArrayList<>(all.getFirst().size());
        for (int i = 0; i < all.getFirst().size(); i++) {
            int column = i;
            joined.add(Column.joined(all.stream().map(each -> each.get(column)).toList()));
        }
        return joined;
    }

    /** An answer begins; what an earlier attempt was told is void. */
    public void begin() {
        calls.forEach(KvCall::begin);
    }

    /** Nothing of it took effect. */
    void setUndone() {
        calls.forEach(KvCall::setUndone);
    }

    /** One row of the answer. */
    public void answered(Row row) {
        int item = row.item();
        for (KvCall call : calls) {
            if (item <= call.items()) {
                call.answered(row.at(item));
                return;
            }
            item -= call.items();
        }
        throw new IllegalStateException("an answer to item " + row.item());
    }
}
