package io.queenmq.machine;

import static io.queenmq.machine.SqlState.number;
import static io.queenmq.machine.SqlState.text;

import io.queenmq.machine.Op.Batch;
import io.queenmq.model.Slice;
import io.queenmq.segment.Frame;
import io.queenmq.segment.FrameWriter;
import io.queenmq.segment.Segment;
import io.queenmq.testkit.LogFixture;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Pushes as the broker makes them: lanes by name, then one append, then what was no duplicate. */
final class SqlPushes {
    private final LogFixture log;
    private final UUID tenant;

    record Batches(
            Long[] lanes,
            Long[] flushes,
            Long[] vouchedFrom,
            Long[] vouchedTo,
            Integer[] segmentLanes,
            Integer[] counts,
            byte[][] keys,
            byte[][] frames) {}

    SqlPushes(LogFixture log, UUID tenant) {
        this.log = log;
        this.tenant = tenant;
    }

    List<String> push(Op.Push push) throws SQLException {
        List<Batch> again = new ArrayList<>();
        List<String> lines = append(push.batches(), null, push.waiting(), again);
        if (!again.isEmpty()) {
            lines.addAll(append(again, null, push.waiting(), new ArrayList<>()));
        }
        return lines;
    }

    /** One call; what is left of batches with duplicates is added to {@code again}. */
    List<String> append(List<Batch> batches, @Nullable Long above, boolean wait, List<Batch> again)
            throws SQLException {
        Batches arrays = arrays(batches);
        if (arrays == null) {
            return new ArrayList<>(List.of("busy name"));
        }
        Long[] lanes = arrays.lanes();
        @Nullable Long[] settle = new Long[above == null ? 0 : lanes.length];
        Arrays.fill(settle, above);
        String[] verdicts = new String[lanes.length];
        Arrays.fill(verdicts, "no row");
        for (@Nullable Object[] row :
                log.rows(
                        "select ordinal, verdict, base_offset, duplicate_positions,"
                                + " duplicate_offsets, duplicate_ids from queen_store.append(?, ?, ?,"
                                + " ?, ?, ?, ?, ?, ?, ?)",
                        lanes,
                        arrays.flushes(),
                        arrays.vouchedFrom(),
                        arrays.vouchedTo(),
                        settle,
                        arrays.segmentLanes(),
                        arrays.counts(),
                        arrays.keys(),
                        arrays.frames(),
                        wait)) {
            int place = number(row[0]) - 1;
            Batch batch = batches.get(place);
            String verdict = text(row[1]);
            String name = " " + batch.queue() + "/" + batch.partition();
            if (verdict.equals("queued")) {
                verdict += name + " at " + row[2];
            } else if (verdict.equals("duplicate")) {
                verdict += name + " " + duplicates(batch, row, again);
            } else {
                verdict += name;
            }
            verdicts[place] = verdict;
        }
        return new ArrayList<>(Arrays.asList(verdicts));
    }

    /** Lane-batches as append takes them; null = the name of a lane is held by another. */
    @Nullable Batches arrays(List<Batch> batches) throws SQLException {
        List<Long> found = new ArrayList<>();
        String[] queues = batches.stream().map(Batch::queue).toArray(String[]::new);
        String[] partitions = batches.stream().map(Batch::partition).toArray(String[]::new);
        UUID[] tenants = new UUID[queues.length];
        Arrays.fill(tenants, tenant);
        for (@Nullable Object[] row :
                log.rows(
                        "select ordinal, partition_id from queen_store.ensure_lanes(?, ?, ?) order by 1",
                        tenants,
                        queues,
                        partitions)) {
            if (row[1] instanceof Long lane) {
                found.add(lane);
            }
        }
        if (found.size() < batches.size()) {
            return null;
        }
        List<Integer> segmentLanes = new ArrayList<>();
        List<Integer> counts = new ArrayList<>();
        List<byte[]> keys = new ArrayList<>();
        List<byte[]> frames = new ArrayList<>();
        for (int i = 0; i < queues.length; i++) {
            for (Segment segment : segments(batches.get(i).ids())) {
                segmentLanes.add(i + 1);
                counts.add(segment.messageCount());
                keys.add(segment.keys());
                frames.add(segment.frames());
            }
        }
        return new Batches(
                found.toArray(Long[]::new),
                batches.stream().map(Batch::flush).toArray(Long[]::new),
                batches.stream().map(Batch::vouchedFrom).toArray(Long[]::new),
                batches.stream().map(Batch::vouchedTo).toArray(Long[]::new),
                segmentLanes.toArray(Integer[]::new),
                counts.toArray(Integer[]::new),
                keys.toArray(byte[][]::new),
                frames.toArray(byte[][]::new));
    }

    private static List<String> duplicates(Batch batch, @Nullable Object[] row, List<Batch> again)
            throws SQLException {
        List<Integer> positions = list(row[3], Integer.class);
        List<Long> offsets = list(row[4], Long.class);
        List<UUID> ids = list(row[5], UUID.class);
        List<String> rest = new ArrayList<>();
        for (int i = 0; i < batch.ids().size(); i++) {
            if (!positions.contains(i)) {
                rest.add(batch.ids().get(i));
            }
        }
        if (!rest.isEmpty()) {
            again.add(new Batch(batch.queue(), batch.partition(), batch.flush(), rest, 1, 0));
        }
        List<String> originals = new ArrayList<>();
        for (int i = 0; i < positions.size(); i++) {
            boolean gone = ids.get(i).equals(new UUID(0, 0));
            originals.add(positions.get(i) + "=" + offsets.get(i) + (gone ? " gone" : ""));
        }
        return originals;
    }

    private static List<Segment> segments(List<String> ids) {
        return FrameWriter.segments(
                ids.stream()
                        .map(id -> Frame.of(id, null, null, Slice.utf8("\"" + id + "\"")))
                        .toList());
    }

    private static <T> List<T> list(@Nullable Object array, Class<T> type) throws SQLException {
        return array instanceof java.sql.Array values
                ? Arrays.stream((Object[]) values.getArray()).map(type::cast).toList()
                : List.of();
    }
}
