package io.queenmq.pop;

import io.queenmq.group.Groups;
import io.queenmq.group.Registration;
import io.queenmq.group.StartRule;
import io.queenmq.ready.GroupLanes;
import io.queenmq.ready.Poll;
import io.queenmq.ready.ReadyLanes;
import io.queenmq.runtime.Clock;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Any lane of one queue. The queue is looked up by name at every look: it may be another by now.
 */
final class QueueSource implements Source {
    static final long BUSY_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private final Groups groups;
    private final ReadyLanes ready;
    private final PopProcedures procedures;
    private final HoldMeters holds;
    private final Clock clock;
    private final PopRequest asked;
    private final Autopilot.@Nullable Pilot pilot;
    private final int messagesMax;
    private final String queue;
    private final StartRule rule;
    private PopRequest request;
    private @Nullable GroupLanes lanes;
    private Registration.@Nullable Known group;

    /** Only in queues that hold under-full batches. */
    private @Nullable Hold hold;

    private boolean holding;
    private boolean called;
    private boolean busy;
    private Conflation conflation = Conflation.NONE;

    QueueSource(
            Groups groups,
            ReadyLanes ready,
            PopProcedures procedures,
            HoldMeters holds,
            Clock clock,
            PopRequest asked,
            Autopilot.@Nullable Pilot pilot,
            int messagesMax,
            String queue,
            StartRule rule) {
        this.groups = groups;
        this.ready = ready;
        this.procedures = procedures;
        this.holds = holds;
        this.clock = clock;
        this.asked = asked;
        this.pilot = pilot;
        this.request = asked;
        this.messagesMax = messagesMax;
        this.queue = queue;
        this.rule = rule;
    }

    @Override
    public Candidates take(int most, boolean first, boolean last) {
        holding = false;
        Registration registration =
                groups.register(
                        request.tenant(),
                        queue,
                        request.group(),
                        rule,
                        request.asksConflation(),
                        true);
        if (!(registration instanceof Registration.Known known)) {
            busy = true;
            pass();
            lanes = null;
            group = null;
            return Candidates.NONE;
        }
        busy = false;
        group = known;
        conflation = Conflation.of(request.conflation(), known.conflation());
        GroupLanes current = ready.lanes(known.queueId(), known.groupId(), known.generation());
        if (current != lanes) {
            pass();
            lanes = current;
        }
        if (first) {
            request = pilot == null || known.conflation() ? asked : pilot.steer(current);
        }
        int limit = request.laneLimit(known.conflation());
        int width = Source.width(limit, request.batch(), most, first);
        if (known.minPopWaitMs() > 0 && request.batch() > 1 && !last) {
            if (hold == null) {
                hold = new Hold(procedures, holds, clock);
            }
            int full = Math.min(request.batch(), known.conflation() ? limit : messagesMax);
            holding = hold.holds(current, most, limit, full, known.minPopWaitMs());
            if (holding) {
                pass();
                return Candidates.NONE;
            }
            width = Math.max(width, hold.lanes());
        }
        // Who has waited for more comes before those woken meanwhile, or it might wait on and on.
        boolean entitled = called || (hold != null && hold.hasBegun());
        long[] numbers = current.take(entitled, width);
        called = false;
        List<Candidates.Lane> taken = new ArrayList<>(numbers.length);
        for (long number : numbers) {
            taken.add(new Candidates.Lane(number, known.queueId(), known.groupId(), current));
        }
        return new Candidates(taken, null, limit);
    }

    @Override
    public int queueId() {
        return group == null ? 0 : group.queueId();
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
    public PopResult answer(PopResult result) {
        PopResult answer = result.with(conflation);
        return pilot == null || conflation.applied() ? answer : pilot.answer(request, answer);
    }

    @Override
    public void end() {
        if (pilot != null) {
            pilot.end();
        }
    }

    @Override
    public boolean park(Poll poll) {
        if (lanes == null || group == null) {
            return true;
        }
        boolean parked;
        if (hold != null && holding) {
            parked = hold.park(lanes, poll);
        } else {
            if (hold != null) {
                hold.end();
            }
            parked = lanes.park(poll);
        }
        return parked && groups.isCurrent(request.tenant(), queue, request.group(), group);
    }

    @Override
    public void leave(Poll poll) {
        called |= lanes != null && lanes.leave(poll);
    }

    @Override
    public void pass() {
        if (called && lanes != null) {
            called = false;
            lanes.pass();
        }
    }

    @Override
    public long revisitNanos() {
        if (holding && hold != null) {
            return hold.revisitNanos();
        }
        return busy ? clock.nanos() + BUSY_NANOS : Long.MAX_VALUE;
    }

    @Override
    public boolean isBusy() {
        return busy;
    }
}
