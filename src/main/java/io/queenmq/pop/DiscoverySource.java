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

    /** A queue that the labels match. */
    private record Home(GroupLanes lanes, boolean conflates) {}

    private final Map<Integer, Home> homes = new LinkedHashMap<>();
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
        List<Candidates.Lane> taken = new ArrayList<>();
        List<Home> order = new ArrayList<>(homes.values());
        boolean conflates = false;
        // Not always from the same queue, or it would starve the others.
        int start = order.isEmpty() ? 0 : ThreadLocalRandom.current().nextInt(order.size());
        for (int i = 0; i < order.size(); i++) {
            Home home = order.get((start + i) % order.size());
            // A claim has one limit of lanes, and queues that conflate have a wider one: all
            // candidates are of the kind of the first. The next look may begin with the other.
            if (!taken.isEmpty() && home.conflates() != conflates) {
                continue;
            }
            conflates = home.conflates();
            int max = Source.width(request.laneLimit(conflates), request.batch(), most, first);
            if (taken.size() >= max) {
                break;
            }
            GroupLanes lanes = home.lanes();
            for (long number : lanes.take(called.remove(lanes), max - taken.size())) {
                taken.add(new Candidates.Lane(number, lanes.queueId(), lanes.groupId(), lanes));
            }
        }
        pass();
        return new Candidates(taken, null, request.laneLimit(conflates));
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
        for (Home home : homes.values()) {
            if (!home.lanes().park(poll)) {
                lookUp |= home.lanes().isDropped();
                return false;
            }
        }
        return true;
    }

    /** It stays where new queues are heard of: {@link #close} leaves that place. */
    @Override
    public void leave(Poll poll) {
        lookUp |= poll.takeNews();
        for (Home home : homes.values()) {
            if (home.lanes().leave(poll)) {
                called.add(home.lanes());
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
        Map<Integer, Home> found = new LinkedHashMap<>();
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
                    GroupLanes lanes =
                            ready.lanes(known.queueId(), known.groupId(), known.generation());
                    found.put(known.queueId(), new Home(lanes, known.conflation()));
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
        for (GroupLanes lanes : List.copyOf(called)) {
            if (found.values().stream().noneMatch(home -> home.lanes().equals(lanes))) {
                called.remove(lanes);
                lanes.pass();
            }
        }
        homes.clear();
        homes.putAll(found);
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
