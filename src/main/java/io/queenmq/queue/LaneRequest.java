package io.queenmq.queue;

import io.queenmq.combine.Work;
import java.util.concurrent.CompletableFuture;

/**
 * A caller wants this lane to exist.
 *
 * @param lane completes with the lane, or with a {@link io.queenmq.model.QueenException}
 */
public record LaneRequest(LaneName key, CompletableFuture<Lane> lane) implements Work<LaneName> {
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
