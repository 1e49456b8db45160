package io.queenmq.admin;

import com.fasterxml.jackson.core.JsonToken;
import io.queenmq.access.Level;
import io.queenmq.gate.Quota;
import io.queenmq.gate.Quotas;
import io.queenmq.model.Caller;
import io.queenmq.model.Excerpt;
import io.queenmq.model.Uuids;
import io.queenmq.web.Exchange;
import io.queenmq.web.JsonBody;
import io.queenmq.web.JsonBuffer;
import io.queenmq.web.Router;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** {@code /api/v1/system/quota}: what a tenant may keep of keys and timers. */
final class QuotaRoutes {
    /** Names of the limits in requests, and of their columns. */
    private static final Map<String, String> LIMITS =
            Map.of(
                    "maxRows", "max_rows",
                    "maxBytes", "max_bytes",
                    "maxTimers", "max_timers",
                    "maxTimerHorizonS", "max_timer_horizon_seconds",
                    "maxReadsPerSec", "max_reads_per_second",
                    "maxWritesPerSec", "max_writes_per_second");

    /** What a rate may be: to forbid all there is {@code enabled}. */
    private static final int RATE_MIN = 1;

    private final Quotas quotas;

    QuotaRoutes(Quotas quotas) {
        this.quotas = quotas;
    }

    void addTo(Router.Builder routes) {
        routes.manage(Level.ADMIN, "POST", "/api/v1/system/quota", this::set);
    }

    /** A request, as far as it has been read. */
    private static final class Draft {
        private UUID tenant = Caller.DEFAULT_TENANT;
        private @Nullable String kind;
        private boolean enabled = true;
        private final Set<String> columns = new HashSet<>();
        private final Map<String, Long> limits = new HashMap<>();
    }

    private void set(Exchange exchange) {
        Draft draft = read(exchange.body());
        if (!"kv".equals(draft.kind)) {
            throw JsonBody.bad(
                    draft.kind == null
                            ? "kind must be kv, and is missing"
                            : "kind must be kv, got " + Excerpt.of(draft.kind));
        }
        if (draft.columns.isEmpty()) {
            throw JsonBody.bad(
                    "one of enabled, maxRows, maxBytes, maxTimers, maxTimerHorizonS,"
                            + " maxReadsPerSec and maxWritesPerSec must be given");
        }
        Quota wanted =
                new Quota(
                        draft.enabled,
                        draft.limits.get("max_rows"),
                        draft.limits.get("max_bytes"),
                        draft.limits.get("max_timers"),
                        draft.limits.get("max_timer_horizon_seconds"),
                        draft.limits.get("max_reads_per_second"),
                        draft.limits.get("max_writes_per_second"));
        exchange.ok(json(draft.tenant, quotas.set(draft.tenant, draft.columns, wanted)));
    }

    private static Draft read(byte[] bytes) {
        Draft draft = new Draft();
        try (JsonBody body = new JsonBody(bytes)) {
            for (String name = body.nextName(); name != null; name = body.nextName()) {
                switch (name) {
                    case "tenant" -> draft.tenant = tenant(body);
                    case "kind" -> draft.kind = body.textOrNull(name);
                    case "enabled" -> {
                        if (!body.token().isBoolean()) {
                            throw JsonBody.bad("enabled must be a boolean, got " + body.kind());
                        }
                        draft.enabled = body.token() == JsonToken.VALUE_TRUE;
                        draft.columns.add(name);
                    }
                    default -> limit(name, body, draft);
                }
            }
            body.end();
        }
        return draft;
    }

    private static UUID tenant(JsonBody body) {
        String text = body.textOrNull("tenant");
        UUID tenant = text == null ? null : Uuids.parse(text);
        if (tenant == null) {
            throw JsonBody.bad("tenant must be a UUID, got " + Excerpt.of(text));
        }
        return tenant;
    }

    private static void limit(String name, JsonBody body, Draft draft) {
        String column = LIMITS.get(name);
        if (column == null) {
            body.skip();
            return;
        }
        draft.columns.add(column);
        if (body.token() == JsonToken.VALUE_NULL) {
            draft.limits.remove(column);
            return;
        }
        boolean rate = name.endsWith("PerSec");
        long least = rate ? RATE_MIN : 0;
        long most = rate ? Integer.MAX_VALUE : Long.MAX_VALUE;
        Long value = body.whole();
        if (value == null || value < least || value > most) {
            throw JsonBody.bad(
                    "%s must be null or a whole number of %d to %d".formatted(name, least, most));
        }
        draft.limits.put(column, value);
    }

    private static JsonBuffer json(UUID tenant, Quota quota) {
        JsonBuffer json = new JsonBuffer(256).raw("{\"tenant\":").uuid(tenant);
        json.raw(",\"kind\":\"kv\",\"enabled\":").bool(quota.enabled());
        limit(json, "maxRows", quota.maxRows());
        limit(json, "maxBytes", quota.maxBytes());
        limit(json, "maxTimers", quota.maxTimers());
        limit(json, "maxTimerHorizonS", quota.maxTimerHorizonSeconds());
        limit(json, "maxReadsPerSec", quota.maxReadsPerSecond());
        limit(json, "maxWritesPerSec", quota.maxWritesPerSecond());
        return json.raw('}');
    }

    private static void limit(JsonBuffer json, String name, @Nullable Long value) {
        json.raw(",\"").raw(name).raw("\":");
        if (value == null) {
            json.raw("null");
        } else {
            json.number(value);
        }
    }
}
