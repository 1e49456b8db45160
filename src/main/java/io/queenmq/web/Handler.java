package io.queenmq.web;

import io.queenmq.model.QueenException;
import java.util.function.Function;

/** Answers one request, on the virtual thread of its connection. */
@FunctionalInterface
public interface Handler {
    /**
     * Reads the request and answers it; returning without an answer closes the connection.
     *
     * @throws QueenException a refusal, rendered by the listener
     */
    void handle(Exchange exchange);

    /** How a refusal of this route looks, be it the handler's or that of its path. */
    default JsonBuffer refusal(QueenException refusal) {
        return Refusals.body(refusal);
    }

    /** The same handler, whose refusals have a form of their own. */
    static Handler refusing(Handler handler, Function<QueenException, JsonBuffer> form) {
        return new Handler() {
            @Override
            public void handle(Exchange exchange) {
                handler.handle(exchange);
            }

            @Override
            public JsonBuffer refusal(QueenException refusal) {
                return form.apply(refusal);
            }
        };
    }
}
