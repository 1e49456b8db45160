package io.queenmq.kv;

import io.queenmq.kv.LockResult.Holder;
import io.queenmq.model.Caller;
import io.queenmq.model.Names;
import io.queenmq.model.QueenException;
import io.queenmq.model.Slice;
import io.queenmq.runtime.Clock;
import io.queenmq.web.JsonBody;
import io.queenmq.web.JsonBuffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Locks with several slots and fencing tokens: keys of a namespace of their own, whose versions
 * grow from holder to holder. All operations of a call take the same rounds: one call that reads
 * the slots, one that writes those chosen, and further ones only for who found a slot taken that
 * had been free. Any thread.
 */
public final class Locks {
    private static final System.Logger LOG = System.getLogger(Locks.class.getName());

    /** Where the keys are. */
    public static final String NAMESPACE = "queen-locks";

    private static final int OPS_MAX = 64;
    private static final int SLOTS_MAX = 1_024;
    private static final int SLOTS_OF_CALL_MAX = 4_096;
    private static final int NAME_BYTES_MAX = 256;
    private static final int ROUNDS_MAX = 4;
    private static final String SLOT = "#";

    /** Keys of other forms are somebody else's doing. */
    private static final Pattern IS_SLOT = Pattern.compile("#[0-9]{1,4}$");

    private final Kv kv;
    private final Clock clock;

    public Locks(Kv kv, Clock clock) {
        this.kv = kv;
        this.clock = clock;
    }

    /** Most operations of a call. */
    public int opsMax() {
        return OPS_MAX;
    }

    /** The key of a slot. */
    public static String key(String name, int slot) {
        return name + SLOT + slot;
    }

    /** An operation under way. */
    private static final class Attempt {
        private final LockOp op;
        private final List<Holder> holders;

        /** Slots that nobody is known to hold, in the order in which they are tried. */
        private final List<Integer> free = new ArrayList<>();

        private final String owner;
        private long expect;
        private @Nullable LockResult result;

        /** Somebody else was faster; who it is has to be read. */
        private boolean beaten;

        private Attempt(LockOp op, List<Holder> holders) {
            this.op = op;
            this.holders = holders;
            this.owner =
                    op instanceof LockOp.Acquire acquire && acquire.owner() != null
                            ? acquire.owner()
                            : UUID.randomUUID().toString();
        }

        private @Nullable Holder holder(int slot) {
            for (Holder holder : holders) {
                if (holder.slot() == slot) {
                    return holder;
                }
            }
            return null;
        }
    }

    /**
     * Carries operations out, each for itself.
     *
     * @return one result per operation, in their order
     * @throws QueenException as {@link Kv#apply}
     */
    public List<LockResult> apply(Caller caller, List<LockOp> ops) {
        kv.admit(caller);
        check(ops);
        if (ops.isEmpty()) {
            return List.of();
        }
        kv.takeTurn(caller, ops.stream().anyMatch(op -> !(op instanceof LockOp.Get)));
        List<Attempt> attempts = new ArrayList<>(ops.size());
        List<List<Holder>> read = holders(caller, ops);
        for (int i = 0; i < ops.size(); i++) {
            Attempt attempt = new Attempt(ops.get(i), read.get(i));
            attempts.add(attempt);
            begin(attempt);
        }
        int rounds = 0;
        try {
            for (List<Attempt> open = open(attempts);
                    rounds < ROUNDS_MAX && !open.isEmpty();
                    open = open(attempts)) {
                round(caller, open);
                rounds++;
            }
            // A renewal that one of its own holder's overtakes each time has lost nothing.
            open(attempts).forEach(a -> a.beaten = a.op instanceof LockOp.Acquire);
            conclude(caller, unanswered(attempts));
        } catch (QueenException e) {
            if (rounds == 0) {
                throw e;
            }
            // What was taken would be held by nobody, were its token lost with the answer; and what
            // the last round did may have been done.
            LOG.log(System.Logger.Level.DEBUG, "a call on locks ends early", e);
            unanswered(attempts).forEach(a -> end(a, a.holders));
        }
        return attempts.stream().map(a -> Objects.requireNonNull(a.result)).toList();
    }

    private static List<Attempt> open(List<Attempt> attempts) {
        return attempts.stream().filter(a -> a.result == null && !a.beaten).toList();
    }

    private static List<Attempt> unanswered(List<Attempt> attempts) {
        return attempts.stream().filter(a -> a.result == null).toList();
    }

    /**
     * One that others were faster than has come to nothing; any other may have been carried out.
     */
    private static void end(Attempt attempt, List<Holder> holders) {
        boolean acquires = attempt.op instanceof LockOp.Acquire;
        if (!attempt.beaten) {
            attempt.result = new LockResult.Unfinished(acquires ? attempt.owner : null, holders);
        } else {
            attempt.result =
                    acquires ? new LockResult.Refused(true, holders) : new LockResult.Lost(holders);
        }
    }

    /** Those that others were faster than are told who. */
    private void conclude(Caller caller, List<Attempt> unanswered) {
        if (unanswered.isEmpty()) {
            return;
        }
        List<List<Holder>> read =
                holders(caller, unanswered.stream().map(a -> new LockOp.Get(a.op.name())).toList());
        for (int i = 0; i < unanswered.size(); i++) {
            end(unanswered.get(i), read.get(i));
        }
    }

    /** Who holds the slots that each operation is about, in one call. */
    private List<List<Holder>> holders(Caller caller, List<? extends LockOp> ops) {
        List<KvOp> reads = new ArrayList<>(ops.size());
        for (LockOp op : ops) {
            String name = op.name();
            reads.add(
                    switch (op) {
                        case LockOp.Acquire acquire ->
                                new KvOp.GetMany(
                                        NAMESPACE,
                                        IntStream.range(0, acquire.limit())
                                                .mapToObj(slot -> key(name, slot))
                                                .toList());
                        case LockOp.Renew renew ->
                                new KvOp.GetMany(NAMESPACE, List.of(key(name, renew.slot())));
                        case LockOp.Release release -> new KvOp.GetMany(NAMESPACE, List.of());
                        case LockOp.Get get ->
                                new KvOp.GetPrefix(NAMESPACE, name + SLOT, null, SLOTS_MAX, false);
                    });
        }
        List<List<Holder>> holders = new ArrayList<>(ops.size());
        List<KvResult> results = kv.run(caller, reads);
        for (int i = 0; i < results.size(); i++) {
            holders.add(
                    rows(caller, reads.get(i), results.get(i)).stream()
                            .filter(row -> IS_SLOT.matcher(row.key()).find())
                            .map(Locks::holder)
                            .sorted(Comparator.comparingInt(Holder::slot))
                            .toList());
        }
        return holders;
    }

    /** All rows of a read: what a full answer left out is asked for by itself. */
    private List<KvResult.Row> rows(Caller caller, KvOp read, KvResult result) {
        List<KvResult.Row> rows = new ArrayList<>();
        KvOp rest =
                switch (result) {
                    case KvResult.GotMany many -> {
                        rows.addAll(many.rows());
                        yield many.truncated() ? rest((KvOp.GetMany) read, many) : null;
                    }
                    case KvResult.Page page -> {
                        rows.addAll(page.rows());
                        yield page.truncated() ? rest((KvOp.GetPrefix) read, page) : null;
                    }
                    case KvResult.Got got -> null;
                    case KvResult.Written written -> null;
                };
        if (rest != null) {
            rows.addAll(rows(caller, rest, kv.run(caller, List.of(rest)).getFirst()));
        }
        return rows;
    }

    private static KvOp rest(KvOp.GetMany read, KvResult.GotMany many) {
        Set<String> left = new LinkedHashSet<>(read.names());
        many.missing().forEach(left::remove);
        many.rows().forEach(row -> left.remove(row.key()));
        return new KvOp.GetMany(NAMESPACE, List.copyOf(left));
    }

    /** Null = as many as slots there can be have been read. */
    private static @Nullable KvOp rest(KvOp.GetPrefix read, KvResult.Page page) {
        int limit = read.limit() - page.rows().size();
        String after = page.passed() == null ? page.rows().getLast().key() : page.passed();
        return limit <= 0
                ? null
                : new KvOp.GetPrefix(NAMESPACE, read.prefix(), after, limit, false);
    }

    /** What can be told without a write is; otherwise which slots to try, or which version. */
    private static void begin(Attempt attempt) {
        switch (attempt.op) {
            case LockOp.Get get -> attempt.result = new LockResult.Held(attempt.holders);
            case LockOp.Release release -> attempt.expect = release.token();
            case LockOp.Renew renew -> {
                Holder holder = attempt.holder(renew.slot());
                if (holder == null) {
                    attempt.result = new LockResult.Lost(attempt.holders);
                } else {
                    attempt.expect = renewable(renew, holder.owner(), holder.token());
                    if (attempt.expect == 0) {
                        attempt.result = new LockResult.Lost(attempt.holders);
                    }
                }
            }
            case LockOp.Acquire acquire -> {
                int first = ThreadLocalRandom.current().nextInt(acquire.limit());
                for (int i = 0; i < acquire.limit(); i++) {
                    int slot = (first + i) % acquire.limit();
                    Holder holder = attempt.holder(slot);
                    if (holder == null) {
                        attempt.free.add(slot);
                    } else if (holder.owner().equals(acquire.owner())) {
                        attempt.result =
                                new LockResult.Acquired(slot, holder.token(), holder.owner(), true);
                        return;
                    }
                }
                if (attempt.free.isEmpty()) {
                    attempt.result = new LockResult.Refused(false, attempt.holders);
                }
            }
        }
    }

    /**
     * The version under which a renewal goes on; 0 = it does not. Tokens grow: a higher one than
     * that of the holder is none that a renewal has replaced.
     */
    private static long renewable(LockOp.Renew renew, @Nullable String owner, long token) {
        boolean replaced =
                renew.token() < token && renew.owner() != null && renew.owner().equals(owner);
        return token == renew.token() || replaced ? token : 0;
    }

    private void round(Caller caller, List<Attempt> open) {
        List<KvOp> writes = open.stream().map(this::write).toList();
        List<KvResult> results = kv.run(caller, writes);
        for (int i = 0; i < open.size(); i++) {
            told(open.get(i), (KvResult.Written) results.get(i));
        }
    }

    private KvOp write(Attempt attempt) {
        return switch (attempt.op) {
            case LockOp.Acquire acquire ->
                    put(
                            key(acquire.name(), attempt.free.getFirst()),
                            value(attempt.owner, null),
                            acquire.ttlSeconds(),
                            0);
            case LockOp.Renew renew -> {
                Holder holder = attempt.holder(renew.slot());
                yield put(
                        key(renew.name(), renew.slot()),
                        holder == null
                                ? value(attempt.owner, null)
                                : value(holder.owner(), holder.since()),
                        renew.ttlSeconds(),
                        attempt.expect);
            }
            case LockOp.Release release ->
                    new KvOp.Delete(
                            NAMESPACE, key(release.name(), release.slot()), attempt.expect, false);
            case LockOp.Get get -> throw new IllegalStateException("a read writes nothing");
        };
    }

    private static KvOp put(String key, Slice value, long ttlSeconds, long expect) {
        return new KvOp.Put(NAMESPACE, key, value, ttlSeconds, expect, expect == 0, false);
    }

    private Slice value(String owner, @Nullable String since) {
        JsonBuffer json = new JsonBuffer(96).raw("{\"owner\":").string(owner).raw(",\"since\":");
        if (since == null) {
            json.instant(clock.now());
        } else {
            json.string(since);
        }
        return Slice.of(json.raw('}').toBytes());
    }

    private static void told(Attempt attempt, KvResult.Written written) {
        switch (attempt.op) {
            case LockOp.Acquire acquire -> {
                int slot = attempt.free.removeFirst();
                if (written.applied()) {
                    attempt.result =
                            new LockResult.Acquired(slot, written.version(), attempt.owner, false);
                } else if (attempt.owner.equals(owner(written.value()))) {
                    attempt.result =
                            new LockResult.Acquired(slot, written.version(), attempt.owner, true);
                } else {
                    attempt.beaten = attempt.free.isEmpty();
                }
            }
            case LockOp.Renew renew -> {
                long current =
                        written.applied()
                                ? 0
                                : renewable(renew, owner(written.value()), written.version());
                if (written.applied()) {
                    attempt.result = new LockResult.Renewed(renew.slot(), written.version());
                } else if (current == 0) {
                    attempt.beaten = true;
                } else {
                    attempt.expect = current;
                }
            }
            case LockOp.Release release -> {
                if (written.applied()) {
                    attempt.result = new LockResult.Released();
                } else {
                    attempt.beaten = true;
                }
            }
            case LockOp.Get get -> throw new IllegalStateException("a read writes nothing");
        }
    }

    private static Holder holder(KvResult.Row row) {
        int slot = row.key().lastIndexOf(SLOT);
        return new Holder(
                Integer.parseInt(row.key(), slot + 1, row.key().length(), 10),
                owner(row.value()),
                row.version(),
                field("since", row.value()),
                row.updatedAt(),
                row.expiresAt());
    }

    private static String owner(@Nullable Slice value) {
        String owner = field("owner", value);
        return owner == null ? "" : owner;
    }

    /** A field of the value of a lock; null where somebody else's hand has written another one. */
    private static @Nullable String field(String field, @Nullable Slice value) {
        if (value == null) {
            return null;
        }
        try (JsonBody body = new JsonBody(value.copy())) {
            for (String name = body.nextName(); name != null; name = body.nextName()) {
                if (name.equals(field)) {
                    return body.textOrNull(name);
                }
                body.skip();
            }
            return null;
        } catch (QueenException e) {
            return null;
        }
    }

    private static void check(List<LockOp> ops) {
        if (ops.size() > OPS_MAX) {
            throw KvRules.bad(
                    "locks_too_many_ops",
                    "a call takes at most %d operations, got %d".formatted(OPS_MAX, ops.size()));
        }
        int slots = ops.stream().mapToInt(LockOp::slots).sum();
        if (slots > SLOTS_OF_CALL_MAX) {
            throw KvRules.bad(
                    "locks_too_many_slots",
                    "a call looks at most at %d slots, got %d".formatted(SLOTS_OF_CALL_MAX, slots));
        }
        Set<String> names = new HashSet<>();
        for (LockOp op : ops) {
            name("name", op.name());
            if (op.name().isEmpty() || op.name().contains(SLOT)) {
                throw KvRules.bad("locks_bad_name", "name must have a character, and none of it #");
            }
            if (!names.add(op.name())) {
                throw KvRules.bad(
                        "locks_duplicate_name",
                        "a call names a lock once, got \"" + op.name() + "\" again");
            }
            switch (op) {
                case LockOp.Acquire acquire -> {
                    KvRules.timeToLive(acquire.ttlSeconds());
                    if (acquire.owner() != null) {
                        name("owner", acquire.owner());
                    }
                    slot("limit", acquire.limit(), 1, SLOTS_MAX);
                }
                case LockOp.Renew renew -> {
                    KvRules.timeToLive(renew.ttlSeconds());
                    token(renew.token());
                    slot("slot", renew.slot(), 0, SLOTS_MAX - 1);
                }
                case LockOp.Release release -> {
                    token(release.token());
                    slot("slot", release.slot(), 0, SLOTS_MAX - 1);
                }
                case LockOp.Get get -> {}
            }
        }
    }

    private static void token(long token) {
        if (token < 1) {
            throw KvRules.bad("locks_bad_request", "token must be at least 1, got " + token);
        }
    }

    private static void slot(String field, int value, int min, int max) {
        if (value < min || value > max) {
            throw KvRules.bad(
                    "locks_bad_slot",
                    "%s must be %d to %d, got %d".formatted(field, min, max, value));
        }
    }

    private static void name(String field, String text) {
        try {
            Names.checked(field, text, NAME_BYTES_MAX);
        } catch (QueenException e) {
            throw KvRules.bad("locks_bad_name", e.detail());
        }
        if (text.chars().anyMatch(Character::isISOControl)) {
            throw KvRules.bad("locks_bad_name", field + " must not contain control characters");
        }
    }
}
