package io.queenmq.queue;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import io.queenmq.db.Database;
import io.queenmq.model.Failure;
import io.queenmq.model.Names;
import io.queenmq.model.QueenException;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The use cases of configuring and deleting a queue; called from the thread of the request, which
 * waits for the database.
 */
public final class Queues {
    private static final JsonFactory JSON = new JsonFactory();

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
     * What became of a deletion.
     *
     * @param existed false = there was no such queue
     * @param diskBytes what it has stored; given back when the epochs go that it is in
     * @param timers that would make the queue again
     * @param timersCapped there may be more of them
     */
    public record Deleted(boolean existed, long diskBytes, long timers, boolean timersCapped) {}

    private final QueueProcedures procedures;
    private final QueueCatalog catalog;
    private final Mode defaultMode;
    private final boolean encrypts;

    /**
     * @param encrypts whether this broker has a key for queues that are to be encrypted
     */
    public Queues(QueueConfig config, Database database, QueueCatalog catalog, boolean encrypts) {
        this.procedures = new QueueProcedures(database);
        this.catalog = catalog;
        this.defaultMode = config.defaultMode();
        this.encrypts = encrypts;
    }

    /**
     * Creates or updates a queue. Unknown options are ignored.
     *
     * @param mode null = the server's setting
     * @throws io.queenmq.model.QueenException bad request naming the option; nothing is written
     */
    public Configured configure(
            UUID tenant, String queue, @Nullable Mode mode, Map<String, Option> options) {
        Names.checked("queue", queue, Names.NAME_BYTES_MAX);
        String columns = columns(options);
        boolean merge = (mode == null ? defaultMode : mode) == Mode.MERGE;
        Queue configured = procedures.configure(tenant, queue, merge, columns);
        catalog.queueChanged(configured.id());
        catalog.put(configured);
        return new Configured(
                configured.id(), configured.options(), QueueWarnings.of(configured.options()));
    }

    /** Deletes a queue with all its messages, cursors and dead letters. */
    public Deleted delete(UUID tenant, String queue) {
        Optional<Queue> known = catalog.queue(tenant, queue);
        Deleted deleted = procedures.delete(tenant, queue);
        known.ifPresent(gone -> catalog.queueChanged(gone.id()));
        return deleted;
    }

    /** The values to store, by column, as the JSON object that the procedure takes. */
    private String columns(Map<String, Option> options) {
        StringWriter text = new StringWriter();
        try (JsonGenerator json = JSON.createGenerator(text)) {
            json.writeStartObject();
            for (QueueOption option : QueueOption.values()) {
                Option given = options.get(option.wireName());
                if (given != null) {
                    Object value = option.parse(given);
                    if (!encrypts
                            && option == QueueOption.ENCRYPTION_ENABLED
                            && Boolean.TRUE.equals(value)) {
                        throw new QueenException(
                                Failure.BAD_REQUEST,
                                "encryptionEnabled must be false, got true: this broker has no"
                                        + " encryption key");
                    }
                    json.writeFieldName(option.column());
                    switch (value) {
                        case Integer number -> json.writeNumber(number);
                        case Boolean bool -> json.writeBoolean(bool);
                        case null -> json.writeNull();
                        default -> json.writeString(value.toString());
                    }
                }
            }
            json.writeEndObject();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return text.toString();
    }
}
