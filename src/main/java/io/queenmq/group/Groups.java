package io.queenmq.group;

import io.queenmq.db.Database;
import io.queenmq.runtime.Clock;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Consumer groups by name, remembered: a pop of a known group asks the database nothing. Many that
 * ask at once make one call. Any thread.
 */
public final class Groups {
    private static final int ATTEMPTS_MAX = 5;
    private static final long ATTEMPT_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    private record Key(UUID tenant, String queue, String group) {}

    /** What the database said, or is being asked. */
    private static final class Entry {
        private final CompletableFuture<Registration> answer = new CompletableFuture<>();
        private final long sinceNanos;

        private Entry(long sinceNanos) {
            this.sinceNanos = sinceNanos;
        }

        private boolean says(Registration.Known known) {
            return answer.isDone()
                    && !answer.isCompletedExceptionally()
                    && answer.join().equals(known);
        }

        /** Whether it is, or may turn out to be, a group of that queue. */
        private boolean mayBeOf(int queueId) {
            return !answer.isDone()
                    || (!answer.isCompletedExceptionally()
                            && answer.join() instanceof Registration.Known known
                            && known.queueId() == queueId);
        }
    }

    private final GroupsConfig config;
    private final GroupProcedures procedures;
    private final Clock clock;

    /** Guards {@code entries}, which hold what the database said last, the least used first. */
    private final ReentrantLock entriesLock = new ReentrantLock();

    private final Map<Key, Entry> entries = new LinkedHashMap<>(16, 0.75f, true);

    public Groups(GroupsConfig config, Database database, Clock clock) {
        this.config = config;
        this.procedures = new GroupProcedures(database);
        this.clock = clock;
    }

    /**
     * Registers the group if it is not, and says what it is.
     *
     * @param rule where it begins if it is registered now; the stored one wins
     * @param conflation whether it conflates if it is registered now; what is stored wins
     * @param createQueue whether a queue that is missing is made
     */
    public Registration register(
            UUID tenant,
            String queue,
            String group,
            StartRule rule,
            boolean conflation,
            boolean createQueue) {
        return find(new Key(tenant, queue, group), rule, conflation, createQueue);
    }

    /** Makes the group known without registering it, for a pop of a single lane. */
    public Registration touch(UUID tenant, String queue, String group) {
        return find(new Key(tenant, queue, group), null, false, false);
    }

    /**
     * Whether this is still what is known of the group. A poll asks once it is parked: what changed
     * before has not woken it.
     */
    public boolean isCurrent(UUID tenant, String queue, String group, Registration.Known known) {
        entriesLock.lock();
        try {
            Entry entry = entries.get(new Key(tenant, queue, group));
            return entry != null && entry.says(known);
        } finally {
            entriesLock.unlock();
        }
    }

    /** A queue changed or went, or groups of it did. */
    public void queueChanged(int queueId) {
        entriesLock.lock();
        try {
            entries.values().removeIf(entry -> entry.mayBeOf(queueId));
        } finally {
            entriesLock.unlock();
        }
    }

    public void everythingChanged() {
        entriesLock.lock();
        try {
            entries.clear();
        } finally {
            entriesLock.unlock();
        }
    }

    private Registration find(
            Key key, @Nullable StartRule rule, boolean conflation, boolean createQueue) {
        Entry mine = new Entry(clock.nanos());
        Entry present = join(key, mine);
        while (present != mine) {
            Registration answer = await(present.answer);
            if (answer instanceof Registration.Busy
                    || (answer instanceof Registration.Known known
                            && (rule == null || known.registered()))) {
                return answer;
            }
            // What another asked for was less than this caller needs: one of those asks again.
            present = succeed(key, present, mine);
        }
        try {
            Registration answer = ask(key, rule, conflation, createQueue);
            mine.answer.complete(answer);
            if (!(answer instanceof Registration.Known)) {
                forget(key, mine);
            }
            return answer;
        } catch (RuntimeException e) {
            mine.answer.completeExceptionally(e);
            forget(key, mine);
            throw e;
        }
    }

    /** Another broker's registration takes no longer than a commit: worth a short wait. */
    private Registration ask(
            Key key, @Nullable StartRule rule, boolean conflation, boolean createQueue) {
        for (int attempt = 1; ; attempt++) {
            Registration answer =
                    procedures.register(
                            key.tenant(), key.queue(), key.group(), rule, conflation, createQueue);
            if (!(answer instanceof Registration.Busy) || attempt == ATTEMPTS_MAX) {
                return answer;
            }
            LockSupport.parkNanos(ATTEMPT_PAUSE_NANOS);
        }
    }

    private static Registration await(CompletableFuture<Registration> answer) {
        try {
            return answer.join();
        } catch (CompletionException e) {
            if (e.getCause() instanceof RuntimeException refusal) {
                throw refusal;
            }
            throw e;
        }
    }

    /** What is known or on its way, else the caller's own to be. */
    private Entry join(Key key, Entry mine) {
        entriesLock.lock();
        try {
            Entry entry = entries.get(key);
            if (entry != null && mine.sinceNanos - entry.sinceNanos < config.refresh().toNanos()) {
                return entry;
            }
            entries.put(key, mine);
            if (entries.size() > config.groupsMax()) {
                entries.remove(entries.keySet().iterator().next());
            }
            return mine;
        } finally {
            entriesLock.unlock();
        }
    }

    /** The caller's own in the place of one that did not do, or whose that has taken it already. */
    private Entry succeed(Key key, Entry predecessor, Entry mine) {
        entriesLock.lock();
        try {
            Entry entry = entries.get(key);
            if (entry != null && entry != predecessor) {
                return entry;
            }
            entries.put(key, mine);
            return mine;
        } finally {
            entriesLock.unlock();
        }
    }

    private void forget(Key key, Entry mine) {
        entriesLock.lock();
        try {
            entries.remove(key, mine);
        } finally {
            entriesLock.unlock();
        }
    }
}
