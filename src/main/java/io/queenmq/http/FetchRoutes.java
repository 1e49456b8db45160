package io.queenmq.http;

import io.queenmq.access.Level;
import io.queenmq.cipher.PayloadCipher;
import io.queenmq.fetch.Fetch;
import io.queenmq.fetch.FetchClient;
import io.queenmq.fetch.FetchRequest;
import io.queenmq.fetch.Fetched;
import io.queenmq.web.Connection;
import io.queenmq.web.Exchange;
import io.queenmq.web.Router;
import java.util.List;

/** {@code POST /api/v1/fetch}. */
final class FetchRoutes {
    private final Fetch fetch;
    private final PayloadCipher cipher;

    FetchRoutes(Fetch fetch, PayloadCipher cipher) {
        this.fetch = fetch;
        this.cipher = cipher;
    }

    void addTo(Router.Builder routes) {
        routes.route(Level.READ_ONLY, "POST", "/api/v1/fetch", this::fetch);
    }

    private void fetch(Exchange exchange) {
        FetchRequest request = FetchJson.read(exchange.caller().tenant(), exchange.body());
        Connection connection = exchange.connection();
        List<Fetched> fetched =
                request.entries().isEmpty() ? List.of() : fetch.fetch(request, client(exchange));
        if (!connection.isGone()) {
            exchange.ok(FetchJson.write(request, fetched, cipher));
        }
    }

    private static FetchClient client(Exchange exchange) {
        Connection connection = exchange.connection();
        return new FetchClient() {
            @Override
            public boolean isGone() {
                return connection.isGone();
            }

            @Override
            public void onGone(Runnable action) {
                connection.onGone(action);
            }

            @Override
            public void expectAnswer(long messages, long bytes) {
                exchange.expectAnswer(FetchJson.size(messages, bytes));
            }
        };
    }
}
