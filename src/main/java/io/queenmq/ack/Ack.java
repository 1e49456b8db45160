package io.queenmq.ack;

import java.util.List;
import java.util.UUID;

/** The use case of acknowledging: an offset commit per (lane, group). */
public final class Ack {

    /** One result per item, in the order of the items. */
    public List<AckResult> ack(UUID tenant, String group, List<AckItem> items) {
        throw new UnsupportedOperationException();
    }

    /** Prolongs every live lease with that id; never shortens or revives one. */
    public LeaseExtension extend(UUID tenant, String leaseId, int seconds) {
        throw new UnsupportedOperationException();
    }
}
