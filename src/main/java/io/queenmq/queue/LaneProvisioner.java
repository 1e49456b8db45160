package io.queenmq.queue;

import io.queenmq.combine.Bundle;
import io.queenmq.combine.Combiner;
import io.queenmq.combine.CombinerConfig;
import io.queenmq.combine.Flush;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Makes the queues and lanes that nobody knows yet, many in one call. One flusher, so that the
 * names of one broker never make each other busy.
 */
final class LaneProvisioner implements Flush<LaneName, LaneRequest> {
    private static final int NAMES_OF_CALL = 256;

    private final LaneProcedures procedures;
    private final Consumer<Lane> made;
    private final Combiner<LaneName, LaneRequest> combiner;

    LaneProvisioner(LaneProcedures procedures, Consumer<Lane> made, int roomMax, Clock clock) {
        this.procedures = procedures;
        this.made = made;
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
                                        room.keyShare(),
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

    List<LaneRequest> request(List<LaneName> names, long deadlineNanos) {
        List<LaneRequest> requests = new ArrayList<>(names.size());
        for (LaneName name : names) {
            requests.add(new LaneRequest(name, new CompletableFuture<>()));
        }
        combiner.submit(requests, deadlineNanos);
        return requests;
    }

    void withdraw(LaneRequest request) {
        combiner.withdraw(request);
    }

    @Override
    public void together(List<Bundle<LaneName, LaneRequest>> bundles) {
        List<LaneName> names = new ArrayList<>(bundles.size());
        for (Bundle<LaneName, LaneRequest> bundle : bundles) {
            names.add(bundle.key());
        }
        List<@Nullable Lane> lanes = procedures.ensure(names);
        for (int i = 0; i < bundles.size(); i++) {
            Lane lane = lanes.get(i);
            if (lane == null) {
                bundles.get(i).busy();
            } else {
                made.accept(lane);
                bundles.get(i).works().forEach(request -> request.lane().complete(lane));
            }
        }
    }

    @Override
    public void alone(Bundle<LaneName, LaneRequest> bundle) {
        together(List.of(bundle));
    }

    @Override
    public void failed(Bundle<LaneName, LaneRequest> bundle, QueenException failure) {
        bundle.works().forEach(request -> request.lane().completeExceptionally(failure));
    }
}
