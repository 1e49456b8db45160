package io.queenmq.transact;

import io.queenmq.ack.TransactionAcks;
import io.queenmq.combine.GroupCommit;
import io.queenmq.kv.KvCall;
import io.queenmq.push.TransactionPushes;
import io.queenmq.timer.TransactionTimers;
import io.queenmq.transact.TransactProcedures.Outcome;
import java.util.HashSet;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** One transaction under way, and what became of it. */
final class Enlisted {
    private record Company(UUID tenant, boolean batches) {}

    private final UUID id;
    private final UUID tenant;
    private final TransactionPushes pushes;
    private final TransactionAcks acks;
    private final KvCall keys;
    private final TransactionTimers timers;
    private final long deadline;
    private Outcome.@Nullable Decided outcome;

    /**
     * @param deadline nanoseconds of the clock, for whatever is not yet begun
     */
    Enlisted(
            UUID id,
            UUID tenant,
            TransactionPushes pushes,
            TransactionAcks acks,
            KvCall keys,
            TransactionTimers timers,
            long deadline) {
        this.id = id;
        this.tenant = tenant;
        this.pushes = pushes;
        this.acks = acks;
        this.keys = keys;
        this.timers = timers;
        this.deadline = deadline;
    }

    UUID id() {
        return id;
    }

    UUID tenant() {
        return tenant;
    }

    TransactionPushes pushes() {
        return pushes;
    }

    TransactionAcks acks() {
        return acks;
    }

    KvCall keys() {
        return keys;
    }

    TransactionTimers timers() {
        return timers;
    }

    long deadline() {
        return deadline;
    }

    void decided(Outcome.Decided decided) {
        outcome = decided;
    }

    Outcome.Decided outcome() {
        return Objects.requireNonNull(outcome);
    }

    /**
     * Only what one tenant wants goes together, nobody's acks may profit from the leases that
     * another names, and timers name one producer for all.
     */
    GroupCommit.Terms terms() {
        Set<Object> touches = new HashSet<>(keys.touches());
        touches.addAll(pushes.touches());
        touches.addAll(acks.touches());
        boolean sociable = timers.isEmpty() && acks.nameTheirOwnLease() && !keys.readsMany();
        return new GroupCommit.Terms(
                sociable ? new Company(tenant, acks.areBatches()) : null,
                touches,
                new GroupCommit.Share(
                        touches.size(),
                        pushes.items() + acks.items() + keys.ops().size(),
                        pushes.bytes() + keys.bytes()));
    }
}
