package io.queenmq.queue;

import io.queenmq.combine.Bundle;
import io.queenmq.combine.Combiner;
import io.queenmq.combine.CombinerConfig;
import io.queenmq.combine.Flush;
import io.queenmq.combine.Work;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Makes the queues and lanes that nobody knows yet, many in one call. One flusher, so that the
 * names of one broker never make each other busy.
 */
final class LaneProvisioner implements Flush<LaneName, LaneProvisioner.Wanted> {
    private static final int NAMES_OF_CALL = 256;

    /** A caller waits for this lane. */
    record Wanted(LaneName key, CompletableFuture<Lane> lane) implements Work<LaneName> {
        @Override
        public Object tenant() {
            return key.tenant();
        }

        @Override
        public Object queue() {
            return key.queue();
        }

        @Override
        public int items() {
            return 1;
        }

        @Override
        public int bytes() {
            return 2 * (key.queue().length() + key.partition().length());
        }
    }

    private final LaneProcedures procedures;
    private final LaneCache cache;
    private final Clock clock;
    private final Combiner<LaneName, Wanted> combiner;

    LaneProvisioner(LaneProcedures procedures, LaneCache cache, int roomMax, Clock clock) {
        this.procedures = procedures;
        this.cache = cache;
        this.clock = clock;
        CombinerConfig.Room room = CombinerConfig.ROOM;
        this.combiner =
                new Combiner<>(
                        new CombinerConfig(
                                "provision",
                                1,
                                1,
                                new CombinerConfig.Call(NAMES_OF_CALL, 5_000, 4 << 20, 1 << 20),
                                new CombinerConfig.Room(
                                        roomMax,
                                        room.bytes(),
                                        room.bytesOfKey(),
                                        room.waiters(),
                                        room.patience()),
                                Duration.ofSeconds(1)),
                        this,
                        clock);
    }

    void start() {
        combiner.start();
    }

    void stop(Duration patience) {
        combiner.stop(patience);
    }

    List<Lane> ensure(List<LaneName> names, long deadlineNanos) {
        List<Wanted> wanted = new ArrayList<>(names.size());
        for (LaneName name : names) {
            wanted.add(new Wanted(name, new CompletableFuture<>()));
        }
        combiner.submit(wanted, deadlineNanos);
        List<Lane> lanes = new ArrayList<>(names.size());
        try {
            for (Wanted lane : wanted) {
                long left = Math.max(0, deadlineNanos - clock.nanos());
                lanes.add(lane.lane().get(left, TimeUnit.NANOSECONDS));
            }
            return lanes;
        } catch (TimeoutException e) {
            throw new QueenException(
                    Failure.BUSY, "a queue or partition is still being created by another", e);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof QueenException cause) {
                throw new QueenException(cause.failure(), cause.detail(), cause);
            }
            throw new QueenException(Failure.INTERNAL, "internal error", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new QueenException(Failure.STOPPING, "interrupted", e);
        } finally {
            for (Wanted lane : wanted) {
                if (!lane.lane().isDone()) {
                    combiner.withdraw(lane);
                }
            }
        }
    }

    @Override
    public void together(List<Bundle<LaneName, Wanted>> bundles) {
        List<LaneName> names = new ArrayList<>(bundles.size());
        for (Bundle<LaneName, Wanted> bundle : bundles) {
            names.add(bundle.key());
        }
        List<@Nullable Lane> lanes = procedures.ensure(names);
        for (int i = 0; i < bundles.size(); i++) {
            Lane lane = lanes.get(i);
            if (lane == null) {
                bundles.get(i).busy();
            } else {
                cache.put(
                        lane.queueId(), lane.name().partition(), lane.number(), lane.lastOffset());
                bundles.get(i).works().forEach(work -> work.lane().complete(lane));
            }
        }
    }

    @Override
    public void alone(Bundle<LaneName, Wanted> bundle) {
        together(List.of(bundle));
    }

    @Override
    public void failed(Bundle<LaneName, Wanted> bundle, QueenException failure) {
        bundle.works().forEach(work -> work.lane().completeExceptionally(failure));
    }
}
