package io.queenmq.gate;

/** Something that operators may switch off. */
public enum Switch {
    /** Reads and writes of keys. */
    KV("kv"),
    /** New timers. */
    TIMERS_SCHEDULE("timers_schedule"),
    /** Delivery of timers that are due. */
    TIMERS_FIRE("timers_fire"),
    /** Delivery of messages to pops over HTTP. */
    POP("pop");

    private final String key;

    Switch(String key) {
        this.key = key;
    }

    /** Key of its row. */
    String key() {
        return key;
    }
}
