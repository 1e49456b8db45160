package io.queenmq.combine;

import io.queenmq.metrics.Metrics;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Whole transactions of several callers in one commit. What a {@link Combiner} does for works of
 * one key each, this does for transactions that touch several things and are atomic: those that
 * come while others are under way and touch nothing in common share the next call.
 *
 * <p>A shared call takes effect whole or not at all. If it does not, each of its transactions is
 * called by itself, so that none suffers for another. A transaction waits here, not in the
 * database, for those of this broker that touch what it touches: one hot key takes one call at a
 * time and leaves the others to everybody else. Who meets something that others hold in the
 * database gives the room it took back before it waits for it.
 *
 * <p>No threads of its own: who has waited longest makes the call for all that join. Any thread.
 *
 * @param <C> what a caller wants done; it carries its own outcome
 */
public final class GroupCommit<C> {
    /** The calls, on the threads of callers. An exception is the outcome of all that were in it. */
    public interface Calls<C> {
        /**
         * One call for all; it must not wait long for what others hold.
         *
         * @return false = certainly nothing took effect: each shall be called by itself
         */
        boolean together(List<C> calls);

        /** One call; refused as busy if it would wait long for what others hold. */
        void alone(C call);

        /** The same again, and it may wait. */
        void patiently(C call);
    }

    /**
     * How one may be called.
     *
     * @param company only those with the same share a call; null = none may
     * @param touches what it locks: two that have one in common are never under way at once
     * @param share of what a call takes
     */
    public record Terms(@Nullable Object company, Collection<?> touches, Share share) {}

    /**
     * What a transaction puts into a call, and the most that a call of several takes.
     *
     * @param touches things locked
     * @param items things done
     * @param bytes of memory
     */
    public record Share(int touches, int items, long bytes) {
        public static final Share ANY = new Share(0, 0, 0);

        private boolean isWithin(Share most) {
            return touches <= most.touches && items <= most.items && bytes <= most.bytes;
        }

        private Share plus(Share other) {
            return new Share(touches + other.touches, items + other.items, bytes + other.bytes);
        }
    }

    /**
     * Bounds.
     *
     * @param name of the meters: {@code kv}
     * @param calls most calls under way at once
     * @param members most transactions of a call
     * @param share the most that a call of several takes; one may have more
     * @param waitingForOthers most calls beside these that wait for what others hold
     */
    public record Config(String name, int calls, int members, Share share, int waitingForOthers) {}

    /**
     * A call for one transaction costs half as much as one for eight: fewer than this many do not
     * begin another call beside the one that is under way. With twice as many one processor stands
     * still while sixteen callers share the other.
     */
    private static final int COMPANY = 8;

    /** So long one waits for company at most while other calls are under way. */
    private static final long COMPANY_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

    /** So long one that had been under way waits for a call to itself at most. */
    private static final long APART_NANOS = TimeUnit.SECONDS.toNanos(10);

    private enum Stage {
        WAITING,
        /** Its thread shall make the call. */
        LEADS,
        UNDER_WAY,
        DONE
    }

    /** Guarded by {@link #state}. */
    private static final class Member<C> {
        final C call;
        final Terms terms;
        final Condition moved;
        final long companyUntil;
        long until;
        Stage stage = Stage.WAITING;
        boolean alone;
        List<Member<C>> group = List.of();
        @Nullable RuntimeException failure;

        Member(C call, Terms terms, Condition moved, long now, long patience) {
            this.call = call;
            this.terms = terms;
            this.moved = moved;
            this.until = now + patience;
            this.companyUntil = now + Math.min(patience, COMPANY_NANOS);
            this.alone = terms.company() == null;
        }
    }

    private final Config config;
    private final Calls<C> calls;
    private final Clock clock;
    private final Semaphore waitingForOthers;
    private final LongAdder made = new LongAdder();
    private final LongAdder carried = new LongAdder();
    private final LongAdder apart = new LongAdder();

    /** Guards what follows. */
    private final ReentrantLock state = new ReentrantLock();

    private final ArrayDeque<Member<C>> waiting = new ArrayDeque<>();
    private final Set<Object> touched = new HashSet<>();
    private int callsUnderWay;

    /** Transactions under way that might have shared their calls. */
    private int companyUnderWay;

    /** Most transactions of the next call: fewer after one that had no effect. */
    private int membersMax;

    public GroupCommit(Config config, Calls<C> calls, Metrics metrics, Clock clock) {
        this.config = config;
        this.calls = calls;
        this.clock = clock;
        this.waitingForOthers = new Semaphore(config.waitingForOthers());
        this.membersMax = config.members();
        String family = "queen_" + config.name();
        metrics.counterOf(
                family + "_group_calls_total",
                "Calls made for one or several requests.",
                made::sum);
        metrics.counterOf(
                family + "_group_members_total",
                "Requests that these calls were for.",
                carried::sum);
        metrics.counterOf(
                family + "_group_apart_total",
                "Shared calls without effect, after which each request had one to itself.",
                apart::sum);
    }

    /** Calls under way, those left out that wait for what others hold. */
    public int underWay() {
        state.lock();
        try {
            return callsUnderWay;
        } finally {
            state.unlock();
        }
    }

    /** Callers that wait for a call to begin. */
    public int waiting() {
        state.lock();
        try {
            return waiting.size();
        } finally {
            state.unlock();
        }
    }

    /**
     * Blocks until the call has its outcome.
     *
     * @param patience longest wait for it to begin; zero = it begins at once or not at all
     * @return false = nothing was done, for want of room
     * @throws QueenException busy (something it touches stayed in other hands), stopping: nothing
     *     was done; or whatever {@link Calls} threw
     */
    public boolean carryOut(C call, Terms terms, Duration patience) {
        Member<C> member;
        state.lock();
        try {
            member =
                    new Member<>(
                            call, terms, state.newCondition(), clock.nanos(), patience.toNanos());
            waiting.addLast(member);
            dispatch();
        } finally {
            state.unlock();
        }
        while (true) {
            switch (awaitTurn(member)) {
                case WAITING -> {
                    return false;
                }
                case LEADS -> lead(member.group);
                case UNDER_WAY, DONE -> {
                    if (member.failure != null) {
                        throw member.failure;
                    }
                    return true;
                }
            }
        }
    }

    // -- turns -----------------------------------------------------------------------------------

    /** What is to be done now; waiting = it has left for want of room. */
    private Stage awaitTurn(Member<C> member) {
        state.lock();
        try {
            while (true) {
                switch (member.stage) {
                    case LEADS -> {
                        member.stage = Stage.UNDER_WAY;
                        return Stage.LEADS;
                    }
                    case DONE -> {
                        return Stage.DONE;
                    }
                    // Others wait for what it holds, and its outcome is somebody's to tell.
                    case UNDER_WAY -> member.moved.awaitUninterruptibly();
                    case WAITING -> {
                        if (!awaitCall(member)) {
                            return Stage.WAITING;
                        }
                    }
                }
            }
        } finally {
            state.unlock();
        }
    }

    /** Until its call begins; false = it has waited long enough. */
    private boolean awaitCall(Member<C> member) {
        try {
            while (member.stage == Stage.WAITING) {
                long now = clock.nanos();
                if (now - member.until >= 0) {
                    boolean hadRoom = callsUnderWay < config.calls();
                    leave(member);
                    if (hadRoom) {
                        throw new QueenException(
                                Failure.BUSY,
                                "what it touches stayed in the hands of other requests");
                    }
                    return false;
                }
                long next = now - member.companyUntil < 0 ? member.companyUntil : member.until;
                if (member.moved.awaitNanos(next - now) <= 0) {
                    dispatch();
                }
            }
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            if (member.stage != Stage.WAITING) {
                // Its turn came first.
                return true;
            }
            leave(member);
            throw new QueenException(Failure.STOPPING, "the broker is stopping", e);
        }
    }

    /** Those behind it do not wait for what it touches any more. */
    private void leave(Member<C> member) {
        waiting.remove(member);
        dispatch();
    }

    /** Begins what calls there is room and reason for. */
    private void dispatch() {
        while (callsUnderWay < config.calls()) {
            List<Member<C>> group = nextGroup();
            if (group.isEmpty()) {
                return;
            }
            for (Member<C> member : group) {
                member.stage = Stage.UNDER_WAY;
                touched.addAll(member.terms.touches());
            }
            waiting.removeIf(member -> member.stage == Stage.UNDER_WAY);
            callsUnderWay++;
            companyUnderWay += company(group);
            Member<C> leader = group.getFirst();
            leader.group = group;
            leader.stage = Stage.LEADS;
            leader.moved.signal();
        }
    }

    /** Who may go together. */
    private static final class Group<C> {
        final List<Member<C>> members = new ArrayList<>();
        Share share = Share.ANY;
    }

    /** The first call that is due, in the order of who has waited longest; empty = none is. */
    private List<Member<C>> nextGroup() {
        // Of all who stand before: nobody overtakes them on what they wait for.
        Set<Object> taken = new HashSet<>();
        Map<Object, Group<C>> groups = new LinkedHashMap<>();
        for (Member<C> member : waiting) {
            boolean free = isFree(member, taken);
            taken.addAll(member.terms.touches());
            if (!free) {
                continue;
            }
            Object company = member.alone ? member : Objects.requireNonNull(member.terms.company());
            Group<C> group = groups.computeIfAbsent(company, key -> new Group<>());
            Share share = group.share.plus(member.terms.share());
            if (group.members.isEmpty() || share.isWithin(config.share())) {
                group.members.add(member);
                group.share = share;
            }
            if (group.members.size() == membersMax) {
                break;
            }
        }
        for (Group<C> group : groups.values()) {
            if (isDue(group.members)) {
                return group.members;
            }
        }
        return List.of();
    }

    private boolean isFree(Member<C> member, Set<Object> taken) {
        for (Object touch : member.terms.touches()) {
            if (touched.contains(touch) || taken.contains(touch)) {
                return false;
            }
        }
        return true;
    }

    /**
     * While others are under way, the next call waits until it is worth its cost and as large as
     * they are, or for a short time. Calls for one that may share with nobody count for nothing.
     */
    private boolean isDue(List<Member<C>> group) {
        long now = clock.nanos();
        return companyUnderWay == 0
                || group.getFirst().alone
                || group.size() >= Math.min(membersMax, Math.max(COMPANY, companyUnderWay))
                || group.stream().anyMatch(member -> now - member.companyUntil >= 0);
    }

    // -- calls -----------------------------------------------------------------------------------

    private void lead(List<Member<C>> group) {
        made.increment();
        carried.add(group.size());
        if (group.size() == 1) {
            callAlone(group.getFirst());
            return;
        }
        boolean tookEffect = false;
        RuntimeException failure = null;
        try {
            tookEffect = calls.together(group.stream().map(member -> member.call).toList());
        } catch (QueenException e) {
            failure = Blame.isOfAll(e.failure()) ? e : null;
        } catch (RuntimeException | Error e) {
            failure = bug(e);
        }
        finish(group, tookEffect, failure);
    }

    private void callAlone(Member<C> member) {
        RuntimeException failure = null;
        boolean waits = false;
        try {
            calls.alone(member.call);
        } catch (QueenException e) {
            failure = e;
            waits = e.failure() == Failure.BUSY;
        } catch (RuntimeException | Error e) {
            failure = bug(e);
        }
        if (waits && waitingForOthers.tryAcquire()) {
            leaveRoom(member);
            try {
                failure = null;
                calls.patiently(member.call);
            } catch (QueenException e) {
                failure = e;
            } catch (RuntimeException | Error e) {
                failure = bug(e);
            } finally {
                waitingForOthers.release();
            }
            done(member, failure);
        } else {
            finish(List.of(member), true, failure);
        }
    }

    private static RuntimeException bug(Throwable thrown) {
        return thrown instanceof RuntimeException bug
                ? bug
                : new QueenException(Failure.INTERNAL, "internal error", thrown);
    }

    /** What it touches stays its own while it waits. */
    private void leaveRoom(Member<C> member) {
        state.lock();
        try {
            callsUnderWay--;
            companyUnderWay -= company(List.of(member));
            dispatch();
        } finally {
            state.unlock();
        }
    }

    private int company(List<Member<C>> group) {
        return group.getFirst().alone ? 0 : group.size();
    }

    private void done(Member<C> member, @Nullable RuntimeException failure) {
        state.lock();
        try {
            end(member, failure);
            dispatch();
        } finally {
            state.unlock();
        }
    }

    private void end(Member<C> member, @Nullable RuntimeException failure) {
        touched.removeAll(member.terms.touches());
        member.failure = failure;
        member.stage = Stage.DONE;
        member.moved.signal();
    }

    private void finish(
            List<Member<C>> group, boolean tookEffect, @Nullable RuntimeException failure) {
        state.lock();
        try {
            callsUnderWay--;
            companyUnderWay -= company(group);
            if (tookEffect || failure != null) {
                // Who has been taken apart, or goes alone anyhow, says nothing of those who share.
                if (failure == null && !group.getFirst().alone) {
                    membersMax = Math.min(config.members(), membersMax + group.size());
                }
                group.forEach(member -> end(member, failure));
            } else {
                apart.increment();
                membersMax = Math.max(1, group.size() / 2);
                // In front, the oldest first.
                for (Member<C> member : group.reversed()) {
                    touched.removeAll(member.terms.touches());
                    member.alone = true;
                    member.until = clock.nanos() + APART_NANOS;
                    member.stage = Stage.WAITING;
                    waiting.addFirst(member);
                    member.moved.signal();
                }
            }
            dispatch();
        } finally {
            state.unlock();
        }
    }
}
