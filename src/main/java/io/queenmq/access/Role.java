package io.queenmq.access;

/** What a token says its bearer may do. A set, not a ladder: a token may name several. */
public enum Role {
    /** Everything. */
    ADMIN("admin"),
    /** All that producers and consumers do. */
    READ_WRITE("read-write"),
    /** Look, and take nothing. */
    READ_ONLY("read-only"),
    /** Produce, and see nothing. */
    WRITE_ONLY("write-only");

    private final String id;

    Role(String id) {
        this.id = id;
    }

    /** The name in answers, and in tokens unless an operator has chosen another. */
    public String id() {
        return id;
    }
}
