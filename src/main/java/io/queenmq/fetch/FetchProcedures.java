package io.queenmq.fetch;

import io.queenmq.db.Database;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;

/** Finds segments from offsets on, and reads them. */
final class FetchProcedures {
    private final Database database;

    FetchProcedures(Database database) {
        this.database = database;
    }

    /** One answer per entry, in their order. */
    List<Located> locate(FetchRequest request, int bytesMax) {
        return database.repeatable(
                "find_segments",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement(
                                            "select * from queen_store.find_segments("
                                                    + "?, ?, ?, ?, ?, ?)")) {
                        bind(statement, session.connection(), request);
                        statement.setInt(6, bytesMax);
                        try (ResultSet row = statement.executeQuery()) {
                            return located(row, request.entries().size());
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

    private static List<Located> located(ResultSet row, int entries) throws SQLException {
        List<Located> located = new ArrayList<>(entries);
        while (row.next()) {
            if (row.getInt("ordinal") > located.size()) {
                located.add(
                        new Located(
                                verdict(row.getString("verdict")),
                                row.getLong("partition_id"),
                                row.getLong("log_start"),
                                row.getLong("last_offset"),
                                new ArrayList<>()));
            }
            long base = row.getLong("base_offset");
            if (!row.wasNull()) {
                located.getLast()
                        .segments()
                        .add(
                                new Located.Segment(
                                        base, row.getInt("messages"), row.getInt("bytes")));
            }
        }
        return located;
    }

    private static Fetched.Verdict verdict(String text) {
        return switch (text) {
            case "unknown" -> Fetched.Verdict.UNKNOWN_QUEUE;
            case "out_of_range" -> Fetched.Verdict.OUT_OF_RANGE;
            default -> Fetched.Verdict.OK;
        };
    }

    /** Reads what was found; what is gone since ends its partition. */
    List<Fetched> read(FetchRequest request, List<Located> located) {
        List<Long> lanes = new ArrayList<>();
        List<Long> bases = new ArrayList<>();
        for (Located lane : located) {
            for (Located.Segment segment : lane.segments()) {
                lanes.add(lane.partitionNumber());
                bases.add(segment.baseOffset());
            }
        }
        if (lanes.isEmpty()) {
            return located.stream().map(lane -> lane.with(List.of())).toList();
        }
        return database.repeatable(
                "read_segments",
                session -> {
                    Connection connection = session.connection();
                    try (PreparedStatement statement =
                            connection.prepareStatement(
                                    "select ordinal, created_at, keys, frames"
                                            + " from queen_store.read_segments(?, ?)")) {
                        statement.setArray(1, connection.createArrayOf("int8", lanes.toArray()));
                        statement.setArray(2, connection.createArrayOf("int8", bases.toArray()));
                        try (ResultSet row = statement.executeQuery()) {
                            return fetched(row, request, located);
                        }
                    }
                });
    }

    private static List<Fetched> fetched(ResultSet row, FetchRequest request, List<Located> located)
            throws SQLException {
        List<Fetched> fetched = new ArrayList<>(located.size());
        int ordinal = 0;
        boolean there = row.next();
        for (int i = 0; i < located.size(); i++) {
            Located lane = located.get(i);
            long from = request.entries().get(i).offset();
            List<Fetched.Run> runs = new ArrayList<>(lane.segments().size());
            boolean whole = true;
            for (Located.Segment segment : lane.segments()) {
                ordinal++;
                byte[] frames = null;
                if (there && row.getInt("ordinal") == ordinal) {
                    frames = whole ? row.getBytes("frames") : null;
                    if (frames != null) {
                        runs.add(
                                new Fetched.Run(
                                        lane.partitionNumber(),
                                        segment.baseOffset(),
                                        (int) Math.max(0, from - segment.baseOffset()),
                                        row.getObject("created_at", OffsetDateTime.class)
                                                .toInstant(),
                                        row.getBytes("keys"),
                                        frames));
                    }
                    there = row.next();
                }
                whole &= frames != null;
            }
            fetched.add(lane.with(runs));
        }
        return fetched;
    }
}
