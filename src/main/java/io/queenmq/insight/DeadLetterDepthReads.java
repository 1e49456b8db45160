package io.queenmq.insight;

import io.queenmq.db.ColdQuery;
import io.queenmq.db.ColdReads;
import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** How many dead letters there are, as metrics show it: at most some seconds old. Any thread. */
public final class DeadLetterDepthReads {
    /** Queues that are shown, those with most: what scrapes a broker has to keep them all. */
    static final int QUEUES_MAX = 100;

    private static final Duration GOOD_FOR = Duration.ofSeconds(5);

    /**
     * Dead letters of the queues of one name, whoever owns them.
     *
     * @param queue null = of all queues
     */
    public record Depth(@Nullable String queue, long deadLetters) {}

    private final Recent<List<Depth>> depths;

    public DeadLetterDepthReads(ColdReads reads, Clock clock) {
        ColdQuery<Depth> query =
                reads.query(
                        "dead_letter_depths",
                        "select * from queen_store.dead_letter_depths(?)",
                        row ->
                                new Depth(
                                        row.column("queue").as(String.class).orElse(null),
                                        row.column("dead_letters").getLong()));
        this.depths = new Recent<>(() -> query.ask(QUEUES_MAX), GOOD_FOR, clock);
    }

    /** All of them first, then the queues with most. */
    public List<Depth> read() {
        return depths.get();
    }
}
