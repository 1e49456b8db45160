package io.queenmq.model;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.Contract;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The catalogue of refusals is the only one: the manual agrees with it. */
class FailureTest {
    private static final Pattern ROW =
            Pattern.compile("^\\| `(\\w+)` \\| (\\d{3}) \\| (\\w+) \\| .+ \\|$", Pattern.MULTILINE);

    @Test
    @Contract("error-1")
    void manualListsExactlyTheseWithStatusAndAdvice() throws IOException {
        List<String> manual =
                ROW.matcher(Files.readString(Path.of("docs/errors.md")))
                        .results()
                        .map(row -> row.group(1) + " " + row.group(2) + " " + row.group(3))
                        .toList();
        List<String> catalogue =
                Arrays.stream(Failure.values())
                        .map(
                                failure ->
                                        failure.code()
                                                + " "
                                                + failure.status()
                                                + " "
                                                + failure.retry().name().toLowerCase(Locale.ROOT))
                        .toList();
        assertEquals(catalogue, manual);
    }

    /** 429 is for limits of one tenant; 502 and 504 are what a gateway says of others. */
    @Test
    @Contract("error-4")
    void overloadAndOutagesAre503AndNothingElse() {
        for (Failure failure : Failure.values()) {
            boolean later = failure.retry() != Failure.Retry.NEVER;
            int comeAgain = failure == Failure.RATE_LIMITED ? 429 : 503;
            assertEquals(later, failure.status() == comeAgain, failure.code());
            assertEquals(
                    true,
                    failure == Failure.RATE_LIMITED
                            || Set.of(400, 401, 403, 404, 409, 413, 500, 503)
                                    .contains(failure.status()));
        }
    }
}
