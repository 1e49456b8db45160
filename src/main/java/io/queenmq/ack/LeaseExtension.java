package io.queenmq.ack;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * What became of an extension.
 *
 * @param renewed lanes whose lease lives on
 * @param expiresAt the earliest of their new expiries; null when none was renewed
 */
public record LeaseExtension(int renewed, @Nullable Instant expiresAt) {}
