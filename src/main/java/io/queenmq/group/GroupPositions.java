package io.queenmq.group;

import io.queenmq.db.Database;
import io.queenmq.db.LostAnswer;
import io.queenmq.model.Failure;
import io.queenmq.model.Names;
import io.queenmq.model.QueenException;
import io.queenmq.ready.ReadyLanes;
import java.time.Instant;
import java.util.List;
import java.util.UUID;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The use cases of moving groups and forgetting them; called from the thread of the request, which
 * waits for the database. Whatever changed is told to parked polls, here and at other brokers.
 */
public final class GroupPositions {
    /**
     * What a deletion found.
     *
     * @param lanes lanes of the queues that had the group
     */
    public record Deleted(int queues, long lanes) {}

    private final Database database;
    private final GroupProcedures procedures;
    private final Groups groups;
    private final ReadyLanes ready;

    public GroupPositions(Database database, Groups groups, ReadyLanes ready) {
        this.database = database;
        this.procedures = new GroupProcedures(database);
        this.groups = groups;
        this.ready = ready;
    }

    /**
     * Moves a group in every lane of a queue, those that come later included.
     *
     * @throws QueenException bad request: an offset is of one lane
     */
    public Sought seek(UUID tenant, String queue, String group, SeekTarget target) {
        if (target instanceof SeekTarget.Offset) {
            throw new QueenException(
                    Failure.BAD_REQUEST, "offset needs a partition: it is a position in one");
        }
        Sought sought = call(() -> procedures.seekQueue(tenant, queue, group, target));
        if (sought instanceof Sought.Queue moved) {
            changed(moved.queueId());
        }
        return sought;
    }

    /** Moves a group in one lane of a queue. */
    public Sought seek(
            UUID tenant, String queue, String partition, String group, SeekTarget target) {
        Sought sought = call(() -> procedures.seekLane(tenant, queue, partition, group, target));
        if (sought instanceof Sought.Lane moved) {
            ready.sought(
                    moved.queueId(),
                    moved.groupId(),
                    moved.number(),
                    moved.committed(),
                    moved.lastOffset());
        }
        return sought;
    }

    /**
     * Changes where a group begins in lanes it has not touched yet.
     *
     * @return queues it is registered with
     * @throws QueenException bad request: the group of pops without one has no subscription
     */
    public int subscribe(UUID tenant, String group, Instant from) {
        if (group.equals(Names.QUEUE_MODE)) {
            throw new QueenException(
                    Failure.BAD_REQUEST,
                    Names.QUEUE_MODE + " has no subscription: it begins at the oldest message");
        }
        List<GroupProcedures.Subscribed> subscribed =
                call(() -> procedures.updateSubscription(tenant, group, from));
        for (GroupProcedures.Subscribed in : subscribed) {
            // Its generation stays, so nothing else shows that other lanes have work now.
            ready.forget(in.queueId(), in.groupId());
            changed(in.queueId());
        }
        return subscribed.size();
    }

    /**
     * Forgets where a group is.
     *
     * @param queue null = in all queues
     * @param registration whether where it begins is forgotten too
     */
    public Deleted delete(UUID tenant, @Nullable String queue, String group, boolean registration) {
        List<GroupProcedures.DeletedFrom> deleted =
                call(() -> procedures.delete(tenant, queue, group, registration));
        deleted.forEach(from -> changed(from.queueId()));
        return new Deleted(
                deleted.size(),
                deleted.stream().mapToLong(GroupProcedures.DeletedFrom::lanes).sum());
    }

    /** If the answer is lost, it may be true all the same: nothing remembered can be trusted. */
    private <T> T call(Supplier<T> procedure) {
        try {
            return procedure.get();
        } catch (QueenException e) {
            if (LostAnswer.decide(database, e)) {
                groups.everythingChanged();
                ready.anythingMoved();
            }
            throw e;
        }
    }

    /** First what is remembered, then the polls that would ask for it. */
    private void changed(int queueId) {
        groups.queueChanged(queueId);
        ready.groupsMoved(queueId);
    }
}
