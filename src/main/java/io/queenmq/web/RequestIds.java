package io.queenmq.web;

import io.helidon.http.Header;
import io.helidon.http.HeaderName;
import io.helidon.http.HeaderNames;
import io.helidon.http.HeaderValues;
import io.helidon.http.Headers;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Pattern;

/**
 * What a request is called in answers and in logs: what its sender or a proxy has called it, or a
 * name that is made here. Any thread.
 */
final class RequestIds {
    private static final HeaderName NAME = HeaderNames.create("X-Request-Id");

    /** It stands in logs, where it must not look like something else. */
    private static final Pattern USABLE = Pattern.compile("[A-Za-z0-9._:/+=@-]{1,128}");

    private final String prefix = "%08x-".formatted(ThreadLocalRandom.current().nextInt());
    private final AtomicLong made = new AtomicLong();

    /** The header of the answer. */
    Header of(Headers request) {
        String given = request.contains(NAME) ? request.get(NAME).get() : "";
        String id =
                USABLE.matcher(given).matches()
                        ? given
                        : prefix + Long.toHexString(made.incrementAndGet());
        return HeaderValues.create(NAME, id);
    }
}
