package io.queenmq.fetch;

import io.queenmq.db.Database;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;

/** Reads segments from offsets on. */
final class FetchProcedures {
    private final Database database;

    FetchProcedures(Database database) {
        this.database = database;
    }

    /** One answer per entry, in their order. */
    List<Fetched> fetch(FetchRequest request, int bytesMax) {
        return database.repeatable(
                "fetch",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement(
                                            "select * from queen_store.fetch(?, ?, ?, ?, ?, ?)")) {
                        bind(statement, session.connection(), request);
                        statement.setInt(6, bytesMax);
                        try (ResultSet row = statement.executeQuery()) {
                            return read(row, request);
                        }
                    }
                });
    }

    private static void bind(
            PreparedStatement statement, Connection connection, FetchRequest request)
            throws SQLException {
        List<FetchRequest.Entry> entries = request.entries();
        String[] queues = new String[entries.size()];
        String[] partitions = new String[entries.size()];
        Long[] offsets = new Long[entries.size()];
        Integer[] bytes = new Integer[entries.size()];
        for (int i = 0; i < entries.size(); i++) {
            FetchRequest.Entry entry = entries.get(i);
            queues[i] = entry.queue();
            partitions[i] = entry.partition();
            offsets[i] = entry.offset();
            bytes[i] = entry.bytesMax();
        }
        statement.setObject(1, request.tenant());
        statement.setArray(2, connection.createArrayOf("text", queues));
        statement.setArray(3, connection.createArrayOf("text", partitions));
        statement.setArray(4, connection.createArrayOf("int8", offsets));
        statement.setArray(5, connection.createArrayOf("int4", bytes));
    }

    private static List<Fetched> read(ResultSet row, FetchRequest request) throws SQLException {
        List<Fetched> fetched = new ArrayList<>(request.entries().size());
        while (row.next()) {
            int entry = row.getInt("ordinal") - 1;
            if (entry == fetched.size()) {
                fetched.add(
                        new Fetched(
                                verdict(row.getString("verdict")),
                                row.getLong("log_start"),
                                row.getLong("last_offset"),
                                List.of()));
            }
            byte[] frames = row.getBytes("frames");
            if (frames != null) {
                long base = row.getLong("base_offset");
                long from = request.entries().get(entry).offset();
                fetched.set(
                        entry,
                        fetched.get(entry)
                                .with(
                                        new Fetched.Run(
                                                row.getLong("partition_id"),
                                                base,
                                                (int) Math.max(0, from - base),
                                                row.getObject("created_at", OffsetDateTime.class)
                                                        .toInstant(),
                                                row.getBytes("keys"),
                                                frames)));
            }
        }
        return fetched;
    }

    private static Fetched.Verdict verdict(String text) {
        return switch (text) {
            case "unknown" -> Fetched.Verdict.UNKNOWN_QUEUE;
            case "out_of_range" -> Fetched.Verdict.OUT_OF_RANGE;
            default -> Fetched.Verdict.OK;
        };
    }
}
