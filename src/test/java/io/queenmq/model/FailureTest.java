package io.queenmq.model;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The catalogue of refusals is the only one: the manual agrees with it. */
class FailureTest {
    private static final Pattern ROW =
            Pattern.compile("^\\| `(\\w+)` \\| (\\d{3}) \\| (\\w+) \\| .+ \\|$", Pattern.MULTILINE);

    @Test
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
}
