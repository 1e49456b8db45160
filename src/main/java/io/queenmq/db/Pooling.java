package io.queenmq.db;

import java.sql.SQLException;
import java.util.Optional;

/** What goes wrong behind a pooler, in words that say what to do about it. */
final class Pooling {
    /** Of a broker's connection, which must be its own for as long as it is open. */
    static final String SHARED =
            "is shared with others by a pooler that lends it for a transaction: connect directly,"
                    + " or let it pool sessions (pool_mode = session of PgBouncer)";

    private static final String PROTOCOL_VIOLATION = "08P01";
    private static final String NO_SUCH_STATEMENT = "26000";
    private static final String STATEMENT_EXISTS = "42P05";

    private Pooling() {}

    /** Why a connection did not come about; empty = it is for something else. */
    static Optional<String> find(SQLException error) {
        String message = String.valueOf(error.getMessage());
        return Refusals.stateOf(error).equals(PROTOCOL_VIOLATION)
                        && message.contains("startup parameter")
                ? Optional.of(
                        message
                                + " (a pooler is in between: connect directly, or let it pool"
                                + " sessions and set ignore_startup_parameters ="
                                + " extra_float_digits,options of PgBouncer)")
                : Optional.empty();
    }

    /** What was prepared is not there, or another's is: nobody but a pooler does that. */
    static boolean isShared(SQLException error) {
        String state = Refusals.stateOf(error);
        return state.equals(NO_SUCH_STATEMENT) || state.equals(STATEMENT_EXISTS);
    }
}
