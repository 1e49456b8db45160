package io.queenmq.pop;

import io.queenmq.group.Groups;
import io.queenmq.group.Registration;
import io.queenmq.group.StartRule;
import io.queenmq.model.Names;
import io.queenmq.ready.Findings;
import io.queenmq.ready.LaneNames;
import io.queenmq.ready.Poll;
import io.queenmq.ready.ReadyLanes;
import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One lane, by name. While it does not exist the poll waits for the name and creates nothing. The
 * poll enters the places where news comes in before it looks; a lane that is held, or hides its
 * next message, is looked at again in time.
 */
final class PinnedSource implements Source, Findings {
    private final Groups groups;
    private final ReadyLanes ready;
    private final LaneNames names;
    private final PopProcedures procedures;
    private final Clock clock;
    private final PopRequest request;
    private final LaneNames.Name name;
    private StartRule rule;

    private @Nullable Poll poll;
    private LaneNames.@Nullable Named lane;
    private int groupId;
    private boolean called;
    private boolean busy;
    private Conflation conflation;
    private long revisitNanos = Long.MAX_VALUE;

    PinnedSource(
            Groups groups,
            ReadyLanes ready,
            LaneNames names,
            PopProcedures procedures,
            Clock clock,
            PopRequest request,
            LaneNames.Name name,
            StartRule rule) {
        this.groups = groups;
        this.ready = ready;
        this.names = names;
        this.procedures = procedures;
        this.clock = clock;
        this.request = request;
        this.name = name;
        this.rule = rule;
        this.conflation = Conflation.asAsked(request.conflation());
    }

    @Override
    public Candidates take(int most, boolean first, boolean last) {
        busy = false;
        revisitNanos = Long.MAX_VALUE;
        if (poll != null) {
            ready.enterNamed(name.tenant(), name.queue(), name.partition(), poll);
        }
        LaneNames.Named found = names.find(name);
        if (found == null) {
            rememberArrival();
            if (!request.asksConflation()) {
                return Candidates.NONE;
            }
        }
        Registration registration = register();
        if (!(registration instanceof Registration.Known known)) {
            busy = registration instanceof Registration.Busy;
            if (busy) {
                revisitNanos = clock.nanos() + QueueSource.BUSY_NANOS;
            }
            return Candidates.NONE;
        }
        conflation = Conflation.of(request.conflation(), known.conflation());
        if (found == null) {
            return Candidates.NONE;
        }
        lane = found;
        groupId = known.groupId();
        if (poll != null) {
            ready.leaveNamed(name.tenant(), name.queue(), name.partition(), poll);
            ready.enterPinned(known.queueId(), groupId, found.number(), poll);
        }
        return new Candidates(
                List.of(new Candidates.Lane(found.number(), known.queueId(), groupId, this)),
                rule,
                1);
    }

    /**
     * A pop of one lane does not register the group, but for conflation: that is a policy of the
     * group, and not of the lane.
     */
    private Registration register() {
        return request.asksConflation()
                ? groups.register(name.tenant(), name.queue(), request.group(), rule, true, false)
                : groups.touch(name.tenant(), name.queue(), request.group());
    }

    @Override
    public int queueId() {
        return lane == null ? 0 : lane.queueId();
    }

    @Override
    public Conflation conflation() {
        return conflation;
    }

    @Override
    public PopRequest request() {
        return request;
    }

    @Override
    public boolean park(Poll parking) {
        boolean entered = poll != null;
        poll = parking;
        return entered;
    }

    @Override
    public void leave(Poll leaving) {
        called = leaving.isWoken();
        ready.leaveNamed(name.tenant(), name.queue(), name.partition(), leaving);
        if (lane != null) {
            ready.leavePinned(groupId, lane.number(), leaving, false);
        }
    }

    @Override
    public void pass() {
        if (called && lane != null && poll != null) {
            called = false;
            ready.leavePinned(groupId, lane.number(), poll, true);
        }
    }

    @Override
    public long revisitNanos() {
        return revisitNanos;
    }

    @Override
    public boolean isBusy() {
        return busy;
    }

    @Override
    public void empty(long number, long lastOffset) {}

    @Override
    public void served(long number, long end, long lastOffset) {
        if (lane != null) {
            ready.freed(lane.queueId(), groupId, number, end, lastOffset);
        }
    }

    @Override
    public void leased(long number, long lastOffset, Instant expiresAt) {}

    @Override
    public void held(long number, long lastOffset, Instant expiresAt) {
        revisit(ready.millisUntil(expiresAt, ready.config().heldRevisit()));
    }

    @Override
    public void deferred(long number, long lastOffset, Instant visibleAt, long fullAt) {
        revisit(ready.millisUntil(visibleAt, ready.config().deferredRevisit()));
    }

    @Override
    public void busy(long number) {
        Duration pause = ready.config().busyRevisit();
        revisit(pause.toMillis());
    }

    @Override
    public void untouched(long number) {}

    /** Its queue was deleted: the name may be another lane's now, or soon. */
    @Override
    public void gone(long number) {
        names.forget(name);
        groups.queueChanged(lane == null ? 0 : lane.queueId());
        revisit(0);
    }

    private void revisit(long afterMillis) {
        revisitNanos = clock.nanos() + TimeUnit.MILLISECONDS.toNanos(afterMillis);
    }

    /**
     * "From now on" in a lane that does not exist yet means from this poll's arrival on, so that
     * the message which creates the lane, and wakes the poll, is delivered.
     */
    private void rememberArrival() {
        if (rule.equals(StartRule.NEW)
                && !request.group().equals(Names.QUEUE_MODE)
                && !request.patience().isZero()) {
            rule = new StartRule(rule.sql(), procedures.safeInstant());
        }
    }
}
