package io.queenmq.web;

/** Answers one request, on the virtual thread of its connection. */
@FunctionalInterface
public interface Handler {
    /**
     * Reads the request and answers it; returning without an answer closes the connection.
     *
     * @throws io.queenmq.model.QueenException a refusal, rendered by the listener
     */
    void handle(Exchange exchange);
}
