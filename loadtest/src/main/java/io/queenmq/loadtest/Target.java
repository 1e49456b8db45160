package io.queenmq.loadtest;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;

/** What is measured: the broker, and where it is on this machine its processes and its database. */
record Target(URI url, Optional<String> jdbcUrl, Cpu cpu) {
    static final String LEASE_OF_A_MINUTE = "{\"leaseTime\":60}";

    private static final Duration PATIENCE = Duration.ofSeconds(30);

    /** One request on a loop of its own, for set-up. */
    String call(String method, String path, String body) {
        try (EventLoop loop = new EventLoop()) {
            HttpConnection connection =
                    new HttpConnection(loop, new InetSocketAddress(url.getHost(), url.getPort()));
            Answer answer = new Answer();
            Bytes bytes = new Bytes(body.length() + 1).add(body);
            connection.send(method, path, body.isEmpty() ? null : bytes, answer);
            long until = System.nanoTime() + PATIENCE.toNanos();
            loop.runWhile(() -> answer.text.isEmpty() && System.nanoTime() < until);
            return answer.text.orElseThrow(
                    () -> new IllegalStateException(method + " " + path + ": no answer"));
        }
    }

    /** Creates the queue, so that no figure holds its creation. */
    void configure(String queue) {
        configure(queue, LEASE_OF_A_MINUTE);
    }

    /**
     * @param options as in the body of a configure
     */
    void configure(String queue, String options) {
        String answer =
                call(
                        "POST",
                        "/api/v1/configure",
                        "{\"queue\":\"" + queue + "\",\"options\":" + options + "}");
        if (!answer.startsWith("200 ")) {
            throw new IllegalStateException("configure answered " + answer);
        }
    }

    private static final class Answer implements HttpConnection.Exchange {
        private Optional<String> text = Optional.empty();

        @Override
        public void answered(int status, byte[] body, int from, int to) {
            text =
                    Optional.of(
                            status
                                    + " "
                                    + new String(body, from, to - from, StandardCharsets.UTF_8));
        }

        @Override
        public void broken(IOException cause) {
            text = Optional.of("nothing: " + cause.getMessage());
        }
    }
}
