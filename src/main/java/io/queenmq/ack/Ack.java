package io.queenmq.ack;

import io.micrometer.core.instrument.Counter;
import io.queenmq.combine.Combiner;
import io.queenmq.count.Counts;
import io.queenmq.db.Database;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Failure;
import io.queenmq.model.Ids;
import io.queenmq.model.Names;
import io.queenmq.model.QueenException;
import io.queenmq.model.Uuids;
import io.queenmq.ready.Delivery;
import io.queenmq.ready.ReadyLanes;
import io.queenmq.runtime.Clock;
import io.queenmq.segment.MessageKey;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * The use case of acknowledging: an offset commit per (lane, group). Called from the thread of the
 * request, which waits for the commit.
 */
public final class Ack implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger(Ack.class.getName());
    static final String UNRESOLVABLE =
            "unresolvable: transaction not in the ack window (hash purged or never pushed); if"
                    + " leased, the message redelivers";
    static final String INVALID_LEASE = "invalid or expired lease";
    static final String NOT_OWNED = "partition not owned by tenant";

    private static final Duration STOP_PATIENCE = Duration.ofSeconds(5);
    private static final long WITHDRAW_PAUSE_MILLIS = 250;

    private record UnitKey(long lane, @Nullable UUID leaseId) {}

    private final AckConfig config;
    private final AckProcedures procedures;
    private final Counts counts;
    private final ReadyLanes ready;
    private final Deliveries deliveries;
    private final Combiner<AckUnit.Cursor, AckUnit> batches;
    private final Combiner<AckUnit.Cursor, AckUnit> messages;
    private final Clock clock;
    private final Counter items;
    private final Counter wholeBatches;
    private final Counter byKey;
    private final Counter refusals;
    private final Counter deadLetters;
    private final Counter conflated;

    /**
     * @param counts told what acknowledgements have changed, after the commit
     * @param deliveries the same that pops report to
     */
    public Ack(
            AckConfig config,
            Database database,
            Counts counts,
            ReadyLanes ready,
            Deliveries deliveries,
            Metrics metrics,
            Clock clock) {
        this.config = config;
        this.procedures = new AckProcedures(database, counts);
        this.counts = counts;
        this.ready = ready;
        this.deliveries = deliveries;
        this.clock = clock;
        this.batches =
                new Combiner<>(
                        config.combiner("ack-batches", Integer.MAX_VALUE),
                        new AckFlush.Batches(procedures, ready, deliveries),
                        clock);
        this.messages =
                new Combiner<>(
                        config.combiner("ack-messages", config.messagesPerCall()),
                        new AckFlush.Messages(procedures, ready, deliveries),
                        clock);
        this.items = metrics.counter("queen_ack_items_total", "Acknowledgements received.");
        this.wholeBatches =
                metrics.counter(
                        "queen_ack_batches_total",
                        "Acks of a whole leased batch, without a search.");
        this.byKey =
                metrics.counter("queen_ack_by_key_total", "Acks whose messages were looked up.");
        this.refusals = metrics.counter("queen_ack_refused_total", "Acknowledgements refused.");
        this.deadLetters =
                metrics.counter(
                        "queen_ack_dead_letters_total",
                        "Messages that acks filed as dead letters.");
        this.conflated =
                metrics.counter(
                        "queen_ack_conflated_total",
                        "Messages that completed acks of conflating groups retired unread.");
        metrics.gauge(
                "queen_ack_deliveries_bytes",
                "Keys remembered of what was delivered and not acknowledged.",
                deliveries::bytes);
    }

    public void start() {
        batches.start();
        messages.start();
    }

    /** One result per item, in the order of the items. */
    public List<AckResult> ack(UUID tenant, String group, List<AckItem> acks) {
        items.increment(acks.size());
        @Nullable AckResult[] results = new AckResult[acks.size()];
        Collection<AckUnit> units = units(tenant, group, acks, results);
        long deadline = clock.nanos() + config.patience().toNanos();
        submit(units, deadline);
        for (AckUnit unit : units) {
            List<AckResult> answers = await(unit, deadline);
            for (int i = 0; i < answers.size(); i++) {
                results[unit.positions.get(i)] = answers.get(i);
            }
        }
        return counted(results);
    }

    /**
     * Prepares acks for a transaction, which carries them out by a call of its own.
     *
     * @param requiredLeases leases that the transaction names beside its acks
     */
    public TransactionAcks enlist(
            UUID tenant, List<TransactionAcks.Item> acks, List<String> requiredLeases) {
        return new TransactionAcks(this, tenant, acks, requiredLeases);
    }

    /**
     * A transaction ended the lease of this unit.
     *
     * @param leases all that it names: the one that ended is among them, if it names any
     */
    void released(AckUnit unit, AckProcedures.MessageOutcome outcome, List<UUID> leases) {
        ready.freed(
                outcome.queueId(),
                outcome.groupId(),
                unit.lane,
                outcome.committed(),
                outcome.lastOffset());
        deliveries.forget(leases, unit.lane, unit.group);
    }

    /** An acknowledgement of a transaction that has committed. */
    void tell(AckProcedures.Change change) {
        change.tell(counts);
    }

    /** What a transaction that has committed acknowledged in one partition. */
    void tell(int queueId, int completed, int failed, long unread) {
        counts.activities().acknowledged(queueId, completed, failed, unread);
    }

    void countCommitted(int acks, int batches, int filed, long unread) {
        conflated.increment((double) unread);
        items.increment(acks);
        wholeBatches.increment(batches);
        byKey.increment(batches == 0 ? acks : 0);
        deadLetters.increment(filed);
    }

    /** Prolongs every live lease with that id; never shortens or revives one. */
    public LeaseExtension extend(UUID tenant, String leaseId, int seconds) {
        UUID id = uuid(leaseId);
        if (id == null) {
            return new LeaseExtension(0, null);
        }
        List<Instant> expiries = procedures.extend(tenant, id, Math.max(1, seconds));
        return expiries.isEmpty()
                ? new LeaseExtension(0, null)
                : new LeaseExtension(expiries.size(), Collections.min(expiries));
    }

    @Override
    public void close() {
        batches.stop(STOP_PATIENCE);
        messages.stop(STOP_PATIENCE);
    }

    /** Groups what can be told from the items alone; fills in the results of the others. */
    private Collection<AckUnit> units(
            UUID tenant, String group, List<AckItem> acks, @Nullable AckResult[] results) {
        Map<UnitKey, AckUnit> units = new LinkedHashMap<>();
        AckResult refusal = null;
        UnitKey key = null;
        AckUnit unit = null;
        for (int i = 0; i < results.length; i++) {
            AckItem item = acks.get(i);
            // Neighbours mostly share their lane and lease: what those say is found out once.
            if (i == 0 || !isOfOneUnit(acks.get(i - 1), item)) {
                refusal = laneRefusal(item);
                key = refusal == null ? unitKey(item) : null;
                unit = null;
            }
            if (key == null) {
                results[i] = refusal;
            } else if (item.transactionId() == null
                    || !Names.isTransactionId(item.transactionId())) {
                results[i] = AckFlush.refused(UNRESOLVABLE);
            } else {
                if (unit == null) {
                    unit =
                            units.computeIfAbsent(
                                    key, k -> new AckUnit(tenant, group, k.lane(), k.leaseId()));
                }
                unit.add(
                        i,
                        MessageKey.of(item.transactionId()),
                        item.status(),
                        item.error() == null || item.error().isEmpty() ? null : item.error());
            }
        }
        units.values().forEach(this::recognize);
        return units.values();
    }

    private static boolean isOfOneUnit(AckItem one, AckItem other) {
        return Objects.equals(one.partitionId(), other.partitionId())
                && Objects.equals(one.leaseId(), other.leaseId());
    }

    /** Why no message of this lane and lease can be acknowledged; null = they make sense. */
    private static @Nullable AckResult laneRefusal(AckItem item) {
        UUID partitionId = uuid(item.partitionId());
        if (partitionId == null) {
            return AckFlush.refused("invalid partitionId");
        }
        if (Ids.partitionNumber(partitionId) == 0) {
            return AckFlush.refused(NOT_OWNED);
        }
        boolean leased = item.leaseId() != null && !item.leaseId().isEmpty();
        return leased && uuid(item.leaseId()) == null ? AckFlush.refused(INVALID_LEASE) : null;
    }

    private static UnitKey unitKey(AckItem item) {
        return new UnitKey(
                Ids.partitionNumber(Objects.requireNonNull(uuid(item.partitionId()))),
                uuid(item.leaseId()));
    }

    /** Notes whether the unit completes all that its lease delivered. */
    void recognize(AckUnit unit) {
        if (unit.leaseId == null
                || unit.statuses.stream().anyMatch(status -> status != AckStatus.COMPLETED)) {
            return;
        }
        Delivery delivery = deliveries.find(unit.leaseId, unit.lane);
        if (delivery != null
                && delivery.tenant().equals(unit.tenant)
                && delivery.group().equals(unit.group)
                && Deliveries.isAll(delivery, unit.keys)) {
            unit.acksAllOf(delivery);
        }
    }

    private void submit(Collection<AckUnit> units, long deadline) {
        List<AckUnit> whole = new ArrayList<>();
        List<AckUnit> others = new ArrayList<>();
        for (AckUnit unit : units) {
            (unit.isWhole() ? whole : others).add(unit);
        }
        wholeBatches.increment(whole.size());
        byKey.increment(others.size());
        submit(batches, whole, deadline);
        submit(messages, others, deadline);
    }

    /** Units that are refused are answered; the others of the request are not concerned. */
    private static void submit(
            Combiner<AckUnit.Cursor, AckUnit> combiner, List<AckUnit> units, long deadline) {
        if (units.isEmpty()) {
            return;
        }
        try {
            combiner.submit(units, deadline);
        } catch (QueenException e) {
            units.forEach(unit -> unit.answerAll(AckFlush.failed(e)));
        }
    }

    private List<AckResult> await(AckUnit unit, long deadline) {
        List<AckResult> results = await(unit.isWhole() ? batches : messages, unit, deadline);
        if (results.isEmpty()) {
            unit.askByKey();
            byKey.increment();
            submit(messages, List.of(unit), deadline);
            results = await(messages, unit, deadline);
        } else if (unit.isWhole() && unit.leaseId != null) {
            deliveries.forget(unit.leaseId, unit.lane);
        }
        return results;
    }

    private List<AckResult> await(
            Combiner<AckUnit.Cursor, AckUnit> combiner, AckUnit unit, long deadline) {
        QueenException late;
        try {
            return unit.answer().get(deadline - clock.nanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            late = new QueenException(Failure.BUSY, "the cursor stayed locked", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            late = new QueenException(Failure.STOPPING, "the broker is stopping", e);
        } catch (ExecutionException e) {
            throw new IllegalStateException("acks are answered, not failed", e);
        }
        return withdraw(combiner, unit, AckFlush.failed(late));
    }

    /**
     * A call under way is waited for: the database's own time limit ends it. It may have found the
     * cursor held and put the unit back, so what could not be withdrawn once is tried again.
     */
    private static List<AckResult> withdraw(
            Combiner<AckUnit.Cursor, AckUnit> combiner, AckUnit unit, AckResult late) {
        boolean interrupted = Thread.interrupted();
        try {
            while (true) {
                if (combiner.withdraw(unit)) {
                    return Collections.nCopies(unit.items(), late);
                }
                try {
                    return unit.answer().get(WITHDRAW_PAUSE_MILLIS, TimeUnit.MILLISECONDS);
                } catch (TimeoutException e) {
                    LOG.log(System.Logger.Level.DEBUG, "an ack at its deadline is in a call", e);
                } catch (InterruptedException e) {
                    interrupted = true;
                } catch (ExecutionException e) {
                    throw new IllegalStateException("acks are answered, not failed", e);
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private List<AckResult> counted(@Nullable AckResult[] results) {
        List<AckResult> all = new ArrayList<>(results.length);
        for (AckResult result : Arrays.asList(results)) {
            if (result == null) {
                throw new IllegalStateException("an ack was left without a result");
            }
            if (!result.success()) {
                refusals.increment();
            }
            if (result.deadLettered()) {
                deadLetters.increment();
            }
            Long unread = result.conflated();
            if (unread != null) {
                conflated.increment(unread);
            }
            all.add(result);
        }
        return all;
    }

    private static @Nullable UUID uuid(@Nullable String text) {
        return text == null ? null : Uuids.parse(text);
    }
}
