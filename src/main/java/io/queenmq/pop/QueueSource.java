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
    private final Clock clock;
    private final PopRequest request;
    private final String queue;
    private final StartRule rule;
    private @Nullable GroupLanes lanes;
    private Registration.@Nullable Known group;
    private boolean called;
    private boolean busy;
    private Conflation conflation = Conflation.NONE;

    QueueSource(
            Groups groups,
            ReadyLanes ready,
            Clock clock,
            PopRequest request,
            String queue,
            StartRule rule) {
        this.groups = groups;
        this.ready = ready;
        this.clock = clock;
        this.request = request;
        this.queue = queue;
        this.rule = rule;
    }

    @Override
    public Candidates take(int most, boolean first) {
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
        int limit = request.laneLimit(known.conflation());
        long[] numbers = current.take(called, Source.width(limit, request.batch(), most, first));
        called = false;
        List<Candidates.Lane> taken = new ArrayList<>(numbers.length);
        for (long number : numbers) {
            taken.add(new Candidates.Lane(number, known.queueId(), known.groupId(), current));
        }
        return new Candidates(taken, null, limit);
    }

    @Override
    public Conflation conflation() {
        return conflation;
    }

    @Override
    public boolean park(Poll poll) {
        return lanes == null
                || group == null
                || (lanes.park(poll)
                        && groups.isCurrent(request.tenant(), queue, request.group(), group));
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
        return busy ? clock.nanos() + BUSY_NANOS : Long.MAX_VALUE;
    }

    @Override
    public boolean isBusy() {
        return busy;
    }
}
