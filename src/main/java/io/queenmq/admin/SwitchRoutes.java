package io.queenmq.admin;

import com.fasterxml.jackson.core.JsonToken;
import io.queenmq.access.Level;
import io.queenmq.gate.Quotas;
import io.queenmq.gate.Switch;
import io.queenmq.gate.Switches;
import io.queenmq.web.Exchange;
import io.queenmq.web.JsonBody;
import io.queenmq.web.JsonBuffer;
import io.queenmq.web.Router;
import java.util.EnumMap;
import java.util.Map;

/** {@code /api/v1/system/kv-timers}: what operators have switched off, and how quotas stand. */
final class SwitchRoutes {
    private static final String PATH = "/api/v1/system/kv-timers";

    private final Switches switches;
    private final Quotas quotas;

    SwitchRoutes(Switches switches, Quotas quotas) {
        this.switches = switches;
        this.quotas = quotas;
    }

    void addTo(Router.Builder routes) {
        routes.read(Level.ADMIN, PATH, exchange -> exchange.ok(state().raw('}')))
                .manage(Level.ADMIN, "POST", PATH, this::set);
    }

    private void set(Exchange exchange) {
        Map<Switch, Boolean> wanted = wanted(exchange.body());
        if (wanted.isEmpty()) {
            throw JsonBody.bad("one of kv, timersSchedule and timersFire must be given");
        }
        boolean mirrored = switches.set(wanted);
        exchange.ok(state().raw(",\"mirrored\":").bool(mirrored).raw('}'));
    }

    private static Map<Switch, Boolean> wanted(byte[] bytes) {
        Map<Switch, Boolean> wanted = new EnumMap<>(Switch.class);
        try (JsonBody body = new JsonBody(bytes)) {
            for (String name = body.nextName(); name != null; name = body.nextName()) {
                switch (name) {
                    case "kv" -> wanted.put(Switch.KV, flag(name, body));
                    case "timersSchedule" -> wanted.put(Switch.TIMERS_SCHEDULE, flag(name, body));
                    case "timersFire" -> wanted.put(Switch.TIMERS_FIRE, flag(name, body));
                    default -> body.skip();
                }
            }
            body.end();
        }
        return wanted;
    }

    static boolean flag(String name, JsonBody body) {
        if (!body.token().isBoolean()) {
            throw JsonBody.bad(name + " must be a boolean, got " + body.kind());
        }
        return body.token() == JsonToken.VALUE_TRUE;
    }

    private JsonBuffer state() {
        Quotas.State known = quotas.state();
        return new JsonBuffer(192)
                .raw("{\"kvEnabled\":")
                .bool(switches.isOn(Switch.KV))
                .raw(",\"timersScheduleEnabled\":")
                .bool(switches.isOn(Switch.TIMERS_SCHEDULE))
                .raw(",\"timersFireEnabled\":")
                .bool(switches.isOn(Switch.TIMERS_FIRE))
                .raw(",\"quotaTenants\":")
                .number(known.tenants())
                .raw(",\"quotaAgeMs\":")
                .number(known.ageMs())
                .raw(",\"quotaHot\":")
                .number(known.hot());
    }
}
