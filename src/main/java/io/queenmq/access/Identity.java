package io.queenmq.access;

import java.util.Comparator;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Who a verified token speaks for.
 *
 * @param subject its {@code sub}; null = it names nobody
 */
public record Identity(@Nullable String subject, Set<Role> roles) {
    /** Where no token is asked for. */
    static final Identity NOBODY = new Identity(null, Set.of());

    public Identity {
        roles = Set.copyOf(roles);
    }

    /** The role that allows most; empty = none at all. */
    public Optional<Role> highest() {
        return roles.stream().min(Comparator.naturalOrder());
    }
}
