package io.queenmq.openapi;

import java.io.IOException;
import java.io.InputStream;
import java.io.StringReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** The page and what it loads: a few files of ours and of the library that draws it. Any thread. */
final class PageFiles {
    private static final String LIBRARY = "/META-INF/maven/org.webjars/swagger-ui/pom.properties";
    private static final String SCRIPT = "text/javascript; charset=utf-8";

    /** Everything that may be asked for: its name, where it is, what it is. */
    private static final Map<String, Place> PLACES =
            Map.of(
                    "start.js", new Place("/openapi/start.js", SCRIPT),
                    "swagger-ui-bundle.js", new Place(library("swagger-ui-bundle.js"), SCRIPT),
                    "swagger-ui.css",
                            new Place(library("swagger-ui.css"), "text/css; charset=utf-8"));

    private final ConcurrentHashMap<String, File> files = new ConcurrentHashMap<>();

    private record Place(String resource, String contentType) {}

    record File(String contentType, String text) {}

    private static String library(String name) {
        Properties properties = new Properties();
        try {
            properties.load(new StringReader(read(LIBRARY)));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return "/META-INF/resources/webjars/swagger-ui/%s/%s"
                .formatted(properties.getProperty("version"), name);
    }

    String page() {
        return read("/openapi/page.html");
    }

    /** Null = the page loads no such file. */
    @Nullable File find(String name) {
        Place place = PLACES.get(name);
        return place == null
                ? null
                : files.computeIfAbsent(
                        name, n -> new File(place.contentType(), read(place.resource())));
    }

    private static String read(String resource) {
        try (InputStream in = PageFiles.class.getResourceAsStream(resource)) {
            if (in == null) {
                throw new IllegalStateException("not in the jar: " + resource);
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
