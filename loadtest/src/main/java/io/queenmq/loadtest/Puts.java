package io.queenmq.loadtest;

import java.nio.charset.StandardCharsets;

/** Callers that write keys without end, so many in a call. */
final class Puts implements Callers.Script {
    /** As many namespaces, and keys in each, as the figures of Queen 1.x had. */
    static final int NAMESPACES = 100;

    static final int KEYS = 200;

    private final int batch;
    private final Rng rng = Rng.seeded();

    Puts(int batch) {
        this.batch = batch;
    }

    @Override
    public String next(int caller, Bytes body) {
        int namespace = rng.below(NAMESPACES);
        // Neighbours, for a key may be written once in a call.
        int first = rng.below(KEYS);
        body.add("[");
        for (int i = 0; i < batch; i++) {
            body.add(i == 0 ? "" : ",");
            body.add("{\"op\":\"put\",\"ns\":\"bench-").number(namespace);
            body.add("\",\"key\":\"key-").number((first + i) % KEYS);
            body.add("\",\"value\":{\"n\":").number(rng.below(1_000_000));
            body.add("},\"forever\":true}");
        }
        body.add("]");
        return "/api/v1/kv";
    }

    @Override
    public void answered(int caller, int status, byte[] body, int from, int to) {
        Callers.expect(200, status, body, from, to);
        if (new String(body, from, to - from, StandardCharsets.UTF_8)
                .contains("\"applied\":false")) {
            throw new IllegalStateException("a put without expectations was not applied");
        }
    }
}
