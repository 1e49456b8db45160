package io.queenmq.web;

import com.sun.management.UnixOperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.time.Duration;

/**
 * How the HTTP server listens, and what it holds at most.
 *
 * @param host address to bind
 * @param port port to bind; 0 = any free one
 * @param bodyBytesMax longest request body
 * @param bodyTime how long the rest of a request may take once it has begun, and one second more
 *     per MiB of body
 * @param sendTime how long an answer may take to leave, and one second more per MiB of it
 * @param keepAlive how long an idle connection stays open; longer than that of a balancer in front
 * @param stopGrace how long requests in flight may take to end when the server stops; above the
 *     deadline of the slowest
 * @param requestsMax requests with a body that are worked on at once
 * @param bytesMax bytes of bodies and answers held at once, at least {@code bodyBytesMax}
 * @param admissionWait how long a request waits for room before it is refused
 * @param connectionsMax connections at once, as many as the limit of open files leaves room for;
 *     further ones wait to be accepted
 * @param tenancy whether {@code x-queen-tenant} names the owner of a request
 */
public record WebConfig(
        String host,
        int port,
        int bodyBytesMax,
        Duration bodyTime,
        Duration sendTime,
        Duration keepAlive,
        Duration stopGrace,
        int requestsMax,
        long bytesMax,
        Duration admissionWait,
        int connectionsMax,
        boolean tenancy) {
    private static final int MIB = 1 << 20;
    private static final int CONNECTIONS_MAX = 50_000;

    /** Files of a broker that are no connections: jars, logs, pipes to programs that it starts. */
    private static final int OTHER_FILES = 256;

    private static final long UNKNOWN_LIMIT = 1_024;

    public WebConfig {
        if (bodyBytesMax < 1 || bodyBytesMax > 1_024 * MIB) {
            throw new IllegalArgumentException(
                    "bodyBytesMax must be 1 to " + 1_024 * MIB + ", got " + bodyBytesMax);
        }
        if (bytesMax < bodyBytesMax) {
            throw new IllegalArgumentException(
                    "bytesMax must be at least bodyBytesMax " + bodyBytesMax + ", got " + bytesMax);
        }
        if (requestsMax < 1 || connectionsMax < 1) {
            throw new IllegalArgumentException("requestsMax and connectionsMax must be at least 1");
        }
    }

    /** Everything at its default. */
    public static WebConfig defaults() {
        return of("0.0.0.0", 6632, 64 * MIB, Duration.ofMinutes(5), false);
    }

    /** What an operator sets; everything else at its default. */
    public static WebConfig of(
            String host, int port, int bodyBytesMax, Duration keepAlive, boolean tenancy) {
        return new WebConfig(
                host,
                port,
                bodyBytesMax,
                Duration.ofSeconds(30),
                Duration.ofSeconds(30),
                keepAlive,
                Duration.ofSeconds(30),
                8_192,
                Math.max(bodyBytesMax, Runtime.getRuntime().maxMemory() / 4),
                Duration.ofSeconds(5),
                connections(filesMax() - OTHER_FILES),
                tenancy);
    }

    /** The same with room for so many further files, which are not those of the listener. */
    public WebConfig besides(int files) {
        return new WebConfig(
                host,
                port,
                bodyBytesMax,
                bodyTime,
                sendTime,
                keepAlive,
                stopGrace,
                requestsMax,
                bytesMax,
                admissionWait,
                connections(filesMax() - OTHER_FILES - files),
                tenancy);
    }

    /** The server ends for good when it gets no file for a connection. */
    static int connections(long files) {
        return Math.clamp(files, 16, CONNECTIONS_MAX);
    }

    /** How many files the system lets this process have open; connections are files. */
    public static long filesMax() {
        return ManagementFactory.getOperatingSystemMXBean()
                        instanceof UnixOperatingSystemMXBean unix
                ? unix.getMaxFileDescriptorCount()
                : UNKNOWN_LIMIT;
    }
}
