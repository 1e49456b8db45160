package io.queenmq.admin;

import com.fasterxml.jackson.core.JsonToken;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.web.JsonBody;
import org.jspecify.annotations.Nullable;

/** The body {@code {"enabled":true}} of whatever is on or off. */
final class SwitchBody {
    private SwitchBody() {}

    static boolean enabled(byte[] bytes) {
        JsonToken enabled = bytes.length > 0 ? token(bytes) : null;
        if (enabled == null || !enabled.isBoolean()) {
            throw new QueenException(Failure.BAD_REQUEST, "enabled (boolean) is required");
        }
        return enabled == JsonToken.VALUE_TRUE;
    }

    private static @Nullable JsonToken token(byte[] bytes) {
        JsonToken enabled = null;
        try (JsonBody body = new JsonBody(bytes)) {
            for (String name = body.nextName(); name != null; name = body.nextName()) {
                if (name.equals("enabled")) {
                    enabled = body.token();
                }
                body.skip();
            }
            body.end();
        }
        return enabled;
    }
}
