package io.queenmq.trace;

import io.queenmq.db.ColdReads;
import io.queenmq.db.Database;
import io.queenmq.model.UuidMint;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

/**
 * Notes of applications about messages; the broker itself writes none. Called from the thread of
 * the request, which waits for the database.
 */
public final class Traces {
    /** Where counting ends. */
    public static final int COUNTED_MAX = 10_000;

    /** Notes of one answer. */
    public static final int PAGE_MAX = 1_000;

    private final TraceProcedures procedures;
    private final TraceReads reads;
    private final UuidMint mint;

    /**
     * @param broker name of this one
     */
    public Traces(String broker, Database database, ColdReads reads, UuidMint mint) {
        this.procedures = new TraceProcedures(database, broker);
        this.reads = new TraceReads(reads);
        this.mint = mint;
    }

    /** Stores a note; empty = the tenant has no such partition. */
    public Optional<UUID> add(UUID tenant, NewTrace trace) {
        UUID id = mint.mint();
        return procedures.add(tenant, id, trace) ? Optional.of(id) : Optional.empty();
    }

    /** Notes about a message, in their order. */
    public List<Trace> of(
            UUID tenant, long partitionNumber, String transactionId, int limit, int offset) {
        return reads.ofMessage(tenant, partitionNumber, transactionId, limit, offset);
    }

    /** Notes that have a name, in their order. */
    public List<Trace> named(UUID tenant, String name, int limit, int offset) {
        return reads.named(tenant, name, limit, offset);
    }

    /** How many notes have a name, counted to {@link #COUNTED_MAX}. */
    public long count(UUID tenant, String name) {
        return reads.count(tenant, name, COUNTED_MAX);
    }

    /** Names, those seen last first. */
    public TraceNames names(UUID tenant, int limit, int offset) {
        return reads.names(tenant, limit, offset, COUNTED_MAX);
    }
}
