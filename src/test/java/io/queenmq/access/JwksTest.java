package io.queenmq.access;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;

import com.sun.net.httpserver.HttpServer;
import io.queenmq.AccessEnvironment;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.QueenException;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.LogCapture;
import io.queenmq.testkit.TokenKey;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Keys of a server that rotates them, withdraws them, answers nonsense, or is away. */
class JwksTest {
    private static final String ADMIN = "{\"role\":\"admin\"}";
    private static final TokenKey FIRST = TokenKey.rsa(2_048);
    private static final TokenKey SECOND = TokenKey.ed25519();
    private static final TokenKey SHORT = TokenKey.rsa(1_024);
    private static final String TAKEN = "taken";
    private static final String UNKNOWN = "Unknown key ID";

    private final Metrics metrics = new Metrics();
    private final MovableClock clock = new MovableClock();
    private final AtomicInteger fetches = new AtomicInteger();
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final HttpServer server;
    private volatile int status = 200;
    private volatile String document = "";

    /** How long an answer takes, on the clock of the test. */
    private volatile long delaySeconds;

    /** Where an answer waits, if the test wants that. */
    private volatile CountDownLatch held = new CountDownLatch(0);

    JwksTest() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(threads);
        server.createContext(
                "/keys",
                exchange -> {
                    fetches.incrementAndGet();
                    byte[] body = document.getBytes(StandardCharsets.UTF_8);
                    try (exchange) {
                        held.await();
                        clock.forward(delaySeconds);
                        exchange.getResponseHeaders().add("Location", "/elsewhere");
                        exchange.sendResponseHeaders(status, body.length == 0 ? -1 : body.length);
                        exchange.getResponseBody().write(body);
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                });
        server.createContext(
                "/elsewhere",
                exchange -> {
                    try (exchange) {
                        byte[] body = set(SECOND.jwk("two")).getBytes(StandardCharsets.UTF_8);
                        exchange.sendResponseHeaders(200, body.length);
                        exchange.getResponseBody().write(body);
                    }
                });
        server.start();
    }

    @AfterEach
    void stop() {
        held.countDown();
        server.stop(0);
        threads.shutdownNow();
        metrics.close();
    }

    private static String set(String... keys) {
        return "{\"keys\":[" + String.join(",", keys) + "]}";
    }

    private String url() {
        return "http://127.0.0.1:" + server.getAddress().getPort() + "/keys";
    }

    private Access access(String... more) {
        List<String> pairs =
                new ArrayList<>(List.of("JWT_ALGORITHM", "auto", "JWT_JWKS_URL", url()));
        pairs.addAll(List.of(more));
        return Access.of(AccessEnvironment.of(pairs.toArray(String[]::new)), metrics, clock);
    }

    private static String verdict(Access access, String token) {
        try {
            access.admit(Level.ADMIN, "/x", token);
            return TAKEN;
        } catch (QueenException e) {
            return e.detail();
        }
    }

    @Test
    @Contract("access-10")
    void keysAreThereBeforeTheFirstRequestAndAreFoundByName() {
        document = set(FIRST.jwk("one"), SECOND.jwk("two"));
        try (Access access = access()) {
            assertEquals(1, fetches.get());
            assertEquals(2, metrics.value("queen_access_keys"));
            assertEquals(TAKEN, verdict(access, FIRST.token("RS256", "one", ADMIN)));
            assertEquals(TAKEN, verdict(access, SECOND.token("EdDSA", "two", ADMIN)));
            assertEquals(TAKEN, verdict(access, FIRST.token("RS512", "one", ADMIN)));
            // Without a name the first of its kind.
            assertEquals(TAKEN, verdict(access, SECOND.token("EdDSA", ADMIN)));
            assertEquals(TAKEN, verdict(access, FIRST.token("RS256", "", ADMIN)));
            assertEquals(
                    "Invalid token signature",
                    verdict(access, TokenKey.ed25519().token("EdDSA", "two", ADMIN)));
            assertEquals(1, fetches.get());
        }
    }

    @Test
    @Contract("access-10")
    void aNewKeyIsTakenAtItsFirstTokenByOneFetchForAllWhoAsk()
            throws InterruptedException, ExecutionException {
        document = set(FIRST.jwk("one"));
        try (Access access = access()) {
            document = set(SECOND.jwk("two"));
            clock.forward(5);
            held = new CountDownLatch(1);
            String token = SECOND.token("EdDSA", "two", ADMIN);
            List<Future<String>> verdicts = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                verdicts.add(threads.submit(() -> verdict(access, token)));
            }
            held.countDown();
            for (Future<String> verdict : verdicts) {
                assertEquals(TAKEN, verdict.get());
            }
            assertEquals(2, fetches.get());
        }
    }

    @Test
    @Contract("access-10")
    void strangersDoNotMakeItFetchMoreThanOnceInFiveSeconds() {
        document = set(FIRST.jwk("one"));
        try (Access access = access()) {
            for (int second = 0; second < 12; second++) {
                for (int i = 0; i < 3; i++) {
                    String token = SECOND.token("EdDSA", "none-" + i, ADMIN);
                    assertEquals(UNKNOWN, verdict(access, token));
                }
                clock.forward(1);
            }
            assertEquals(3, fetches.get());
        }
    }

    /** Else everybody who waited for a fetch in vain would wait for one of his own. */
    @Test
    @Contract("access-10")
    void aServerThatTakesItsTimeIsLeftAloneForAsLong() {
        document = set(FIRST.jwk("one"));
        try (Access access = access()) {
            clock.forward(5);
            status = 503;
            delaySeconds = 60;
            for (int i = 0; i < 3; i++) {
                assertEquals(UNKNOWN, verdict(access, SECOND.token("EdDSA", "none-" + i, ADMIN)));
            }
            assertEquals(2, fetches.get());
        }
    }

    @Test
    @Contract("access-10")
    void aWithdrawnKeyIsRefusedFromTheNextFetchOn() {
        document = set(FIRST.jwk("one"), SECOND.jwk("two"));
        try (Access access = access("JWT_JWKS_REFRESH_INTERVAL", "60")) {
            String token = FIRST.token("RS256", "one", ADMIN);
            assertEquals(TAKEN, verdict(access, token));
            document = set(SECOND.jwk("two"));
            clock.forward(60);
            assertEquals(UNKNOWN, verdict(access, SECOND.token("EdDSA", "three", ADMIN)));
            assertEquals(UNKNOWN, verdict(access, token));
        }
    }

    @Test
    @Contract("access-10")
    void keysAreFetchedFromTimeToTimeAndSoonerAfterAFailure() {
        document = set(FIRST.jwk("one"));
        URI url = URI.create(url());
        AccessConfig.KeySet config =
                new AccessConfig.KeySet(url, Duration.ofSeconds(60), Duration.ofSeconds(5));
        try (Jwks jwks = new Jwks(config, metrics, clock)) {
            Keys keys = jwks.now();
            clock.forward(59);
            jwks.fetchIfDue();
            assertEquals(1, fetches.get());
            clock.forward(1);
            jwks.fetchIfDue();
            assertEquals(2, fetches.get());
            // The same keys stay the same object, and verdicts on tokens with them.
            assertSame(keys, jwks.now());
            status = 503;
            clock.forward(60);
            jwks.fetchIfDue();
            document = set(FIRST.jwk("one"), SECOND.jwk("two"));
            status = 200;
            jwks.fetchIfDue();
            assertEquals(4, fetches.get());
            assertEquals(2, jwks.now().size());
        }
    }

    /** Whatever the server answers but keys, those of before go on. */
    @Test
    @Contract("access-11")
    void anOutageOfTheServerIsNoneOfOurs() {
        document = set(FIRST.jwk("one"));
        try (Access access = access("JWT_JWKS_TIMEOUT_MS", "500")) {
            String old = FIRST.token("RS256", "one", ADMIN);
            String fresh = SECOND.token("EdDSA", "two", ADMIN);
            assertEquals(TAKEN, verdict(access, old));
            String good = set(FIRST.jwk("one"), SECOND.jwk("two"));
            List<Runnable> troubles =
                    List.of(
                            () -> status = 503,
                            () -> status = 302,
                            () -> document = "",
                            () -> document = "<html>",
                            () -> document = "{}",
                            () -> document = set(),
                            () -> document = set(SHORT.jwk("two")),
                            () -> document = good + " ".repeat(1 << 20),
                            () -> held = new CountDownLatch(1));
            int failed = 0;
            for (Runnable trouble : troubles) {
                status = 200;
                document = good;
                trouble.run();
                clock.forward(800);
                assertEquals(UNKNOWN, verdict(access, fresh));
                assertEquals(TAKEN, verdict(access, old));
                assertEquals(++failed, metrics.value("queen_access_key_fetch_failures_total"));
            }
            assertEquals(800.0 * failed, metrics.value("queen_access_keys_age_seconds"));
            held.countDown();
            status = 200;
            document = good;
            clock.forward(5);
            assertEquals(TAKEN, verdict(access, fresh));
            assertEquals(0, metrics.value("queen_access_keys_age_seconds"));
        }
    }

    @Test
    @Contract("access-11")
    void keysDoNotOutliveTheirServerForEver() {
        document = set(FIRST.jwk("one"));
        try (Access access = access("JWT_JWKS_REFRESH_INTERVAL", "600")) {
            String token = FIRST.token("RS256", "one", ADMIN);
            assertEquals(TAKEN, verdict(access, token));
            status = 503;
            clock.forward(600 + Duration.ofHours(24).toSeconds());
            assertEquals(TAKEN, verdict(access, token));
            clock.forward(1);
            assertEquals(UNKNOWN, verdict(access, token));
            status = 200;
            clock.forward(5);
            assertEquals(TAKEN, verdict(access, token));
        }
    }

    @Test
    void startsWithoutItsServerAndFindsItLater() {
        status = 503;
        try (Access access = access()) {
            String token = FIRST.token("RS256", "one", ADMIN);
            assertEquals(UNKNOWN, verdict(access, token));
            status = 200;
            document = set(FIRST.jwk("one"));
            clock.forward(5);
            assertEquals(TAKEN, verdict(access, token));
        }
    }

    @Test
    @Contract("access-6")
    void passesOverWhatIsNoKeyForSignatures() {
        TokenKey secret =
                TokenKey.secret("published by mistake: a secret that all the world can read");
        String encryption = SECOND.jwk("enc").replace("{", "{\"use\":\"enc\",");
        String narrow = FIRST.jwk("narrow").replace("{", "{\"alg\":\"RS512\",");
        document =
                set(
                        secret.jwk("oct"),
                        SHORT.jwk("short"),
                        encryption,
                        "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"cut\",\"x\":\"AAAA\"}",
                        "{\"kty\":\"OKP\",\"crv\":\"X25519\",\"kid\":\"x\",\"x\":\"AAAA\"}",
                        "{\"kty\":\"new\",\"kid\":\"new\"}",
                        "{\"kid\":\"nothing\"}",
                        "null",
                        "7",
                        narrow);
        try (Access access =
                access("JWT_SECRET", "the secret of this broker, which is not published")) {
            assertEquals(1, metrics.value("queen_access_keys"));
            assertEquals(
                    "Invalid token signature",
                    verdict(access, secret.token("HS256", "oct", ADMIN)));
            assertEquals(UNKNOWN, verdict(access, SHORT.token("RS256", "short", ADMIN)));
            assertEquals(UNKNOWN, verdict(access, SECOND.token("EdDSA", "enc", ADMIN)));
            assertEquals(TAKEN, verdict(access, FIRST.token("RS512", "narrow", ADMIN)));
            assertEquals(UNKNOWN, verdict(access, FIRST.token("RS256", "narrow", ADMIN)));
        }
    }

    /** There are servers that tell their callers apart by it. */
    @Test
    void theLogSaysWhereKeysComeFromWithoutAQuery() {
        status = 500;
        try (LogCapture log = new LogCapture();
                Access access = access("JWT_JWKS_URL", url() + "?token=hush")) {
            document = set(FIRST.jwk("one"));
            status = 200;
            clock.forward(5);
            assertEquals(TAKEN, verdict(access, FIRST.token("RS256", "one", ADMIN)));
            assertEquals(3, log.text().split("url=" + url() + "\\s", -1).length - 1, log.text());
            assertFalse(log.text().contains("hush"), log.text());
        }
    }
}
