package io.queenmq.pop;

/** The use case of taking messages; called from the thread of the request, which may park here. */
public final class Pop {

    /**
     * Takes what is there, or waits for it.
     *
     * @throws io.queenmq.model.QueenException overloaded, database away, deadline, bad request
     */
    public PopResult pop(PopRequest request, Client client) {
        throw new UnsupportedOperationException();
    }

    /** Gives a leased result back at once, charging no attempt: its answer could not be written. */
    public void giveBack(PopResult result) {
        throw new UnsupportedOperationException();
    }

    /** Answers every parked poll with nothing and parks no further one; the broker is stopping. */
    public void wakeAll() {
        throw new UnsupportedOperationException();
    }
}
