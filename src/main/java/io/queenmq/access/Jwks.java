package io.queenmq.access;

import io.micrometer.core.instrument.Counter;
import io.queenmq.metrics.Metrics;
import io.queenmq.runtime.Clock;
import io.queenmq.runtime.Loop;
import java.io.IOException;
import java.lang.System.Logger;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.text.ParseException;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The keys that a server publishes: fetched at start, from time to time, and when a token names one
 * that is not there. What cannot be fetched or holds no key replaces nothing, so that an outage of
 * that server is none of ours, for {@link #OUTAGE_MAX}. Any thread.
 */
final class Jwks implements AutoCloseable {
    private static final Logger LOG = System.getLogger(Jwks.class.getName());

    private static final int BYTES_MAX = 1 << 20;
    private static final int OK = 200;

    /**
     * From the end of a fetch to the next for the sake of a token: tokens are sent by strangers,
     * and who waited for one that took long must not begin another.
     */
    private static final Duration MISS_PAUSE = Duration.ofSeconds(5);

    /** How often it is looked whether a fetch is due; after one that failed it is. */
    private static final Duration LOOK_PAUSE = Duration.ofSeconds(30);

    private static final Duration LOG_PAUSE = Duration.ofMinutes(1);

    /** Beyond their refresh: then a withdrawn key must not go on for want of a server. */
    static final Duration OUTAGE_MAX = Duration.ofHours(24);

    private final AccessConfig.KeySet config;

    /** Where they are, for the log: without a query, which may be a secret. */
    private final String address;

    private final Clock clock;
    private final Counter failures;
    private final HttpClient client;
    private final Loop loop;

    /** Held while keys are fetched; guards what follows up to the published set. */
    private final ReentrantLock fetching = new ReentrantLock();

    private boolean tried;
    private long triedNanos;
    private boolean failed;
    private long loggedNanos;
    private byte[] document = {};

    private record Published(Keys keys, long nanos) {}

    private volatile Published published;

    Jwks(AccessConfig.KeySet config, Metrics metrics, Clock clock) {
        this.config = config;
        this.address = config.url().toString().replaceFirst("[?#].*", "");
        this.clock = clock;
        this.failures =
                metrics.counter(
                        "queen_access_key_fetch_failures_total",
                        "Fetches of the published keys that brought none.");
        this.client =
                HttpClient.newBuilder()
                        .connectTimeout(config.timeout())
                        .followRedirects(HttpClient.Redirect.NEVER)
                        .build();
        this.published = new Published(Keys.NONE, clock.nanos());
        this.loggedNanos = clock.nanos() - LOG_PAUSE.toNanos();
        metrics.gauge("queen_access_keys", "Published keys in use.", () -> now().size());
        metrics.gauge(
                "queen_access_keys_age_seconds",
                "Time since the published keys were fetched, or since the start.",
                () -> age(published).toMillis() / 1e3);
        if (config.url().getScheme().equals("http")) {
            LOG.log(
                    Logger.Level.WARNING,
                    "keys of tokens come over http: whoever is on the way can forge them url="
                            + address);
        }
        CountDownLatch looked = new CountDownLatch(1);
        this.loop =
                Loop.start(
                        "access-keys",
                        LOOK_PAUSE,
                        () -> {
                            try {
                                fetchIfDue();
                            } finally {
                                looked.countDown();
                            }
                        },
                        metrics,
                        clock);
        try {
            looked.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private Duration age(Published set) {
        return Duration.ofNanos(clock.nanos() - set.nanos);
    }

    /** The keys as last fetched: the same object as long as they are the same keys. */
    Keys now() {
        Published set = published;
        return age(set).compareTo(config.refresh().plus(OUTAGE_MAX)) > 0 ? Keys.NONE : set.keys;
    }

    /**
     * The keys after a look at the server, for one that was not among {@code missed}. Of many who
     * ask at once one fetches and the others wait for it.
     */
    Keys renewed(Keys missed) {
        fetching.lock();
        try {
            if (now() == missed && hasPassed(MISS_PAUSE, triedNanos)) {
                fetch();
            }
            return now();
        } finally {
            fetching.unlock();
        }
    }

    /** What the loop does. */
    void fetchIfDue() {
        fetching.lock();
        try {
            if (!tried || failed || hasPassed(config.refresh(), triedNanos)) {
                fetch();
            }
        } finally {
            fetching.unlock();
        }
    }

    private boolean hasPassed(Duration time, long sinceNanos) {
        return clock.nanos() - sinceNanos >= time.toNanos();
    }

    private void fetch() {
        tried = true;
        try {
            byte[] found = get();
            // The same keys stay the same object: verdicts on tokens hold as long as it does.
            Keys keys =
                    Arrays.equals(found, document)
                            ? published.keys
                            : Keys.ofSet(new String(found, StandardCharsets.UTF_8));
            if (keys.size() == 0) {
                throw new IOException("no usable key in it");
            }
            document = found;
            published = new Published(keys, clock.nanos());
            if (failed) {
                LOG.log(Logger.Level.INFO, "keys of tokens are fetched again url=" + address);
            }
            failed = false;
        } catch (IOException | ParseException e) {
            failed(e.toString());
        } catch (TimeoutException e) {
            failed("no answer within " + config.timeout().toMillis() + " ms");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            triedNanos = clock.nanos();
        }
    }

    private void failed(String error) {
        failed = true;
        failures.increment();
        if (hasPassed(LOG_PAUSE, loggedNanos)) {
            loggedNanos = clock.nanos();
            LOG.log(
                    Logger.Level.WARNING,
                    "keys of tokens cannot be fetched, those of before go on url=%s keys=%d age_s=%d error=%s"
                            .formatted(address, now().size(), age(published).toSeconds(), error));
        }
    }

    private byte[] get() throws IOException, TimeoutException, InterruptedException {
        HttpRequest request =
                HttpRequest.newBuilder(config.url())
                        .timeout(config.timeout())
                        .header("Accept", "application/json")
                        .build();
        // The client's own time-out ends with the headers.
        CompletableFuture<HttpResponse<byte[]>> answer =
                client.sendAsync(
                        request, BodyHandlers.limiting(BodyHandlers.ofByteArray(), BYTES_MAX));
        try {
            HttpResponse<byte[]> response =
                    answer.get(config.timeout().toMillis(), TimeUnit.MILLISECONDS);
            if (response.statusCode() != OK) {
                throw new IOException("status " + response.statusCode());
            }
            return response.body();
        } catch (ExecutionException e) {
            throw new IOException(e.getCause());
        } finally {
            answer.cancel(true);
        }
    }

    @Override
    public void close() {
        loop.close();
        client.shutdownNow();
    }
}
