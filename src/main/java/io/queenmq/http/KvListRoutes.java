package io.queenmq.http;

import io.queenmq.access.Level;
import io.queenmq.kv.KvReads;
import io.queenmq.kv.KvReads.Filter;
import io.queenmq.kv.KvReads.Listing;
import io.queenmq.kv.KvReads.Namespace;
import io.queenmq.kv.KvReads.Shown;
import io.queenmq.model.Excerpt;
import io.queenmq.web.Exchange;
import io.queenmq.web.JsonBody;
import io.queenmq.web.JsonBuffer;
import io.queenmq.web.Router;
import io.queenmq.web.WholeNumber;
import java.math.BigDecimal;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** {@code /api/v1/resources/kv}: which keys there are. */
final class KvListRoutes {
    private static final int DEFAULT_LIMIT = 100;
    private static final int ROW_BYTES = 256;

    private final KvReads reads;

    KvListRoutes(KvReads reads) {
        this.reads = reads;
    }

    void addTo(Router.Builder routes) {
        routes.read(
                        Level.READ_ONLY,
                        "/api/v1/resources/kv/namespaces",
                        KvRoutes.refusing(this::namespaces))
                // A key may be a secret: a query would end in access logs.
                .route(
                        Level.READ_ONLY,
                        "POST",
                        "/api/v1/resources/kv/list",
                        KvRoutes.refusing(this::list));
    }

    private void namespaces(Exchange exchange) {
        List<Namespace> namespaces = reads.namespaces(exchange.caller().tenant());
        JsonBuffer json = new JsonBuffer(64 + 64 * namespaces.size()).raw("{\"namespaces\":[");
        for (Namespace namespace : namespaces) {
            json.raw(json.endsWith('[') ? "{\"namespace\":" : ",{\"namespace\":");
            json.string(namespace.name()).raw(",\"keys\":").number(namespace.keys());
            if (namespace.capped()) {
                json.raw(",\"capped\":true");
            }
            json.raw('}');
        }
        exchange.ok(json.raw("]}"));
    }

    private void list(Exchange exchange) {
        exchange.ok(write(reads.list(exchange.caller().tenant(), filter(exchange.body()))));
    }

    private static Filter filter(byte[] bytes) {
        String namespace = "";
        String prefix = "";
        String after = null;
        int limit = DEFAULT_LIMIT;
        boolean keysOnly = false;
        boolean withExpired = false;
        try (JsonBody body = new JsonBody(bytes)) {
            for (String name = body.nextName(); name != null; name = body.nextName()) {
                switch (name) {
                    case "namespace" -> namespace = orEmpty(body.textOrNull(name));
                    case "prefix" -> prefix = orEmpty(body.textOrNull(name));
                    case "after" -> after = body.textOrNull(name);
                    case "limit" -> limit = limit(body);
                    case "keysOnly" -> keysOnly = flag(name, body);
                    case "includeExpired" -> withExpired = flag(name, body);
                    default -> body.skip();
                }
            }
            body.end();
        }
        return new Filter(namespace, prefix, after, limit, keysOnly, withExpired);
    }

    private static String orEmpty(@Nullable String text) {
        return text == null ? "" : text;
    }

    /** Whatever number it is, it is a wish. */
    private static int limit(JsonBody body) {
        BigDecimal whole = body.token().isNumeric() ? WholeNumber.of(body.text()) : null;
        if (whole == null) {
            throw JsonBody.bad("limit must be a whole number, got " + Excerpt.of(body.raw()));
        }
        return whole.max(BigDecimal.ONE).min(BigDecimal.valueOf(Integer.MAX_VALUE)).intValue();
    }

    private static boolean flag(String name, JsonBody body) {
        return switch (body.token()) {
            case VALUE_TRUE -> true;
            case VALUE_FALSE, VALUE_NULL -> false;
            default -> throw JsonBody.bad(name + " must be a boolean, got " + body.kind());
        };
    }

    private static JsonBuffer write(Listing listing) {
        JsonBuffer json = new JsonBuffer(64 + ROW_BYTES * listing.rows().size());
        json.raw("{\"rows\":[");
        for (Shown shown : listing.rows()) {
            json.raw(json.endsWith('[') ? "{" : ",{");
            KvJson.row(json, shown.row());
            json.raw(",\"expired\":").bool(shown.expired()).raw('}');
        }
        json.raw("],\"truncated\":").bool(listing.nextAfter() != null);
        json.raw(",\"nextAfter\":").string(listing.nextAfter());
        return json.raw(",\"bytes\":").number(listing.bytes()).raw('}');
    }
}
