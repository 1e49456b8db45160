package io.queenmq.pop;

import io.queenmq.group.Groups;
import io.queenmq.group.Registration;
import io.queenmq.group.StartRule;
import io.queenmq.ready.GroupLanes;
import io.queenmq.ready.Poll;
import io.queenmq.ready.ReadyLanes;
import io.queenmq.runtime.Clock;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * Any lane of the queues that labels match. The labels are looked up at first, and again when a
 * queue changed or was heard of for the first time; queues are never created.
 */
final class DiscoverySource implements Source {
    private final Groups groups;
    private final ReadyLanes ready;
    private final PopProcedures procedures;
    private final Clock clock;
    private final PopRequest request;
    private final PopScope.Labels labels;
    private final StartRule rule;

    private final Map<Integer, GroupLanes> lanes = new LinkedHashMap<>();
    private final Set<GroupLanes> called = new LinkedHashSet<>();
    private @Nullable Instant arrival;
    private boolean entered;
    private boolean lookUp = true;
    private boolean busy;
    private Conflation conflation = Conflation.NONE;

    DiscoverySource(
            Groups groups,
            ReadyLanes ready,
            PopProcedures procedures,
            Clock clock,
            PopRequest request,
            PopScope.Labels labels,
            StartRule rule) {
        this.groups = groups;
        this.ready = ready;
        this.procedures = procedures;
        this.clock = clock;
        this.request = request;
        this.labels = labels;
        this.rule = rule;
    }

    @Override
    public Candidates take(int most, boolean first, boolean last) {
        if (lookUp || busy) {
            lookUp();
        }
        int limit = request.laneLimit(conflation.applied());
        int max = Source.width(limit, request.batch(), most, first);
        List<Candidates.Lane> taken = new ArrayList<>();
        List<GroupLanes> order = new ArrayList<>(lanes.values());
        // Not always from the same queue, or it would starve the others.
        int start = order.isEmpty() ? 0 : ThreadLocalRandom.current().nextInt(order.size());
        for (int i = 0; i < order.size() && taken.size() < max; i++) {
            GroupLanes home = order.get((start + i) % order.size());
            for (long number : home.take(called.remove(home), max - taken.size())) {
                taken.add(new Candidates.Lane(number, home.queueId(), home.groupId(), home));
            }
        }
        pass();
        return new Candidates(taken, null, limit);
    }

    @Override
    public Conflation conflation() {
        return conflation;
    }

    @Override
    public boolean park(Poll poll) {
        if (!entered) {
            entered = true;
            lookUp = true;
            ready.enterDiscovery(request.tenant(), poll);
            return false;
        }
        if (poll.hasNews()) {
            return false;
        }
        for (GroupLanes home : lanes.values()) {
            if (!home.park(poll)) {
                lookUp |= home.isDropped();
                return false;
            }
        }
        return true;
    }

    /** It stays where new queues are heard of: {@link #close} leaves that place. */
    @Override
    public void leave(Poll poll) {
        lookUp |= poll.takeNews();
        for (GroupLanes home : lanes.values()) {
            if (home.leave(poll)) {
                called.add(home);
            }
        }
    }

    @Override
    public void pass() {
        called.forEach(GroupLanes::pass);
        called.clear();
    }

    @Override
    public void close(Poll poll) {
        ready.leaveDiscovery(request.tenant(), poll);
    }

    @Override
    public long revisitNanos() {
        return busy ? clock.nanos() + QueueSource.BUSY_NANOS : Long.MAX_VALUE;
    }

    @Override
    public boolean isBusy() {
        return busy;
    }

    private void lookUp() {
        StartRule from = startRule();
        boolean hindered = false;
        boolean conflating = false;
        boolean plain = false;
        Map<Integer, GroupLanes> found = new LinkedHashMap<>();
        for (PopProcedures.LabelledQueue queue :
                procedures.queuesWithLabels(request.tenant(), labels.namespace(), labels.task())) {
            Registration registration =
                    groups.register(
                            request.tenant(),
                            queue.name(),
                            request.group(),
                            from,
                            request.asksConflation(),
                            false);
            switch (registration) {
                case Registration.Known known -> {
                    found.put(
                            known.queueId(),
                            ready.lanes(known.queueId(), known.groupId(), known.generation()));
                    conflating |= known.conflation();
                    plain |= !known.conflation();
                }
                case Registration.Busy() -> hindered = true;
                case Registration.UnknownQueue() -> {}
            }
        }
        busy = hindered;
        lookUp = false;
        conflation = conflation(conflating, plain);
        for (GroupLanes home : List.copyOf(called)) {
            if (!found.containsValue(home)) {
                called.remove(home);
                home.pass();
            }
        }
        lanes.clear();
        lanes.putAll(found);
    }

    /** Each queue has a policy of its own for the group: what any of them does is said. */
    private Conflation conflation(boolean conflating, boolean plain) {
        if (!conflating && !plain) {
            return Conflation.asAsked(request.conflation());
        }
        Boolean asked = request.conflation();
        return new Conflation(conflating, asked != null && (asked ? plain : conflating));
    }

    /**
     * "From now on" in a queue that appears while the poll waits means from its arrival on, so that
     * the message which makes the queue known is delivered.
     */
    private StartRule startRule() {
        if (!rule.equals(StartRule.NEW) || request.patience().isZero()) {
            return rule;
        }
        if (arrival == null) {
            arrival = procedures.safeInstant();
            return rule;
        }
        return StartRule.at(arrival);
    }
}
