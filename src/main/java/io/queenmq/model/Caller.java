package io.queenmq.model;

import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Who sends a request.
 *
 * @param tenant owner of every name in it
 * @param subject authenticated {@code sub}, stamped on what it pushes; null without authentication
 */
public record Caller(UUID tenant, @Nullable String subject) {
    /** The tenant of everything where tenancy is off. */
    public static final UUID DEFAULT_TENANT =
            UUID.fromString("00000000-0000-0000-0000-000000000001");

    /** The caller where neither tenancy nor authentication is on. */
    public static final Caller ANYONE = new Caller(DEFAULT_TENANT, null);
}
