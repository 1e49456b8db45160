package io.queenmq.fault;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A client of the HTTP API as any program might write it: one request at a time, to the next of its
 * brokers when one has failed it.
 */
final class Http {
    private static final Duration PATIENCE = Duration.ofSeconds(40);
    private static final int SERVER_ERROR = 500;
    private static final JsonFactory JSON = new JsonFactory();

    private final HttpClient client =
            HttpClient.newBuilder()
                    .version(HttpClient.Version.HTTP_1_1)
                    .connectTimeout(Duration.ofSeconds(5))
                    .build();
    private final List<URI> brokers;
    private int current;

    /** An answer; the body is parsed into maps, lists, strings, longs and booleans. */
    record Answer(int status, @Nullable Object body) {
        /** The body as a list of objects: results of a push or of an ack. */
        List<Map<String, Object>> results() {
            return objects(body);
        }

        /** The messages of a pop; none in an empty answer. */
        List<Map<String, Object>> messages() {
            return body instanceof Map<?, ?> map ? objects(map.get("messages")) : List.of();
        }

        @SuppressWarnings("unchecked") // What the parser below has built.
        private static List<Map<String, Object>> objects(@Nullable Object value) {
            return value instanceof List<?> list ? (List<Map<String, Object>>) list : List.of();
        }
    }

    Http(URI... brokers) {
        this(List.of(brokers));
    }

    Http(List<URI> brokers) {
        this.brokers = brokers;
    }

    /** Sends a request; an empty body is none. */
    Answer call(String method, String path, String body) throws IOException, InterruptedException {
        boolean well = false;
        try {
            Answer answer = send(method, path, body);
            well = answer.status() < SERVER_ERROR;
            return answer;
        } finally {
            current = well ? current : (current + 1) % brokers.size();
        }
    }

    private Answer send(String method, String path, String body)
            throws IOException, InterruptedException {
        HttpRequest request =
                HttpRequest.newBuilder(brokers.get(current).resolve(path))
                        .timeout(PATIENCE)
                        .method(
                                method,
                                body.isEmpty()
                                        ? HttpRequest.BodyPublishers.noBody()
                                        : HttpRequest.BodyPublishers.ofString(body))
                        .build();
        HttpResponse<String> response = client.send(request, HttpResponse.BodyHandlers.ofString());
        return new Answer(response.statusCode(), parse(response.body()));
    }

    private static @Nullable Object parse(String text) throws IOException {
        if (text.isEmpty()) {
            return null;
        }
        try (JsonParser parser = JSON.createParser(text)) {
            parser.nextToken();
            return value(parser);
        }
    }

    private static @Nullable Object value(JsonParser parser) throws IOException {
        return switch (parser.currentToken()) {
            case START_OBJECT -> {
                Map<String, @Nullable Object> map = new LinkedHashMap<>();
                while (parser.nextToken() != JsonToken.END_OBJECT) {
                    String name = parser.currentName();
                    parser.nextToken();
                    map.put(name, value(parser));
                }
                yield map;
            }
            case START_ARRAY -> {
                List<@Nullable Object> list = new ArrayList<>();
                while (parser.nextToken() != JsonToken.END_ARRAY) {
                    list.add(value(parser));
                }
                yield list;
            }
            case VALUE_NUMBER_INT -> parser.getLongValue();
            case VALUE_TRUE, VALUE_FALSE -> parser.getBooleanValue();
            case VALUE_NULL -> null;
            default -> parser.getText();
        };
    }
}
