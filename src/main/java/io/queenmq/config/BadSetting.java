package io.queenmq.config;

/**
 * A variable that the broker refuses to start with; the message names it, its value and its range.
 */
public final class BadSetting extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public BadSetting(String message) {
        super(message);
    }
}
