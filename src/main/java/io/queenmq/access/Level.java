package io.queenmq.access;

import java.util.Set;

/** What a route asks of its caller. Every route declares one where it is registered. */
public enum Level {
    /** Nothing: no token is looked at. */
    PUBLIC,
    /** For those who look and take nothing. */
    READ_ONLY,
    /** For those who produce. */
    WRITE_ONLY,
    /** For those who consume and change; neither of the two above is enough, nor both together. */
    READ_WRITE,
    /** For operators. */
    ADMIN;

    /** Whether a bearer of these roles may pass. */
    public boolean admits(Set<Role> roles) {
        boolean everywhere = roles.contains(Role.ADMIN);
        boolean readsAndWrites = everywhere || roles.contains(Role.READ_WRITE);
        return switch (this) {
            case PUBLIC -> true;
            case READ_ONLY -> readsAndWrites || roles.contains(Role.READ_ONLY);
            case WRITE_ONLY -> readsAndWrites || roles.contains(Role.WRITE_ONLY);
            case READ_WRITE -> readsAndWrites;
            case ADMIN -> everywhere;
        };
    }
}
