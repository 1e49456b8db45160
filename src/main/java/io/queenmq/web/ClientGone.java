package io.queenmq.web;

/** The answer could not be written, or the body not be read: the connection is beyond use. */
public final class ClientGone extends RuntimeException {
    private static final long serialVersionUID = 1L;

    ClientGone(String what, Throwable cause) {
        super(what, cause);
    }
}
