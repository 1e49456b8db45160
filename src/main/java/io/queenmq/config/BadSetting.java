package io.queenmq.config;

import io.queenmq.runtime.StartRefused;

/**
 * A variable that the broker refuses to start with; the message names it, its value and its range.
 */
public final class BadSetting extends StartRefused {
    private static final long serialVersionUID = 1L;

    public BadSetting(String message) {
        super(message);
    }
}
