package io.queenmq.maintain;

import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The job of the epochs, as long as nobody has ordered space; then the one that makes some. An
 * order is a row: whichever broker has its turn goes on with it from what the tables say.
 */
final class OrderedEpochs implements Job {
    private final Epochs usual;
    private final Reclaim reclaim;
    private final ReclaimProcedures orders;

    /** What this broker does for an order, from the first step it had for it. */
    private static final class Work {
        private final int id;
        private final long freedBefore;
        private final ReclaimJob job;
        private long told;
        private @Nullable String event;

        Work(ReclaimProcedures.Open order, Reclaim reclaim) {
            id = order.id();
            freedBefore = order.freedBytes();
            told = freedBefore;
            job =
                    reclaim.job(
                            new ReclaimJob.Order(
                                    order.askedBytes() - freedBefore,
                                    Duration.ofSeconds(order.patienceSeconds()),
                                    order.lastEpoch(),
                                    line -> event = line));
        }

        void step(ReclaimProcedures orders) {
            job.step();
            long freed = freedBefore + job.freedBytes();
            if (job.isOver() || event != null || freed != told) {
                orders.note(id, freed, event, job.isOver(), job.stoppedBy().orElse(null));
                told = freed;
                event = null;
            }
        }
    }

    private @Nullable Work work;

    OrderedEpochs(Epochs usual, Reclaim reclaim, ReclaimProcedures orders) {
        this.usual = usual;
        this.reclaim = reclaim;
        this.orders = orders;
    }

    @Override
    public String name() {
        return usual.name();
    }

    @Override
    public Duration period() {
        return usual.period();
    }

    @Override
    public boolean hasWork() {
        return orders.open().isPresent() || usual.hasWork();
    }

    @Override
    public boolean step() {
        Optional<ReclaimProcedures.Open> order = orders.open();
        if (order.isEmpty()) {
            work = null;
            return usual.step();
        }
        Work current = work;
        if (current == null || current.id != order.get().id()) {
            current = new Work(order.get(), reclaim);
            work = current;
        }
        current.step(orders);
        return true;
    }
}
