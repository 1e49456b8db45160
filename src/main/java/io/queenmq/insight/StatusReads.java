package io.queenmq.insight;

import io.queenmq.db.ColdQuery;
import io.queenmq.db.ColdReads;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** How the cluster fares and what it was doing. Answers are JSON, ready to be sent. Any thread. */
public final class StatusReads {
    private final ColdQuery<byte[]> status;
    private final ColdQuery<byte[]> volume;

    public StatusReads(ColdReads reads) {
        this.status =
                AnalyticsReads.query(
                        reads,
                        "show_status",
                        "?::timestamptz, ?::timestamptz, ?::text, ?::text, ?::text");
        this.volume =
                AnalyticsReads.query(
                        reads,
                        "show_volume",
                        "?::uuid, ?::timestamptz, ?::timestamptz, ?::text, ?::text, ?::text, ?::text");
    }

    /**
     * Of all tenants.
     *
     * @param queue null = any; so for the other filters
     */
    public byte[] status(
            Window window,
            @Nullable String queue,
            @Nullable String namespace,
            @Nullable String task) {
        return status.ask(window.from().toString(), window.to().toString(), queue, namespace, task)
                .getFirst();
    }

    /**
     * Messages stored by a tenant.
     *
     * @param interval minute, hour or day
     */
    public byte[] volume(
            UUID tenant,
            Window window,
            String interval,
            @Nullable String queue,
            @Nullable String namespace,
            @Nullable String task) {
        return volume.ask(
                        tenant,
                        window.from().toString(),
                        window.to().toString(),
                        interval,
                        queue,
                        namespace,
                        task)
                .getFirst();
    }
}
