package io.queenmq.http;

import io.queenmq.testkit.Http;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * For every route what a tenant may try who has heard of another's things. A route without a line
 * here, and that is not of the whole cell, fails the test: whoever adds one says how it is tried.
 */
final class IsolationProbes {
    /** Routes that belong to no tenant: a proxy never lets one there. */
    private static final Pattern OF_THE_CELL =
            Pattern.compile(
                    "(GET|HEAD|POST|DELETE)"
                            + " (/api/v1/system/.*|/api/v1/stats/refresh|/internal/.*|/metrics.*"
                            + "|/health.*|/livez|/auth/.*|/status|/api/v1/status"
                            + "|/api/v1/status/buffers|/|/openapi.*|/api/v1/analytics/"
                            + "(system-metrics|worker-metrics|postgres-stats))");

    /** Names of things, as somebody may have heard of them; all of one length with another's. */
    record Names(
            String queue,
            String partition,
            String partitionId,
            String transactionId,
            String leaseId,
            String group,
            String letter,
            String timerKey,
            String key,
            String trace) {

        /** The same text with marks in the place of what it says again of these names. */
        String masked(String text) {
            return text.replace(Http.encode(queue), "<queue>")
                    .replace(queue, "<queue>")
                    .replace(partition, "<partition>")
                    .replace(partitionId, "<partitionId>")
                    .replace(transactionId, "<transactionId>")
                    .replace(leaseId, "<leaseId>")
                    .replace(group, "<group>")
                    .replace(letter, "<letter>")
                    .replace(timerKey, "<timerKey>")
                    .replace(key, "<key>")
                    .replace(trace, "<trace>");
        }
    }

    /** A request; what stands in braces is replaced by names. */
    record Probe(String method, String path, String body) {
        String path(Names names) {
            return filled(path, names);
        }

        String body(Names names) {
            return filled(body, names);
        }

        private static String filled(String text, Names names) {
            return text.replace("{queue}", names.queue())
                    .replace("{partition}", names.partition())
                    .replace("{partitionId}", names.partitionId())
                    .replace("{transactionId}", names.transactionId())
                    .replace("{leaseId}", names.leaseId())
                    .replace("{group}", names.group())
                    .replace("{letter}", names.letter())
                    .replace("{timerKey}", names.timerKey())
                    .replace("{key}", names.key())
                    .replace("{trace}", names.trace());
        }

        /** Whether it names something by a number, and not by a name that anybody may give. */
        boolean goesByNumber() {
            return (path + body).matches("(?s).*\\{(partitionId|leaseId|letter)}.*");
        }
    }

    private static final String MESSAGE = "/api/v1/messages/{partitionId}/{transactionId}";
    private static final String GROUP = "/api/v1/consumer-groups/{group}";
    private static final String ACK =
            "{\"type\":\"ack\",\"transactionId\":\"{transactionId}\",\"partitionId\":"
                    + "\"{partitionId}\",\"consumerGroup\":\"{group}\"";
    private static final String PUSH =
            "\"queue\":\"{queue}\",\"partition\":\"{partition}\",\"transactionId\":"
                    + "\"{transactionId}\",\"payload\":1";

    private final Map<String, List<Probe>> probes = new LinkedHashMap<>();

    IsolationProbes() {
        messagePlane();
        keysAndTimers();
        resources();
        messagesAndGroups();
        analytics();
    }

    /** Of a route as it is registered; empty = it belongs to no tenant. */
    List<Probe> of(String method, String pattern) {
        List<Probe> found = probes.get(method + " " + pattern);
        if (found != null) {
            return found;
        }
        if (OF_THE_CELL.matcher(method + " " + pattern).matches()) {
            return List.of();
        }
        throw new AssertionError(
                "nobody says how another tenant is tried at " + method + " " + pattern);
    }

    private void add(String method, String pattern, String path, String... bodies) {
        List<String> all = bodies.length == 0 ? List.of("") : List.of(bodies);
        probes.put(
                method + " " + pattern,
                all.stream().map(body -> new Probe(method, path, body)).toList());
    }

    private void read(String pattern, String path) {
        add("GET", pattern, path);
        add("HEAD", pattern, path);
    }

    private void messagePlane() {
        add("POST", "/api/v1/push", "/api/v1/push", "{\"items\":[{" + PUSH + "}]}");
        add(
                "GET",
                "/api/v1/pop/queue/:queue",
                "/api/v1/pop/queue/{queue}?consumerGroup={group}&subscriptionMode=all");
        add(
                "GET",
                "/api/v1/pop/queue/:queue/partition/:partition",
                "/api/v1/pop/queue/{queue}/partition/{partition}");
        add("GET", "/api/v1/pop", "/api/v1/pop?namespace={queue}&subscriptionMode=all");
        String ack =
                "\"transactionId\":\"{transactionId}\",\"partitionId\":\"{partitionId}\","
                        + "\"status\":\"failed\"";
        add(
                "POST",
                "/api/v1/ack",
                "/api/v1/ack",
                "{" + ack + ",\"consumerGroup\":\"{group}\",\"leaseId\":\"{leaseId}\"}",
                "{" + ack + ",\"consumerGroup\":\"{group}\"}",
                "{" + ack + "}");
        add(
                "POST",
                "/api/v1/ack/batch",
                "/api/v1/ack/batch",
                "{\"consumerGroup\":\"{group}\",\"acknowledgments\":[{"
                        + ack
                        + ",\"leaseId\":\"{leaseId}\"},{"
                        + ack
                        + "}]}");
        add(
                "POST",
                "/api/v1/lease/:leaseId/extend",
                "/api/v1/lease/{leaseId}/extend",
                "{\"seconds\":600}");
        add(
                "POST",
                "/api/v1/transaction",
                "/api/v1/transaction",
                "{\"operations\":[" + ACK + ",\"leaseId\":\"{leaseId}\"}]}",
                "{\"operations\":["
                        + ACK
                        + "}],\"requiredLeases\":[\"{leaseId}\"],\"kv\":[{\"op\":\"get\","
                        + "\"ns\":\"shared\",\"key\":\"{key}\"}]}",
                "{\"operations\":[{\"type\":\"push\",\"items\":[{" + PUSH + "}]}]}");
        add(
                "POST",
                "/api/v1/fetch",
                "/api/v1/fetch",
                "{\"entries\":[{\"queue\":\"{queue}\",\"partition\":\"{partition}\","
                        + "\"offset\":0}]}");
        add("POST", "/api/v1/configure", "/api/v1/configure", "{\"queue\":\"{queue}\"}");
        add(
                "POST",
                "/api/v1/partitions/changed",
                "/api/v1/partitions/changed",
                "{\"entries\":[{\"queue\":\"{queue}\"}]}",
                "{\"entries\":[{\"queue\":\"{queue}\",\"since\":\"2000-01-01T00:00:00Z\"}]}");
    }

    private void keysAndTimers() {
        add(
                "POST",
                "/api/v1/kv",
                "/api/v1/kv",
                "{\"operations\":[{\"op\":\"get\",\"ns\":\"shared\",\"key\":\"{key}\"}]}",
                "{\"operations\":[{\"op\":\"getPrefix\",\"ns\":\"shared\",\"prefix\":\"{key}\"}]}",
                "{\"operations\":[{\"op\":\"put\",\"ns\":\"shared\",\"key\":\"{key}\","
                        + "\"value\":2,\"forever\":true}]}",
                "{\"operations\":[{\"op\":\"delete\",\"ns\":\"shared\",\"key\":\"{key}\"}]}");
        read("/api/v1/kv/:ns/*key", "/api/v1/kv/shared/{key}");
        add(
                "PUT",
                "/api/v1/kv/:ns/*key",
                "/api/v1/kv/shared/{key}",
                "{\"value\":2,\"forever\":true}");
        add("DELETE", "/api/v1/kv/:ns/*key", "/api/v1/kv/shared/{key}");
        add(
                "POST",
                "/api/v1/locks",
                "/api/v1/locks",
                "{\"operations\":[{\"op\":\"get\",\"name\":\"{key}\"}]}",
                "{\"operations\":[{\"op\":\"acquire\",\"name\":\"{key}\",\"owner\":\"b\","
                        + "\"ttlSeconds\":30}]}");
        read("/api/v1/resources/kv/namespaces", "/api/v1/resources/kv/namespaces");
        add(
                "POST",
                "/api/v1/resources/kv/list",
                "/api/v1/resources/kv/list",
                "{\"namespace\":\"shared\",\"prefix\":\"{key}\"}",
                "{\"namespace\":\"shared\"}");
        add(
                "POST",
                "/api/v1/timers",
                "/api/v1/timers",
                "{\"operations\":[{\"op\":\"cancel\",\"queue\":\"{queue}\",\"timerKey\":"
                        + "\"{timerKey}\"}]}",
                "{\"operations\":[{\"op\":\"schedule\",\"queue\":\"{queue}\",\"timerKey\":"
                        + "\"{timerKey}\",\"delaySeconds\":3600,\"payload\":2}]}");
        add("DELETE", "/api/v1/timers/:queue/*timerKey", "/api/v1/timers/{queue}/{timerKey}");
        read("/api/v1/timers/:queue/*timerKey", "/api/v1/timers/{queue}/{timerKey}");
        read("/api/v1/timers/:queue", "/api/v1/timers/{queue}");
    }

    private void resources() {
        String queues = "/api/v1/resources/queues";
        read("/api/v1/resources/overview", "/api/v1/resources/overview");
        read(queues, queues + "?search={queue}");
        read(queues + "/:queue", queues + "/{queue}");
        read(queues + "/", queues + "/");
        read(queues + "/:queue/depth", queues + "/{queue}/depth?group={group}");
        add("DELETE", queues + "/:queue", queues + "/{queue}");
        add("DELETE", queues + "/", queues + "/");
        add("DELETE", "/api/v1/resources/tenant", "/api/v1/resources/tenant");
        read("/api/v1/resources/namespaces", "/api/v1/resources/namespaces");
        read("/api/v1/resources/tasks", "/api/v1/resources/tasks");
        read("/api/v1/status/queues", "/api/v1/status/queues?queue={queue}");
        read("/api/v1/status/queues/:queue", "/api/v1/status/queues/{queue}");
    }

    private void messagesAndGroups() {
        String route = "/api/v1/messages/:partitionId/:transactionId";
        read("/api/v1/messages", "/api/v1/messages?queue={queue}&partition={partition}");
        read(route, MESSAGE);
        add("DELETE", route, MESSAGE);
        add("POST", route + "/retry", MESSAGE + "/retry");
        read("/api/v1/dlq", "/api/v1/dlq?queue={queue}&consumerGroup={group}");
        add("DELETE", "/api/v1/dlq", "/api/v1/dlq?queue={queue}");
        add("POST", "/api/v1/dlq/replay", "/api/v1/dlq/replay", "{\"queue\":\"{queue}\"}");
        add(
                "POST",
                "/api/v1/dlq/:id/replay",
                "/api/v1/dlq/{letter}/replay",
                "",
                "{\"queue\":\"x\"}");
        String group = "/api/v1/consumer-groups/:group";
        String seek = "/queues/{queue}/seek";
        read("/api/v1/consumer-groups", "/api/v1/consumer-groups");
        read("/api/v1/consumer-groups/lagging", "/api/v1/consumer-groups/lagging?minLagSeconds=0");
        read(group, GROUP);
        add(
                "POST",
                group + "/queues/:queue/seek",
                GROUP + seek,
                "{\"toBeginning\":true}",
                "{\"toEnd\":true}");
        add(
                "POST",
                group + "/queues/:queue/partitions/:partition/seek",
                GROUP + "/queues/{queue}/partitions/{partition}/seek",
                "{\"toBeginning\":true}",
                "{\"offset\":1}");
        add(
                "POST",
                group + "/subscription",
                GROUP + "/subscription",
                "{\"subscriptionTimestamp\":\"2000-01-01T00:00:00Z\"}");
        add("DELETE", group, GROUP);
        add("DELETE", group + "/queues/:queue", GROUP + "/queues/{queue}");
        add(
                "POST",
                "/api/v1/traces",
                "/api/v1/traces",
                "{\"transactionId\":\"{transactionId}\",\"partitionId\":\"{partitionId}\","
                        + "\"data\":1,\"traceNames\":[\"{trace}\"]}");
        read("/api/v1/traces/names", "/api/v1/traces/names");
        read("/api/v1/traces/by-name/:name", "/api/v1/traces/by-name/{trace}");
        read(
                "/api/v1/traces/:partitionId/:transactionId",
                "/api/v1/traces/{partitionId}/{transactionId}");
    }

    private void analytics() {
        String analytics = "/api/v1/analytics";
        for (String of : List.of("queue-lag", "queue-ops", "queue-parked-replicas")) {
            read(analytics + "/" + of, analytics + "/" + of + "?queue={queue}");
        }
        read(analytics + "/retention", analytics + "/retention?queue={queue}&groupBy=queue");
        read(analytics + "/workload", analytics + "/workload?groupBy=queue&queue={queue}");
        read(analytics + "/dlq-signatures", analytics + "/dlq-signatures?queue={queue}");
        read(analytics + "/partition-liveness", analytics + "/partition-liveness?queue={queue}");
        read("/api/v1/status/analytics", "/api/v1/status/analytics?queue={queue}");
    }
}
