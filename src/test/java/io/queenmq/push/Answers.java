package io.queenmq.push;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.model.Ids;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * What producers were told, held against the log itself. The log and the windows that were in force
 * alone say what each answer must have been; every time is one of the database's clock, taken
 * before a call and after it, so nothing here depends on speed. Any thread may tell, one checks.
 */
final class Answers {
    /** An answer to one message, and between which times it was decided. */
    record Answer(
            String queue,
            String partition,
            String transactionId,
            boolean queued,
            UUID id,
            long askedMicros,
            long toldMicros) {}

    /** A message of the log, or one that was there until its payload expired. */
    private record Stored(
            String queue,
            String partition,
            String transactionId,
            UUID id,
            long createdMicros,
            long deletedMicros,
            boolean expired) {}

    private record Place(long lane, long offset) {}

    /** A window, set at some time between these. */
    private record Setting(int seconds, long fromMicros, long untilMicros) {}

    private static final String LOG =
            """
            select p.id, d."offset", q.name, p.name, d.transaction_id, d.message_id,
                (extract(epoch from s.created_at) * 1000000)::bigint,
                (extract(epoch from q.deleted_at) * 1000000)::bigint,
                d."offset" < p.log_start
            from queen_store.queues q
            join queen_store.partitions p on p.queue_id = q.id
            join queen_store.segments s on s.partition_id = p.id
            cross join lateral queen_store.decode_segment(
                s.partition_id, s.base_offset, s.created_at, s.keys, s.frames) d
            order by p.id, d."offset"
            """;

    private final List<Answer> answers = new ArrayList<>();
    private final List<List<Answer>> refusals = new ArrayList<>();
    private final Map<String, List<Setting>> settings = new HashMap<>();
    private final Map<Place, Stored> log = new HashMap<>();
    private int queued;
    private int duplicates;

    /** The clock of the database. */
    static long micros(Connection connection) throws SQLException {
        return (Long)
                assertPresent(
                        TestDatabase.rows(
                                connection,
                                "select (extract(epoch from clock_timestamp()) * 1000000)::bigint"));
    }

    private static Object assertPresent(List<@Nullable Object[]> rows) {
        Object value = rows.getFirst()[0];
        assertNotNull(value);
        return value;
    }

    synchronized void told(Answer answer) {
        answers.add(answer);
    }

    /** A step was taken back because one of these, at least, was there already. */
    synchronized void refused(List<PushItem> items, long askedMicros, long toldMicros) {
        refusals.add(
                items.stream()
                        .map(
                                item ->
                                        new Answer(
                                                item.queue(),
                                                item.partition(),
                                                String.valueOf(item.transactionId()),
                                                false,
                                                Ids.NIL,
                                                askedMicros,
                                                toldMicros))
                        .toList());
    }

    /** The window of a queue became this at some time between these; the default comes first. */
    synchronized void window(String queue, int seconds, long fromMicros, long untilMicros) {
        settings.computeIfAbsent(queue, q -> new ArrayList<>())
                .add(new Setting(seconds, fromMicros, untilMicros));
    }

    /** Takes in what is stored now: who expires something calls it before. */
    void read(Connection connection) throws SQLException {
        Set<Place> there = new HashSet<>();
        for (@Nullable Object[] row : TestDatabase.rows(connection, LOG)) {
            Place place = new Place(number(row[0]), number(row[1]));
            Stored before = log.get(place);
            UUID id = (UUID) row[5];
            there.add(place);
            log.put(
                    place,
                    new Stored(
                            String.valueOf(row[2]),
                            String.valueOf(row[3]),
                            before == null ? String.valueOf(row[4]) : before.transactionId(),
                            before == null ? assertId(id) : before.id(),
                            number(row[6]),
                            row[7] == null ? Long.MAX_VALUE : number(row[7]),
                            Boolean.TRUE.equals(row[8])));
        }
        assertEquals(there, log.keySet(), "what was stored is gone");
    }

    private static UUID assertId(@Nullable UUID id) {
        assertNotNull(id);
        return id;
    }

    private static long number(@Nullable Object value) {
        return value instanceof Long number ? number : -1;
    }

    /** A fail-over loses the end of a lane, and with it every promise about that. */
    void lose(long lane, long fromOffset) {
        Predicate<Place> gone = place -> place.lane() == lane && place.offset() >= fromOffset;
        Set<UUID> ids = new HashSet<>();
        Set<List<String>> keys = new HashSet<>();
        log.forEach(
                (place, stored) -> {
                    if (gone.test(place)) {
                        ids.add(stored.id());
                        keys.add(key(stored));
                    }
                });
        log.keySet().removeIf(gone);
        refusals.removeIf(items -> items.stream().anyMatch(item -> keys.contains(key(item))));
        // A nil id leaves open which message was meant; one that is lost is as good as any.
        answers.removeIf(
                answer ->
                        ids.contains(answer.id())
                                || (answer.id().equals(Ids.NIL) && keys.contains(key(answer))));
    }

    /** Every answer was right, and the log holds nothing that nobody was told of. */
    void check(Connection connection) throws SQLException {
        read(connection);
        Map<UUID, Place> byId = new HashMap<>();
        Map<List<String>, List<Place>> byKey = new HashMap<>();
        log.forEach(
                (place, stored) -> {
                    assertNull(byId.put(stored.id(), place), "an id twice");
                    byKey.computeIfAbsent(key(stored), k -> new ArrayList<>()).add(place);
                });
        Set<UUID> claimed = new HashSet<>();
        for (Answer answer : answers) {
            List<Place> same = byKey.getOrDefault(key(answer), List.of());
            if (answer.queued()) {
                queued++;
                assertTrue(claimed.add(answer.id()), () -> "told twice: " + answer);
                Place place = byId.get(answer.id());
                assertNotNull(place, () -> "queued and not stored: " + answer);
                assertQueued(answer, place, same);
            } else {
                duplicates++;
                assertDuplicate(answer, same);
            }
        }
        assertEquals(byId.keySet(), claimed, "stored, and nobody was told");
        for (List<Answer> refusal : refusals) {
            assertTrue(
                    refusal.stream()
                            .anyMatch(
                                    answer -> {
                                        List<Place> same =
                                                byKey.getOrDefault(key(answer), List.of());
                                        return same.stream()
                                                .anyMatch(p -> isOriginal(answer, p, same));
                                    }),
                    () -> "refused without a duplicate: " + refusal);
        }
    }

    private static List<String> key(Answer answer) {
        return List.of(answer.queue(), answer.partition(), answer.transactionId());
    }

    private static List<String> key(Stored stored) {
        return List.of(stored.queue(), stored.partition(), stored.transactionId());
    }

    /** Nothing before it was within the window. */
    private void assertQueued(Answer answer, Place place, List<Place> same) {
        assertTrue(same.contains(place), () -> "stored as another message: " + answer);
        Stored stored = at(place);
        boolean right =
                windows(answer).stream()
                        .anyMatch(
                                window ->
                                        window == 0
                                                || same.stream()
                                                        .filter(p -> isBefore(p, place))
                                                        .map(this::at)
                                                        .allMatch(
                                                                s ->
                                                                        s.createdMicros()
                                                                                < stored
                                                                                                .createdMicros()
                                                                                        - window));
        assertTrue(right, () -> "stored although it was there: " + answer + " " + shown(same));
    }

    private static boolean isBefore(Place one, Place other) {
        return one.lane() == other.lane() && one.offset() < other.offset();
    }

    /** There is an original within the window, and it is the first. */
    private void assertDuplicate(Answer answer, List<Place> same) {
        boolean right =
                same.stream()
                        .filter(
                                p ->
                                        at(p).id().equals(answer.id())
                                                || (at(p).expired() && answer.id().equals(Ids.NIL)))
                        .anyMatch(p -> isOriginal(answer, p, same));
        assertTrue(right, () -> "no original: " + answer + " " + shown(same));
    }

    private boolean isOriginal(Answer answer, Place place, List<Place> same) {
        Stored original = at(place);
        if (original.createdMicros() > answer.toldMicros()
                || original.deletedMicros() < answer.askedMicros()) {
            return false;
        }
        for (long window : windows(answer)) {
            // Within a request the first wins whatever the window is.
            boolean counts = original.createdMicros() >= answer.askedMicros() - window;
            boolean first =
                    same.stream()
                            .filter(p -> isBefore(p, place))
                            .map(this::at)
                            .allMatch(
                                    s ->
                                            window == 0
                                                    || s.createdMicros()
                                                            < answer.toldMicros() - window);
            if (counts && first) {
                return true;
            }
        }
        return false;
    }

    private Stored at(Place place) {
        Stored stored = log.get(place);
        assertNotNull(stored);
        return stored;
    }

    private List<String> shown(List<Place> places) {
        return places.stream().map(p -> p + "=" + log.get(p)).toList();
    }

    /** The windows, in microseconds, that may have been in force when this was decided. */
    private Set<Long> windows(Answer answer) {
        List<Setting> all = settings.getOrDefault(answer.queue(), List.of());
        Set<Long> possible = new HashSet<>();
        for (int i = 0; i < all.size(); i++) {
            long until = i + 1 < all.size() ? all.get(i + 1).untilMicros() : Long.MAX_VALUE;
            if (all.get(i).fromMicros() <= answer.toldMicros() && until >= answer.askedMicros()) {
                possible.add(all.get(i).seconds() * 1_000_000L);
            }
        }
        return possible;
    }

    int queued() {
        return queued;
    }

    int duplicates() {
        return duplicates;
    }
}
