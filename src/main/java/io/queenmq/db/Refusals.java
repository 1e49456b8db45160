package io.queenmq.db;

import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;

/**
 * What an error of the driver means. The line it draws: an error that the server reported for the
 * statement undid it, so certainly nothing was stored; a connection that broke under way tells
 * nothing.
 */
final class Refusals {
    private static final Logger LOG = System.getLogger(Refusals.class.getName());

    private static final Map<String, Failure> BY_CODE = byCode();

    /** What to do about a failed statement. */
    enum Verdict {
        /** The call did not see what others had written: the same call may succeed now. */
        SERIALIZATION,
        /** It waited in a circle with others; likewise. */
        DEADLOCK,
        /** It waited too long for a lock; likewise. */
        LOCK_TIMEOUT,
        /** The server runs but takes no writes, or is stopping: every connection is suspect. */
        RECHECK_POOL,
        /** Whether it committed is unknown. */
        LOST,
        /** The statement was refused and the connection is sound. */
        REFUSED;

        /** Whether the same call may succeed now. */
        boolean passes() {
            return this == SERIALIZATION || this == DEADLOCK || this == LOCK_TIMEOUT;
        }
    }

    private Refusals() {}

    static Verdict verdict(SQLException error) {
        if (!certainlyUndone(error)) {
            return Verdict.LOST;
        }
        return switch (stateOf(error)) {
            case "40001" -> Verdict.SERIALIZATION;
            case "40P01" -> Verdict.DEADLOCK;
            case "55P03" -> Verdict.LOCK_TIMEOUT;
            case "25006" -> Verdict.RECHECK_POOL;
            default -> Verdict.REFUSED;
        };
    }

    /**
     * The server said so itself, and went on to serve the connection: behind the message that ends
     * one, the driver finds the link broken. Severities are no guide, for they come translated; nor
     * is an error of the driver alone, which may arise as it reads the answer to a commit.
     */
    private static boolean certainlyUndone(SQLException error) {
        if (serverMessage(error) == null) {
            return false;
        }
        for (Throwable each : error) {
            if (each instanceof SQLException sql && tellsOfTheEnd(stateOf(sql))) {
                return false;
            }
        }
        return true;
    }

    private static boolean tellsOfTheEnd(String state) {
        return state.startsWith("08") || state.startsWith("57P");
    }

    /** The refusal for a statement that was certainly undone. */
    static QueenException refusal(String statement, SQLException error) {
        String state = stateOf(error);
        ServerErrorMessage message = serverMessage(error);
        if (state.startsWith("QN") && message != null) {
            Failure failure = BY_CODE.get(message.getMessage());
            if (failure != null) {
                String detail = message.getDetail();
                return new QueenException(failure, detail == null ? failure.code() : detail, error);
            }
        }
        if (refusesWork(state) || state.startsWith("08")) {
            // With its files and statements, which are for operators.
            LOG.log(
                    Level.WARNING,
                    "the database refuses work statement={0} state={1} error={2}",
                    statement,
                    state,
                    message == null ? text(error) : message.getMessage());
            return new QueenException(
                    Failure.DATABASE_AWAY, "the database refuses work: " + want(state), error);
        }
        if (state.equals("57014")) {
            return new QueenException(
                    Failure.DEADLINE, "the database took too long and was told to stop", error);
        }
        if (verdict(error).passes()) {
            return new QueenException(
                    Failure.BUSY, "rows this request needs are held by somebody else", error);
        }
        LOG.log(Level.ERROR, "statement failed statement=" + statement + " state=" + state, error);
        return new QueenException(
                Failure.INTERNAL,
                lacksSomething(state) ? QueenException.MISCONFIGURED : null,
                "internal error in " + statement,
                error);
    }

    /**
     * No connection could be opened; nothing was sent. Where the server is and why it does not
     * answer is for the log, not for clients.
     */
    static QueenException away(SQLException error) {
        return new QueenException(
                Failure.DATABASE_AWAY, "the database cannot be reached at the moment", error);
    }

    /** A connection that has an owner is of no use any more. */
    static QueenException ended(String what, SQLException error) {
        if (Pooling.isShared(error)) {
            return new QueenException(Failure.DATABASE_AWAY, what + " " + Pooling.SHARED, error);
        }
        String state = stateOf(error);
        return tellsOfTheEnd(state) || refusesWork(state)
                ? new QueenException(Failure.DATABASE_AWAY, what + " is lost", error)
                : new QueenException(Failure.INTERNAL, what + " is refused: " + text(error), error);
    }

    /**
     * A schema, a function or a table is not there, or not the broker's to use. Class 42 is taken
     * whole: what else is in it are statements that fit no schema of ours.
     */
    private static boolean lacksSomething(String state) {
        return state.startsWith("42") || state.equals("3F000");
    }

    /** It takes no writes, or has no room. */
    private static boolean refusesWork(String state) {
        return state.equals("25006") || state.startsWith("53");
    }

    /** What it lacks, for clients. */
    private static String want(String state) {
        return switch (state) {
            case "25006" -> "it takes no writes at the moment";
            case "53100" -> "its disk is full";
            case "53200" -> "it is out of memory";
            case "53300" -> "it has no connection left";
            default -> "it has no room for it at the moment";
        };
    }

    /** The server is there and every connection stayed in use; nothing was sent. */
    static QueenException allInUse(SQLException error) {
        return new QueenException(Failure.OVERLOADED, "all database connections are in use", error);
    }

    static QueenException lost(Backend backend, SQLException error) {
        return new QueenException(
                Failure.OUTCOME_UNKNOWN,
                "the database connection broke before it answered",
                new ConnectionLost(backend, error));
    }

    static String stateOf(SQLException error) {
        String state = error.getSQLState();
        return state == null ? "" : state;
    }

    private static @Nullable ServerErrorMessage serverMessage(SQLException error) {
        return error instanceof PSQLException own ? own.getServerErrorMessage() : null;
    }

    private static String text(Throwable error) {
        String message = error.getMessage();
        return message == null ? error.getClass().getSimpleName() : message;
    }

    private static Map<String, Failure> byCode() {
        Map<String, Failure> byCode = new HashMap<>();
        for (Failure failure : Failure.values()) {
            byCode.put(failure.code(), failure);
        }
        return Map.copyOf(byCode);
    }
}
