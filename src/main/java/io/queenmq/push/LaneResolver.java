package io.queenmq.push;

import io.queenmq.dedup.KeyMemory;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.queue.Lane;
import io.queenmq.queue.LaneName;
import io.queenmq.queue.LaneRequest;
import io.queenmq.queue.Queue;
import io.queenmq.queue.QueueCatalog;
import io.queenmq.queue.QueueOptions;
import io.queenmq.runtime.Clock;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Finds the numbers of the lanes of a request and hands its batches to the flushers: those of known
 * lanes at once, the others as their lanes come into being, so that one lane that somebody else is
 * just creating delays only itself.
 */
final class LaneResolver {
    private final QueueCatalog catalog;
    private final KeyMemory memory;
    private final PushCombiner combiner;
    private final Clock clock;

    LaneResolver(QueueCatalog catalog, KeyMemory memory, PushCombiner combiner, Clock clock) {
        this.catalog = catalog;
        this.memory = memory;
        this.combiner = combiner;
        this.clock = clock;
    }

    /**
     * Every batch is submitted or refused when this returns.
     *
     * @throws QueenException if there is no room: nothing was submitted
     */
    void submit(List<LaneBatch> batches, long deadlineNanos) {
        int epoch = memory.epoch();
        List<LaneBatch> known = new ArrayList<>(batches.size());
        List<LaneBatch> unknown = new ArrayList<>(0);
        for (LaneBatch batch : batches) {
            try {
                if (lookUp(epoch, batch)) {
                    known.add(batch);
                } else {
                    unknown.add(batch);
                }
            } catch (QueenException e) {
                batch.refuse(e);
            }
        }
        if (!known.isEmpty()) {
            combiner.submit(known, deadlineNanos);
        }
        if (!unknown.isEmpty()) {
            provision(epoch, unknown, deadlineNanos);
        }
    }

    /**
     * Finds or makes the lanes of all these batches; nothing is submitted.
     *
     * @throws QueenException if one cannot be had
     */
    void resolve(List<LaneBatch> batches, long deadlineNanos) {
        int epoch = memory.epoch();
        List<LaneBatch> unknown = new ArrayList<>(0);
        for (LaneBatch batch : batches) {
            if (!lookUp(epoch, batch)) {
                unknown.add(batch);
            }
        }
        if (unknown.isEmpty()) {
            return;
        }
        List<LaneRequest> requests =
                catalog.requestLanes(unknown.stream().map(LaneBatch::key).toList(), deadlineNanos);
        try {
            for (int i = 0; i < requests.size(); i++) {
                awaitAny(List.of(requests.get(i)), deadlineNanos);
                resolve(epoch, unknown.get(i), requests.get(i));
                QueenException refusal = unknown.get(i).refusal();
                if (refusal != null) {
                    throw refusal;
                }
            }
        } catch (TimeoutException e) {
            throw new QueenException(
                    Failure.BUSY, "a queue or partition is being created by another", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new QueenException(Failure.STOPPING, "the broker is stopping", e);
        } finally {
            requests.forEach(catalog::withdraw);
        }
    }

    private boolean lookUp(int epoch, LaneBatch batch) {
        LaneName name = batch.key();
        Queue queue = catalog.queue(name.tenant(), name.queue()).orElse(null);
        long number = queue == null ? 0 : catalog.knownLaneNumber(queue.id(), name.partition());
        if (queue == null || number == 0) {
            return false;
        }
        combiner.resolve(batch, epoch, number, queue.options());
        return true;
    }

    private void provision(int epoch, List<LaneBatch> batches, long deadlineNanos) {
        List<LaneBatch> waiting = new ArrayList<>(batches);
        List<LaneRequest> requests;
        try {
            List<LaneName> names = new ArrayList<>(batches.size());
            batches.forEach(batch -> names.add(batch.key()));
            requests = new ArrayList<>(catalog.requestLanes(names, deadlineNanos));
        } catch (QueenException e) {
            batches.forEach(batch -> batch.refuse(e));
            return;
        }
        try {
            while (!waiting.isEmpty()) {
                awaitAny(requests, deadlineNanos);
                List<LaneBatch> ready = new ArrayList<>();
                for (int i = waiting.size() - 1; i >= 0; i--) {
                    if (requests.get(i).lane().isDone()) {
                        if (resolve(epoch, waiting.get(i), requests.get(i))) {
                            ready.addFirst(waiting.get(i));
                        }
                        waiting.remove(i);
                        requests.remove(i);
                    }
                }
                submitOrRefuse(ready, deadlineNanos);
            }
        } catch (TimeoutException e) {
            refuseAll(waiting, Failure.BUSY, "a queue or partition is being created by another");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            refuseAll(waiting, Failure.STOPPING, "the broker is stopping");
        } finally {
            requests.forEach(catalog::withdraw);
        }
    }

    private void awaitAny(List<LaneRequest> requests, long deadlineNanos)
            throws TimeoutException, InterruptedException {
        CompletableFuture<?>[] lanes = new CompletableFuture<?>[requests.size()];
        for (int i = 0; i < lanes.length; i++) {
            lanes[i] = requests.get(i).lane();
        }
        try {
            long left = Math.max(0, deadlineNanos - clock.nanos());
            CompletableFuture.anyOf(lanes).get(left, TimeUnit.NANOSECONDS);
        } catch (ExecutionException e) {
            // That lane is done as well; its batch is refused when its turn comes.
            return;
        }
    }

    private boolean resolve(int epoch, LaneBatch batch, LaneRequest request) {
        try {
            Lane lane = request.lane().join();
            QueueOptions options = combiner.options(batch.key());
            if (lane.created()) {
                memory.created(lane.number(), options.dedupWindowSeconds());
            }
            combiner.resolve(batch, epoch, lane.number(), options);
            return true;
        } catch (CompletionException e) {
            batch.refuse(
                    e.getCause() instanceof QueenException refusal
                            ? refusal
                            : new QueenException(Failure.INTERNAL, "internal error", e));
            return false;
        } catch (QueenException e) {
            batch.refuse(e);
            return false;
        }
    }

    private void submitOrRefuse(List<LaneBatch> ready, long deadlineNanos) {
        if (ready.isEmpty()) {
            return;
        }
        try {
            combiner.submit(ready, deadlineNanos);
        } catch (QueenException e) {
            ready.forEach(batch -> batch.refuse(e));
        }
    }

    private static void refuseAll(List<LaneBatch> batches, Failure failure, String detail) {
        batches.forEach(batch -> batch.refuse(new QueenException(failure, detail)));
    }
}
