package io.queenmq.admin;

import io.queenmq.ack.DeadLetters;
import io.queenmq.cipher.PayloadCipher;
import io.queenmq.group.GroupPositions;
import io.queenmq.web.Router;

/** The routes of management. Any thread. */
public final class AdminPlane {
    private final GroupRoutes groups;
    private final DeadLetterRoutes deadLetters;

    public AdminPlane(GroupPositions groups, DeadLetters deadLetters, PayloadCipher cipher) {
        this.groups = new GroupRoutes(groups);
        this.deadLetters = new DeadLetterRoutes(deadLetters, cipher);
    }

    /** Adds the routes. */
    public void addTo(Router.Builder routes) {
        groups.addTo(routes);
        deadLetters.addTo(routes);
    }
}
