package io.queenmq.doctor;

import java.time.Duration;

/**
 * From where on something is worth a word.
 *
 * @param longTransaction a transaction that is open for so long holds up vacuum and the epochs
 * @param heldLane a lane is held so long by nothing but an application that forgot it
 * @param clockOffset the clocks of server and broker may differ by so much
 */
public record DoctorConfig(Duration longTransaction, Duration heldLane, Duration clockOffset) {
    public static final DoctorConfig DEFAULT =
            new DoctorConfig(Duration.ofMinutes(5), Duration.ofSeconds(10), Duration.ofSeconds(1));
}
