package io.queenmq.runtime;

/**
 * The broker cannot start as it is set up: the message is all an operator needs, no stack trace
 * helps.
 */
public class StartRefused extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public StartRefused(String message) {
        super(message);
    }

    public StartRefused(String message, Throwable cause) {
        super(message, cause);
    }
}
