package io.queenmq.runtime;

/** What lines of a log say about the work they were written in. */
public final class LogContext {
    /** The id of the request that the thread works on. */
    public static final ScopedValue<String> REQUEST_ID = ScopedValue.newInstance();

    private LogContext() {}
}
