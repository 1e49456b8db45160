package io.queenmq;

import io.queenmq.access.AccessConfig;
import io.queenmq.config.Settings;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** What an operator's variables say about tokens, for tests of other rooms. */
public final class AccessEnvironment {
    private AccessEnvironment() {}

    /** With tokens asked for; names and values in turn. */
    public static Optional<AccessConfig> of(String... pairs) {
        Map<String, String> environment = new HashMap<>(Map.of("JWT_ENABLED", "true"));
        for (int i = 0; i < pairs.length; i += 2) {
            environment.put(pairs[i], pairs[i + 1]);
        }
        return AccessSettings.of(Settings.of(environment));
    }
}
