package io.queenmq.fetch;

/** Who reads, as the edge knows it. */
public interface FetchClient {
    /** Whether it has left. */
    boolean isGone();

    /** Runs this when it leaves; at once if it has. */
    void onGone(Runnable action);

    /**
     * Waits for room to hold an answer, before it is read.
     *
     * @param bytes of keys and messages
     */
    void expectAnswer(long messages, long bytes);
}
