package io.queenmq.ready;

import io.queenmq.runtime.Clock;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

class PinnedPollsTest {
    private static final int ROUNDS = 200_000;

    /** Goal: whoever wakes meets polls that come and go. Method: both at once, many times. */
    @Test
    void pollsComeAndGoWhileAllAreWoken() {
        PinnedPolls pinned = new PinnedPolls();
        UUID tenant = new UUID(0, 1);
        AtomicBoolean done = new AtomicBoolean();
        CompletableFuture<Void> waking =
                CompletableFuture.runAsync(
                        () -> {
                            while (!done.get()) {
                                pinned.changed(1);
                                pinned.wakeAll();
                            }
                        });
        try {
            Poll first = new Poll(Clock.SYSTEM);
            Poll second = new Poll(Clock.SYSTEM);
            for (int i = 0; i < ROUNDS && !waking.isDone(); i++) {
                pinned.enter(1, 1, 7, first);
                pinned.enter(1, 1, 7, second);
                pinned.enter(tenant, "q", "p", first);
                pinned.enter(tenant, "q", "p", second);
                pinned.leave(1, 7, first);
                pinned.leave(1, 7, second);
                pinned.leave(tenant, "q", "p", first);
                pinned.leave(tenant, "q", "p", second);
            }
        } finally {
            done.set(true);
        }
        waking.join();
    }
}
