package io.queenmq.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class ConfigurationPageTest {

    @Test
    void manualIsUpToDate() throws IOException {
        Files.writeString(Path.of("target/configuration.md"), ConfigurationPage.render());
        assertEquals(
                ConfigurationPage.render(),
                Files.readString(Path.of("docs/configuration.md")),
                "cp target/configuration.md docs/");
    }

    @Test
    void everyDefaultIsInItsRange() {
        Variables.bySection().values().forEach(section -> section.forEach(this::check));
    }

    private <T> void check(Variable<T> variable) {
        Stream.of(Map.<String, String>of(), Map.of("QUEEN_TENANCY_HEADER", "on"))
                .flatMap(set -> Settings.of(set).effective(variable).stream())
                .forEach(
                        value ->
                                assertTrue(
                                        variable.parser().apply(text(value)).isPresent(),
                                        variable.name()));
        assertTrue(variable.description().endsWith("."), variable.name());
    }

    private static String text(Object value) {
        return value instanceof List<?> list
                ? String.join(",", list.stream().map(String::valueOf).toList())
                : value.toString();
    }
}
