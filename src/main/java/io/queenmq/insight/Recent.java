package io.queenmq.insight;

import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** An answer that is good for a while, however often it is asked for. Any thread. */
final class Recent<T> {
    private final Supplier<T> source;
    private final long goodForNanos;
    private final Clock clock;
    private volatile @Nullable Kept<T> kept;

    private record Kept<T>(T answer, long nanos) {}

    Recent(Supplier<T> source, Duration goodFor, Clock clock) {
        this.source = source;
        this.goodForNanos = goodFor.toNanos();
        this.clock = clock;
    }

    T get() {
        Kept<T> last = kept;
        if (last != null && clock.nanos() - last.nanos() < goodForNanos) {
            return last.answer();
        }
        long asked = clock.nanos();
        T answer = source.get();
        kept = new Kept<>(answer, asked);
        return answer;
    }
}
