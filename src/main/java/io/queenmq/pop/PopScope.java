package io.queenmq.pop;

/** Where a pop looks for messages. */
public sealed interface PopScope {
    /** Any lane of one queue. */
    record Queue(String queue) implements PopScope {}

    /** Exactly one lane. */
    record Partition(String queue, String partition) implements PopScope {}

    /** All queues whose labels equal the ones that are not empty. */
    record Labels(String namespace, String task) implements PopScope {}
}
