package io.queenmq.queue;

import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The use cases of configuring and deleting a queue. */
public final class Queues {

    /** What an option of the request said: a JSON scalar as text, or null for JSON null. */
    public record Option(Kind kind, @Nullable String text) {
        /** Its JSON type. */
        public enum Kind {
            STRING,
            NUMBER,
            BOOLEAN,
            NULL,
            /** An array or object: never a legal option. */
            COMPOSITE
        }
    }

    /** Whether what the request leaves out goes back to its default or stays. */
    public enum Mode {
        REPLACE,
        MERGE
    }

    /**
     * A queue as it is now configured.
     *
     * @param warnings sentences on options that are stored but have no effect
     */
    public record Configured(int queueId, QueueOptions options, List<String> warnings) {}

    /**
     * Creates or updates a queue.
     *
     * @param mode null = the server's setting
     * @throws io.queenmq.model.QueenException bad request naming the option; nothing is written
     */
    public Configured configure(
            UUID tenant, String queue, @Nullable Mode mode, Map<String, Option> options) {
        throw new UnsupportedOperationException();
    }

    /** Deletes a queue with all its messages, cursors and dead letters; false = there was none. */
    public boolean delete(UUID tenant, String queue) {
        throw new UnsupportedOperationException();
    }
}
