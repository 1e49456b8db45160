package io.queenmq.access;

import io.micrometer.core.instrument.Counter;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Lets requests in, or not. Any thread; the one of a request may wait for keys to be fetched. */
public final class Access implements AutoCloseable {
    private static final String SCHEME = "bearer ";

    /** Null = everybody may do everything. */
    private final @Nullable Tokens tokens;

    private final List<String> skipPaths;
    private final Counter forbidden;

    private Access(@Nullable Tokens tokens, List<String> skipPaths, Metrics metrics) {
        this.tokens = tokens;
        this.skipPaths = skipPaths;
        this.forbidden =
                metrics.counter(
                        "queen_access_forbidden_total",
                        "Requests whose token is good and whose roles do not suffice.");
    }

    /** As told; empty = no token is asked for. Fetches the keys that a server publishes. */
    public static Access of(Optional<AccessConfig> config, Metrics metrics, Clock clock) {
        return config.map(c -> new Access(new Tokens(c, metrics, clock), c.skipPaths(), metrics))
                .orElseGet(() -> new Access(null, List.of(), metrics));
    }

    /** Whether tokens are asked for. */
    public boolean isEnforced() {
        return tokens != null;
    }

    /**
     * Who sends a request.
     *
     * @param path as it stands on the wire
     * @param authorization what the header of that name says; empty = there is none
     * @throws QueenException {@code UNAUTHENTICATED} or {@code FORBIDDEN}
     */
    public Identity admit(Level level, String path, String authorization) {
        if (tokens == null || level == Level.PUBLIC || isSkipped(path)) {
            return Identity.NOBODY;
        }
        Identity identity = tokens.identify(token(authorization));
        if (!level.admits(identity.roles())) {
            forbidden.increment();
            throw new QueenException(Failure.FORBIDDEN, "Insufficient permissions");
        }
        return identity;
    }

    /** Who sends this; empty where the token is missing or no good, or none is asked for. */
    public Optional<Identity> identify(String authorization) {
        if (tokens == null) {
            return Optional.empty();
        }
        try {
            return Optional.of(tokens.identify(token(authorization)));
        } catch (QueenException e) {
            return Optional.empty();
        }
    }

    private boolean isSkipped(String path) {
        for (String skipped : skipPaths) {
            boolean all = skipped.length() > 1 && skipped.endsWith("/");
            if (all ? path.startsWith(skipped) : path.equals(skipped)) {
                return true;
            }
        }
        return false;
    }

    /** The token behind its scheme, or on its own. */
    private static String token(String authorization) {
        String header = authorization.strip();
        boolean named = header.regionMatches(true, 0, SCHEME, 0, SCHEME.length());
        return named ? header.substring(SCHEME.length()).strip() : header;
    }

    /** Fetches no more keys. */
    @Override
    public void close() {
        if (tokens != null) {
            tokens.close();
        }
    }
}
