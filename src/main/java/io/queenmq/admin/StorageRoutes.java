package io.queenmq.admin;

import io.queenmq.access.Level;
import io.queenmq.insight.SystemReads;
import io.queenmq.maintain.OnCall;
import io.queenmq.maintain.PurgeState;
import io.queenmq.maintain.ReclaimPlan;
import io.queenmq.maintain.RetentionRun;
import io.queenmq.runtime.Clock;
import io.queenmq.web.Exchange;
import io.queenmq.web.JsonBody;
import io.queenmq.web.JsonBuffer;
import io.queenmq.web.Router;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Where the space of the log is, and the ways to get it back: expire, reclaim, purge a tenant. */
final class StorageRoutes {
    private static final String STORAGE = "/api/v1/system/storage";
    private static final int WAIT_SECONDS = 60;
    private static final int WAIT_SECONDS_MAX = 86_400;
    private static final int NOT_FOUND = 404;
    private static final int CONFLICT = 409;

    private final SystemReads reads;
    private final OnCall onCall;
    private final Clock clock;

    StorageRoutes(SystemReads reads, OnCall onCall, Clock clock) {
        this.reads = reads;
        this.onCall = onCall;
        this.clock = clock;
    }

    void addTo(Router.Builder routes) {
        routes.read(Level.ADMIN, STORAGE, e -> e.ok(AdminQuery.json(reads.storage())))
                .manage(Level.ADMIN, "POST", STORAGE + "/reclaim", this::reclaim)
                .manage(Level.ADMIN, "DELETE", STORAGE + "/reclaim", this::cancel)
                .manage(Level.ADMIN, "POST", "/api/v1/system/retention/run", this::runRetention)
                .read(
                        Level.ADMIN,
                        "/api/v1/system/purges",
                        e -> e.ok(AdminQuery.json(reads.purges())))
                .manage(Level.ADMIN, "DELETE", "/api/v1/resources/tenant", this::purge);
    }

    /** A request for space, as far as it has been read. */
    private static final class Draft {
        private @Nullable Long bytes;
        private long waitSeconds = WAIT_SECONDS;
        private boolean dryRun;
    }

    private static Draft read(byte[] bytes) {
        Draft draft = new Draft();
        try (JsonBody body = new JsonBody(bytes)) {
            for (String name = body.nextName(); name != null; name = body.nextName()) {
                switch (name) {
                    case "bytes" -> draft.bytes = number(name, body, 1, Long.MAX_VALUE);
                    case "waitSeconds" ->
                            draft.waitSeconds = number(name, body, 0, WAIT_SECONDS_MAX);
                    case "dryRun" -> draft.dryRun = SwitchRoutes.flag(name, body);
                    default -> body.skip();
                }
            }
            body.end();
        }
        return draft;
    }

    private static long number(String name, JsonBody body, long least, long most) {
        Long value = body.whole();
        if (value == null || value < least || value > most) {
            throw JsonBody.bad(
                    "%s must be a whole number of %d to %d".formatted(name, least, most));
        }
        return value;
    }

    private void reclaim(Exchange exchange) {
        Draft draft = read(exchange.body());
        Long bytes = draft.bytes;
        if (bytes == null) {
            throw JsonBody.bad("bytes must be given");
        }
        ReclaimPlan plan = onCall.planReclaim(bytes);
        OptionalInt order =
                draft.dryRun
                        ? OptionalInt.empty()
                        : onCall.orderReclaim(bytes, Duration.ofSeconds(draft.waitSeconds));
        JsonBuffer json = new JsonBuffer(512);
        if (!draft.dryRun && order.isEmpty()) {
            exchange.refuse(
                    CONFLICT,
                    json.raw(
                            "{\"error\":\"a reclaim is under way: DELETE of this path ends it\"}"));
            return;
        }
        json.raw("{\"success\":true,\"reclaim\":");
        if (order.isPresent()) {
            json.number(order.getAsInt());
        } else {
            json.raw("null");
        }
        json.raw(",\"askedBytes\":").number(bytes);
        json.raw(",\"waitSeconds\":").number(draft.waitSeconds);
        json.raw(",\"dryRun\":").bool(draft.dryRun);
        json.raw(",\"inTheWay\":").string(onCall.oldestTransaction().orElse(null));
        exchange.ok(plan(json.raw(",\"plan\":"), plan, bytes).raw('}'));
    }

    private static JsonBuffer plan(JsonBuffer json, ReclaimPlan plan, long bytes) {
        json.raw("{\"freedBytes\":").number(plan.freedBytes());
        json.raw(",\"survivorBytes\":").number(plan.survivorBytes());
        json.raw(",\"enough\":").bool(plan.freedBytes() >= bytes).raw(",\"epochs\":[");
        String separator = "";
        for (ReclaimPlan.Step step : plan.steps()) {
            json.raw(separator).raw("{\"epoch\":").number(step.epoch());
            json.raw(",\"state\":").string(step.state());
            json.raw(",\"bytes\":").number(step.bytes());
            json.raw(",\"freedBytes\":").number(step.freedBytes());
            json.raw(",\"survivorBytes\":").number(step.survivorBytes()).raw('}');
            separator = ",";
        }
        return json.raw("]}");
    }

    private void cancel(Exchange exchange) {
        OptionalInt order = onCall.cancelReclaim();
        if (order.isPresent()) {
            exchange.ok(
                    new JsonBuffer(64)
                            .raw("{\"success\":true,\"reclaim\":")
                            .number(order.getAsInt())
                            .raw('}'));
        } else {
            exchange.refuse(
                    NOT_FOUND, new JsonBuffer(64).raw("{\"error\":\"No reclaim is under way\"}"));
        }
    }

    /** A message has one key, which goes with it; segments go as whole ones. */
    private void runRetention(Exchange exchange) {
        long start = clock.nanos();
        Optional<RetentionRun> ran = onCall.runRetention();
        if (ran.isEmpty()) {
            exchange.refuse(
                    CONFLICT,
                    new JsonBuffer(96)
                            .raw("{\"error\":\"the job retention is running, or paused\"}"));
            return;
        }
        RetentionRun run = ran.get();
        long messages = run.messages();
        JsonBuffer json = new JsonBuffer(256).raw("{\"success\":true,\"complete\":");
        json.bool(run.isComplete()).raw(",\"queues\":").number(run.queues());
        json.raw(",\"due\":").number(run.lanes());
        json.raw(",\"messages\":").number(messages);
        json.raw(",\"retentionMsgs\":").number(run.retention());
        json.raw(",\"completedRetentionMsgs\":").number(run.completed());
        json.raw(",\"maxWaitEvicted\":").number(run.evicted());
        json.raw(",\"segmentsDeleted\":").number(run.segments());
        json.raw(",\"txnsPurged\":").number(messages);
        json.raw(",\"bytes\":").number(run.bytes());
        json.raw(",\"partitionsDeleted\":").number(run.removedLanes());
        json.raw(",\"elapsedMs\":");
        json.number(TimeUnit.NANOSECONDS.toMillis(clock.nanos() - start));
        exchange.ok(json.raw('}'));
    }

    private void purge(Exchange exchange) {
        UUID tenant = exchange.caller().tenant();
        boolean allowDefault = AdminQuery.bool(exchange.query(), "allowDefault", false);
        PurgeState state = onCall.purge(tenant, allowDefault);
        JsonBuffer json = new JsonBuffer(256).raw("{\"tenant\":").uuid(tenant);
        json.raw(",\"done\":").bool(state.doneAt().isPresent());
        json.raw(",\"phase\":").string(state.left());
        json.raw(",\"queues\":").number(state.queues());
        json.raw(",\"timers\":").number(state.timers());
        json.raw(",\"segments\":").number(state.segments());
        json.raw(",\"otherRows\":").number(state.others());
        json.raw(",\"orderedAt\":").millis(state.orderedAt());
        json.raw(",\"doneAt\":").millis(state.doneAt().orElse(null));
        exchange.ok(json.raw('}'));
    }
}
