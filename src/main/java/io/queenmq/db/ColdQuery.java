package io.queenmq.db;

import io.helidon.dbclient.DbRow;
import io.queenmq.model.QueenException;
import java.sql.Timestamp;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One question of administrators. Who asks it with the same parameters while it is being answered
 * gets the same answer: ten open dashboards cost as much as one. Any thread.
 */
public final class ColdQuery<T> {
    private final ColdReads reads;
    private final String name;
    private final String sql;
    private final Function<DbRow, T> row;
    private final ConcurrentHashMap<List<@Nullable Object>, CompletableFuture<List<T>>> asked =
            new ConcurrentHashMap<>();

    ColdQuery(ColdReads reads, String name, String sql, Function<DbRow, T> row) {
        this.reads = reads;
        this.name = name;
        this.sql = sql;
        this.row = row;
    }

    /**
     * The rows of the answer, not to be changed.
     *
     * @throws QueenException see {@link ColdReads#read}
     */
    public List<T> ask(@Nullable Object... parameters) {
        List<@Nullable Object> key = list(parameters);
        CompletableFuture<List<T>> mine = new CompletableFuture<>();
        CompletableFuture<List<T>> others = asked.putIfAbsent(key, mine);
        if (others != null) {
            return await(others);
        }
        try {
            List<T> rows = reads.read(name, sql, key, row);
            mine.complete(rows);
            return rows;
        } catch (Throwable e) {
            // An error too: whoever asked with us must not wait for ever.
            mine.completeExceptionally(e);
            throw e;
        } finally {
            asked.remove(key, mine);
        }
    }

    /**
     * The same, asked after the call began: for an answer that must not be older than another one
     * which the caller has. A shared one may have been on its way for seconds.
     *
     * @throws QueenException see {@link ColdReads#read}
     */
    public List<T> askAnew(@Nullable Object... parameters) {
        return reads.read(name, sql, list(parameters), row);
    }

    private static List<@Nullable Object> list(@Nullable Object... parameters) {
        List<@Nullable Object> list = new ArrayList<>(parameters.length);
        for (Object parameter : parameters) {
            list.add(parameter);
        }
        return list;
    }

    /** A point in time in a row; null where there is none. */
    public static @Nullable Instant instant(DbRow row, String column) {
        return row.column(column).as(Timestamp.class).map(Timestamp::toInstant).orElse(null);
    }

    private static <T> List<T> await(CompletableFuture<List<T>> answer) {
        try {
            return answer.join();
        } catch (CompletionException e) {
            if (e.getCause() instanceof RuntimeException refusal) {
                throw refusal;
            }
            throw e;
        }
    }
}
