package io.queenmq.ack;

import io.queenmq.ack.AckProcedures.BatchVerdict;
import io.queenmq.ack.AckProcedures.Change;
import io.queenmq.ack.AckProcedures.MessageOutcome;
import io.queenmq.ack.AckProcedures.MessageVerdict;
import io.queenmq.model.Ids;
import io.queenmq.model.Uuids;
import io.queenmq.segment.MessageKey;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The acknowledgements of one transaction: grouped by cursor here, carried out by the call of the
 * transaction, which gives a verdict on each. For the thread of the request.
 */
public final class TransactionAcks {
    /** One acknowledgement as the transaction names it. */
    public record Item(
            String group,
            UUID partitionId,
            String transactionId,
            @Nullable String leaseId,
            AckStatus status,
            @Nullable String error) {}

    private final Ack ack;
    private final List<Item> items;
    private final List<AckUnit> units = new ArrayList<>();
    private final UUID[] suppliedLeases;

    /** By place in the arguments: which item stands there, and what became of it. */
    private final int[] itemAt;

    private final @Nullable MessageOutcome[] outcomes;

    /** All of them end what their leases have delivered, as far as this broker knows. */
    private boolean areBatches;

    /**
     * @param requiredLeases leases that the transaction names beside its acks
     */
    TransactionAcks(Ack ack, UUID tenant, List<Item> items, List<String> requiredLeases) {
        this.ack = ack;
        this.items = items;
        this.itemAt = new int[items.size()];
        this.outcomes = new MessageOutcome[items.size()];
        Map<AckUnit.Cursor, List<Integer>> byCursor = new LinkedHashMap<>();
        Set<UUID> supplied = new LinkedHashSet<>();
        for (int i = 0; i < items.size(); i++) {
            Item item = items.get(i);
            byCursor.computeIfAbsent(
                            new AckUnit.Cursor(
                                    Ids.partitionNumber(item.partitionId()), item.group()),
                            cursor -> new ArrayList<>())
                    .add(i);
            lease(item.leaseId()).ifPresent(supplied::add);
        }
        requiredLeases.forEach(lease -> lease(lease).ifPresent(supplied::add));
        suppliedLeases = supplied.toArray(UUID[]::new);
        int at = 0;
        for (Map.Entry<AckUnit.Cursor, List<Integer>> entry : byCursor.entrySet()) {
            units.add(unit(tenant, entry.getKey(), entry.getValue()));
            for (int index : entry.getValue()) {
                itemAt[at++] = index;
            }
        }
        units.forEach(ack::recognize);
        areBatches = units.stream().allMatch(AckUnit::isWhole);
    }

    /** The first lease that an ack of the cursor names is that of all its acks. */
    private AckUnit unit(UUID tenant, AckUnit.Cursor cursor, List<Integer> indexes) {
        UUID leaseId =
                indexes.stream()
                        .map(index -> lease(items.get(index).leaseId()))
                        .flatMap(Optional::stream)
                        .findFirst()
                        .orElse(null);
        AckUnit unit = new AckUnit(tenant, cursor.group(), cursor.lane(), leaseId);
        for (int index : indexes) {
            Item item = items.get(index);
            unit.add(index, MessageKey.of(item.transactionId()), item.status(), item.error());
        }
        return unit;
    }

    /** What is no UUID is a lease all the same, of nobody. */
    private static Optional<UUID> lease(@Nullable String text) {
        if (text == null || text.isEmpty()) {
            return Optional.empty();
        }
        UUID id = Uuids.parse(text);
        return Optional.of(id == null ? Ids.NIL : id);
    }

    /** Cursors that are moved. */
    public int cursors() {
        return units.size();
    }

    public int items() {
        return items.size();
    }

    /** The cursors, which no other transaction may move at once. */
    public List<?> touches() {
        return units.stream().map(AckUnit::key).toList();
    }

    /** Whether nothing depends on a lease that only another ack, or the transaction, names. */
    public boolean nameTheirOwnLease() {
        return suppliedLeases.length == 0
                ? units.isEmpty()
                : suppliedLeases.length == 1
                        && !units.isEmpty()
                        && units.stream().allMatch(unit -> unit.leaseId != null);
    }

    /**
     * Whether no key need be looked for. Cursors of batches are not waited for and others are, in
     * their order: no call does both.
     */
    public boolean areBatches() {
        return areBatches;
    }

    /**
     * Single acknowledgements of the call.
     *
     * @param transactions whose acks it takes, one behind the other; no cursor is in two, and all
     *     are batches or none
     * @param settle whether they may be carried out already, the answer lost
     */
    public static AckArguments arguments(List<TransactionAcks> transactions, boolean settle) {
        return AckArguments.of(
                transactions.getFirst().areBatches && !settle ? List.of() : unitsOf(transactions));
    }

    /** Whole batches of the call; the parameters are those of {@link #arguments}. */
    public static BatchArguments batches(List<TransactionAcks> transactions, boolean settle) {
        return BatchArguments.of(
                transactions.getFirst().areBatches && !settle ? unitsOf(transactions) : List.of());
    }

    private static List<AckUnit> unitsOf(List<TransactionAcks> transactions) {
        return transactions.stream().flatMap(each -> each.units.stream()).toList();
    }

    /** Every lease that the transaction names, each once. */
    public UUID[] suppliedLeases() {
        return suppliedLeases.clone();
    }

    /**
     * What the call says of one ack.
     *
     * @param transactions as it was given them
     * @param place in the arguments, from 0
     */
    public static void outcome(
            List<TransactionAcks> transactions,
            int place,
            String verdict,
            boolean leaseReleased,
            boolean deadLettered,
            int groupId,
            int queueId,
            long committed,
            long lastOffset,
            long passed,
            long ended,
            long filed,
            long conflated) {
        int at = place;
        int of = 0;
        while (at >= transactions.get(of).items.size()) {
            at -= transactions.get(of).items.size();
            of++;
        }
        TransactionAcks acks = transactions.get(of);
        acks.outcomes[acks.itemAt[at]] =
                new MessageOutcome(
                        MessageVerdict.valueOf(verdict.toUpperCase(Locale.ROOT)),
                        leaseReleased,
                        deadLettered,
                        groupId,
                        queueId,
                        committed,
                        lastOffset,
                        conflated,
                        new Change(groupId, passed, ended, filed));
    }

    /**
     * What the call says of one batch. Of one that is not what was remembered, or that somebody
     * holds, it says so by undoing the transaction, which then goes by key.
     *
     * @param transactions as it was given them
     * @param place in the arguments, from 0
     */
    public static void batch(
            List<TransactionAcks> transactions,
            int place,
            String verdict,
            long lastOffset,
            long passed,
            long ended,
            long conflated) {
        int at = place;
        int of = 0;
        while (at >= transactions.get(of).units.size()) {
            at -= transactions.get(of).units.size();
            of++;
        }
        transactions.get(of).batch(at, verdict, lastOffset, passed, ended, conflated);
    }

    private void batch(
            int index, String verdict, long lastOffset, long passed, long ended, long conflated) {
        AckUnit unit = units.get(index);
        switch (BatchVerdict.valueOf(verdict.toUpperCase(Locale.ROOT))) {
            case RELEASED ->
                    answer(index, unit, MessageVerdict.DONE, lastOffset, passed, ended, conflated);
            case NOOP -> answer(index, unit, MessageVerdict.NOOP, lastOffset, 0, 0, 0);
            case LOST, BUSY -> areBatches = false;
        }
    }

    /** The first item of the unit says for all what has changed. */
    private void answer(
            int index,
            AckUnit unit,
            MessageVerdict verdict,
            long lastOffset,
            long passed,
            long ended,
            long conflated) {
        int from = units.subList(0, index).stream().mapToInt(AckUnit::items).sum();
        for (int i = 0; i < unit.items(); i++) {
            outcomes[itemAt[from + i]] =
                    new MessageOutcome(
                            verdict,
                            verdict == MessageVerdict.DONE,
                            false,
                            unit.groupId(),
                            unit.queueId(),
                            unit.batchEnd(),
                            lastOffset,
                            i == 0 ? conflated : 0,
                            new Change(unit.groupId(), i == 0 ? passed : 0, i == 0 ? ended : 0, 0));
        }
    }

    /**
     * Why the transaction cannot be committed: the first ack that stands in its way, or a lease.
     */
    public String rejection() {
        for (int i = 0; i < items.size(); i++) {
            MessageOutcome outcome = outcomes[i];
            if (outcome != null && !isCarriedOut(outcome.verdict())) {
                return sentence(items.get(i), outcome);
            }
        }
        return "QTXN a required lease has run out, or somebody else took it over;"
                + " transaction rolled back";
    }

    /** A failure of what is committed already has no effect, and is no reason to undo the rest. */
    private static boolean isCarriedOut(MessageVerdict verdict) {
        return switch (verdict) {
            case DONE, NOOP, STALE -> true;
            case UNRESOLVABLE,
                    BEYOND_BATCH,
                    CONSUMER_NOT_FOUND,
                    INVALID_LEASE,
                    NOT_OWNED,
                    NO_LEASED_BATCH,
                    BUSY ->
                    false;
        };
    }

    private static String sentence(Item item, MessageOutcome outcome) {
        return switch (outcome.verdict()) {
            case NOT_OWNED ->
                    "QTXN ack references partition "
                            + item.partitionId()
                            + " not owned by this tenant; transaction rolled back";
            case UNRESOLVABLE ->
                    "QTXN ack references unknown transactionId; transaction rolled back";
            case DONE,
                    NOOP,
                    STALE,
                    BEYOND_BATCH,
                    CONSUMER_NOT_FOUND,
                    INVALID_LEASE,
                    NO_LEASED_BATCH,
                    BUSY ->
                    "QTXN ack failed for partition "
                            + item.partitionId()
                            + " group \""
                            + item.group()
                            + "\": "
                            + AckFlush.errorOf(outcome.verdict())
                            + "; transaction rolled back";
        };
    }

    /** All of them are committed: lanes that were given back are offered again. */
    public void committed() {
        int place = 0;
        long unread = 0;
        for (AckUnit unit : units) {
            MessageOutcome released = null;
            int queueId = 0;
            int completed = 0;
            int failed = 0;
            long conflated = 0;
            for (int j = 0; j < unit.items(); j++) {
                MessageOutcome outcome = outcomes[itemAt[place++]];
                if (outcome != null) {
                    ack.tell(outcome.change());
                    queueId = outcome.queueId();
                    conflated += Objects.requireNonNullElse(outcome.conflated(), 0L);
                    if (outcome.verdict() == MessageVerdict.DONE) {
                        boolean done = unit.statuses.get(j) == AckStatus.COMPLETED;
                        completed += done ? 1 : 0;
                        failed += done ? 0 : 1;
                    }
                    if (outcome.leaseReleased()) {
                        released = outcome;
                    }
                }
            }
            ack.tell(queueId, completed, failed, conflated);
            unread += conflated;
            if (released != null) {
                ack.released(unit, released, List.of(suppliedLeases));
            }
        }
        ack.countCommitted(items.size(), areBatches ? units.size() : 0, deadLettered(), unread);
    }

    private int deadLettered() {
        int count = 0;
        for (int i = 0; i < items.size(); i++) {
            count += isDeadLettered(i) ? 1 : 0;
        }
        return count;
    }

    /** Whether this ack filed a dead letter. */
    public boolean isDeadLettered(int index) {
        MessageOutcome outcome = outcomes[index];
        return outcome != null && outcome.deadLettered();
    }
}
