package io.queenmq.openapi;

import io.queenmq.access.Level;
import io.queenmq.web.Exchange;
import io.queenmq.web.JsonBuffer;
import io.queenmq.web.Router;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * {@code /openapi}, what can be asked and what is answered, and a page that shows it, to which
 * whoever opens the port in a browser is led. Both are made when somebody asks for the first time.
 * Any thread.
 */
public final class OpenApi {
    private static final String PAGE = "/openapi/ui";
    private static final int NOT_FOUND = 404;

    private static final JsonBuffer NO_SUCH_FILE =
            new JsonBuffer(64).raw("{\"error\":\"Not Found\",\"code\":\"no_such_route\"}");

    /**
     * The page runs its own script and asks this broker. Its library styles single elements as it
     * goes, and its icons stand in its style sheet.
     */
    private static final String PAGE_POLICY =
            "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline';"
                    + " img-src 'self' data:; connect-src 'self'; base-uri 'none';"
                    + " form-action 'none'; frame-ancestors 'none'";

    private final Supplier<List<Router.Route>> routes;
    private final String version;
    private final PageFiles files = new PageFiles();
    private volatile @Nullable Texts texts;

    private record Texts(String json, String yaml) {}

    /**
     * @param routes all that are served; asked when they are known
     * @param version of this broker
     */
    public OpenApi(Supplier<List<Router.Route>> routes, String version) {
        this.routes = routes;
        this.version = version;
    }

    /** Adds the routes. */
    public void addTo(Router.Builder builder) {
        builder.read(Level.PUBLIC, "/openapi", this::document)
                .read(Level.PUBLIC, PAGE, this::page)
                .read(Level.PUBLIC, "/", exchange -> exchange.seeOther(PAGE))
                .read(Level.PUBLIC, PAGE + "/:file", this::file);
    }

    private void document(Exchange exchange) {
        Texts made = texts;
        if (made == null) {
            // Two who ask at once make the same.
            Map<String, @Nullable Object> document = Document.of(routes.get(), version);
            made = new Texts(Trees.json(document), Trees.yaml(document));
            texts = made;
        }
        if ("yaml".equals(exchange.query().text("format"))) {
            exchange.text("application/yaml", made.yaml());
        } else {
            exchange.text("application/json", made.json());
        }
    }

    private void page(Exchange exchange) {
        exchange.hint("Content-Security-Policy", PAGE_POLICY);
        exchange.text("text/html; charset=utf-8", files.page());
    }

    private void file(Exchange exchange) {
        PageFiles.File file = files.find(exchange.segment("file"));
        if (file == null) {
            exchange.refuse(NOT_FOUND, NO_SUCH_FILE);
        } else {
            exchange.expectAnswer(file.text().length());
            exchange.text(file.contentType(), file.text());
        }
    }
}
