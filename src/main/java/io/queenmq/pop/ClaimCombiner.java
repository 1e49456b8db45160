package io.queenmq.pop;

import io.queenmq.combine.Bundle;
import io.queenmq.combine.Combiner;
import io.queenmq.combine.Flush;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** Makes few claims of one kind out of many pops. */
final class ClaimCombiner {
    /** One kind of claim: the pops of one call in, an answer for every candidate out. */
    @FunctionalInterface
    interface Call {
        List<List<Claim.Outcome>> claim(List<Claim> claims);
    }

    private final Combiner<Claim, Claim> combiner;
    private final Clock clock;

    ClaimCombiner(PopConfig config, String name, Call call, Clock clock) {
        this.combiner = new Combiner<>(config.combiner(name), new ClaimFlush(call), clock);
        this.clock = clock;
    }

    void start() {
        combiner.start();
    }

    void stop(Duration patience) {
        combiner.stop(patience);
    }

    /** Candidates that wait or are in a call. */
    long waiting() {
        return combiner.heldItems();
    }

    /** One outcome per candidate, in their order; waits for it. */
    List<Claim.Outcome> claim(Claim claim, Duration patience) {
        long deadline = clock.nanos() + patience.toNanos();
        combiner.submit(List.of(claim), deadline);
        try {
            return claim.answer.get(patience.toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            if (combiner.withdraw(claim)) {
                throw new QueenException(Failure.OVERLOADED, "too many pops wait", e);
            }
            return join(claim);
        } catch (InterruptedException e) {
            // The claim may have taken something, which must not be lost sight of.
            boolean withdrawn = combiner.withdraw(claim);
            if (!withdrawn) {
                List<Claim.Outcome> outcomes = join(claim);
                Thread.currentThread().interrupt();
                return outcomes;
            }
            Thread.currentThread().interrupt();
            throw new QueenException(Failure.STOPPING, "the broker is stopping", e);
        } catch (ExecutionException e) {
            throw refusal(e.getCause());
        }
    }

    private static List<Claim.Outcome> join(Claim claim) {
        try {
            return claim.answer.join();
        } catch (CompletionException e) {
            throw refusal(e.getCause());
        }
    }

    private static RuntimeException refusal(@Nullable Throwable cause) {
        return cause instanceof QueenException failure
                ? new QueenException(failure.failure(), failure.detail(), failure)
                : new QueenException(Failure.INTERNAL, "internal error", cause);
    }

    private record ClaimFlush(Call call) implements Flush<Claim, Claim> {
        @Override
        public void together(List<Bundle<Claim, Claim>> bundles) {
            List<Claim> claims = new ArrayList<>(bundles.size());
            for (Bundle<Claim, Claim> bundle : bundles) {
                claims.addAll(bundle.works());
            }
            List<List<Claim.Outcome>> outcomes = call.claim(claims);
            for (int i = 0; i < claims.size(); i++) {
                claims.get(i).answer.complete(outcomes.get(i));
            }
        }

        @Override
        public void alone(Bundle<Claim, Claim> bundle) {
            together(List.of(bundle));
        }

        @Override
        public void failed(Bundle<Claim, Claim> bundle, QueenException failure) {
            bundle.works().forEach(claim -> claim.fail(failure));
        }
    }
}
