package io.queenmq.machine;

import static io.queenmq.machine.SqlState.text;

import io.queenmq.machine.Op.Target;
import io.queenmq.testkit.LogFixture;
import java.sql.SQLException;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Seeks, groups and dead letters by the procedures that the routes call. */
final class SqlMoves {
    private final LogFixture log;
    private final UUID tenant;
    private final SqlState state;

    private final Map<String, String> names;

    /**
     * @param names what the model calls the ids of copies of dead letters
     */
    SqlMoves(LogFixture log, UUID tenant, SqlState state, Map<String, String> names) {
        this.names = names;
        this.log = log;
        this.tenant = tenant;
        this.state = state;
    }

    List<String> seekQueue(Op.SeekQueue seek) throws SQLException {
        return List.of(
                text(
                        log.value(
                                "select verdict from queen_store.seek_queue(?, ?, ?, ?,"
                                        + " ?::text::timestamptz)",
                                tenant,
                                seek.queue(),
                                seek.group(),
                                name(seek.target()),
                                instant(seek.target(), seek.age()))));
    }

    List<String> seekLane(Op.SeekLane seek) throws SQLException {
        @Nullable Object[] row =
                log.rows(
                                "select verdict, committed from queen_store.seek_lane(?, ?, ?, ?, ?,"
                                        + " ?::text::timestamptz, ?)",
                                tenant,
                                seek.queue(),
                                seek.partition(),
                                seek.group(),
                                name(seek.target()),
                                instant(seek.target(), seek.age()),
                                seek.target() == Target.OFFSET ? seek.offset() : null)
                        .getFirst();
        return List.of(text(row[0]) + (row[1] == null ? "" : " " + row[1]));
    }

    private static String name(Target target) {
        return target.name().toLowerCase(Locale.ROOT);
    }

    private @Nullable String instant(Target target, int age) throws SQLException {
        return target == Target.INSTANT ? state.ago(State.span(age)).toString() : null;
    }

    List<String> subscribe(Op.Subscribe subscribe) throws SQLException {
        return List.of(
                "changed "
                        + log.rows(
                                        "select * from queen_store.update_subscription(?, ?,"
                                                + " ?::text::timestamptz)",
                                        tenant,
                                        subscribe.group(),
                                        state.ago(State.span(subscribe.age())).toString())
                                .size());
    }

    List<String> deleteGroup(Op.DeleteGroup delete) throws SQLException {
        return List.of(
                "deleted "
                        + log.rows(
                                        "select * from queen_store.delete_group(?, ?, ?, ?)",
                                        tenant,
                                        delete.queue(),
                                        delete.group(),
                                        delete.forgets())
                                .size());
    }

    List<String> deleteDeadLetter(Op.DeleteDeadLetter delete, @Nullable Long lane)
            throws SQLException {
        return List.of(
                "deleted "
                        + log.value(
                                "select queen_store.delete_dead_letter(?, ?, ?)",
                                tenant,
                                lane == null ? 0 : lane,
                                real(names, delete.transactionId())));
    }

    List<String> replay(Op.Replay replay) throws SQLException {
        long id = state.deadLetter(replay);
        @Nullable Object[] row =
                log.rows(
                                "select verdict, queue, partition, \"offset\" from"
                                        + " queen_store.replay_dead_letter(?, ?, ?, ?, null,"
                                        + " null)",
                                tenant,
                                id,
                                replay.toQueue(),
                                replay.toPartition())
                        .getFirst();
        if (!text(row[0]).equals("moved")) {
            return List.of(text(row[0]));
        }
        names.put("dlq:" + id, replay.copyId());
        return List.of("moved %s/%s at %s".formatted(row[1], row[2], row[3]));
    }

    /** The id that a message really has. */
    static String real(Map<String, String> names, String id) {
        for (Map.Entry<String, String> name : names.entrySet()) {
            if (name.getValue().equals(id)) {
                return name.getKey();
            }
        }
        return id;
    }
}
