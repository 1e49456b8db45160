package io.queenmq.fuzz;

import io.queenmq.fuzz.Tree.Branch;
import io.queenmq.fuzz.Tree.Raw;
import io.queenmq.fuzz.Tree.Row;
import io.queenmq.fuzz.Tree.Text;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * Requests of one client who knows the contract: they use the queues, ids and leases of what was
 * answered before. Some are then spoiled in one place or in several.
 */
final class Calls {
    /** What to do with the document of a call before it is sent. */
    private static final int SPOILED_OF_TEN = 5;

    private static final String[] OPTIONS = {
        "namespace",
        "task",
        "leaseTime",
        "retryLimit",
        "retryDelay",
        "deadLetterQueue",
        "dlqAfterMaxRetries",
        "delayedProcessing",
        "windowBuffer",
        "minPopWaitTime",
        "retentionEnabled",
        "encryptionEnabled",
        "dedupWindowSeconds",
        "priority",
        "maxSize",
        "ttl",
        "retentionSinkHold",
        "retentionSinkHoldMaxSeconds",
        "unknownOption"
    };
    private static final String[] PARAMETERS = {
        "batch",
        "partitions",
        "consumerGroup",
        "autoAck",
        "leaseSeconds",
        "subscriptionMode",
        "subscriptionFrom",
        "conflation",
        "autopilot",
        "namespace",
        "task",
        "unknown"
    };
    private static final String[] MODES = {"new", "all", "new-only", "", "odd"};
    private static final String[] FROM = {
        "now", "2026-01-01", "2026-01-01T00:00:00Z", "2026-13-45", "+999999999-12-31T23:59:59Z", ""
    };
    private static final String[] STATUSES = {
        "completed", "success", "failed", "retry", "dlq", "", "Completed", "nack"
    };
    private static final String[] BAD_PERCENTS = {
        "%", "%4", "%zz", "%ff", "%c0%80", "%00", "%ed%a0%80"
    };

    /**
     * One request.
     *
     * @param items what a push was given, as it was sent; empty where that is not known
     */
    record Call(String method, String path, byte[] body, List<Tree> items) {
        @Override
        public String toString() {
            String text = new String(body, StandardCharsets.UTF_8);
            return method + " " + path + " " + (text.length() > 2_000 ? text.length() : text);
        }
    }

    private record Popped(String transactionId, String partitionId, String leaseId, String group) {}

    private final Random random;
    private final Strange strange;
    private final String[] queues = {"a", "b.c.d", "ü/ %"};
    private final List<String> transactionIds = new ArrayList<>();
    private final List<Popped> popped = new ArrayList<>();

    Calls(Random random) {
        this.random = random;
        this.strange = new Strange(random);
    }

    /** Any call of the data routes, spoiled or not. */
    Call next() {
        return switch (random.nextInt(28)) {
            case 0, 1, 2, 3, 4, 5 -> push();
            case 6, 7, 8, 9 -> pop();
            case 10, 11 -> post("/api/v1/ack", acknowledgment(true));
            case 12, 13 -> post("/api/v1/ack/batch", acknowledgments());
            case 14 -> extend();
            case 15, 16 -> post("/api/v1/configure", configuration());
            case 17 ->
                    new Call("DELETE", "/api/v1/resources/queues/" + segment(), none(), List.of());
            case 18 -> new Call("GET", path(), none(), List.of());
            case 19 -> post(path(), new Branch().with("queue", name()));
            case 20, 21, 22 -> post("/api/v1/transaction", transaction());
            case 23, 24 -> deadLetters();
            default -> groups();
        };
    }

    /** What a pop was answered is what the next calls acknowledge. */
    void learn(Json answer) {
        for (int i = 0; i < Math.min(20, answer.size("messages")); i++) {
            Json message = answer.at("messages", i);
            popped.add(
                    new Popped(
                            message.text("transactionId"),
                            message.text("partitionId"),
                            message.text("leaseId"),
                            message.text("consumerGroup")));
        }
    }

    private static byte[] none() {
        return new byte[0];
    }

    private Call post(String path, Branch document) {
        boolean spoiled = random.nextInt(10) < SPOILED_OF_TEN;
        for (int i = spoiled ? 1 + random.nextInt(2) : 0; i > 0; i--) {
            Tree.spoil(document, random);
        }
        StringBuilder text = new StringBuilder();
        Tree.write(document, random, text);
        if (spoiled && random.nextInt(12) == 0) {
            text.append(strange.one(new String[] {"{}", "]", "x", "\0", ","}));
        }
        byte[] bytes = text.toString().getBytes(StandardCharsets.UTF_8);
        boolean broken = spoiled && random.nextInt(5) == 0;
        if (broken) {
            bytes[random.nextInt(bytes.length)] ^= (byte) (1 << random.nextInt(8));
        }
        List<Tree> items =
                !broken && document.fields().get("items") instanceof Row row
                        ? row.elements()
                        : List.of();
        return new Call("POST", path, bytes, items);
    }

    private String name() {
        return random.nextInt(10) < 8 ? strange.one(queues) : strange.anyText(1_100);
    }

    private String segment() {
        return switch (random.nextInt(20)) {
            case 0 -> strange.one(BAD_PERCENTS);
            case 1 -> "";
            case 2 -> "x".repeat(random.nextInt(1_200));
            default -> Http.encode(strange.one(queues));
        };
    }

    private String path() {
        return "/api/v1/" + strange.one(PARAMETERS) + "/" + segment();
    }

    private String partition() {
        return switch (random.nextInt(12)) {
            case 0 -> strange.anyText(1_100);
            default -> "p" + random.nextInt(3);
        };
    }

    Call push() {
        return post("/api/v1/push", new Branch().with("items", items()));
    }

    private Row items() {
        Row items = new Row();
        for (int i = random.nextInt(6); i >= 0; i--) {
            Branch item = new Branch().with("queue", name());
            if (random.nextInt(4) > 0) {
                item.with("partition", partition());
            }
            switch (random.nextInt(6)) {
                case 0 -> {}
                case 1 -> item.with("transactionId", strange.anyText(66_000));
                case 2 -> item.with("transactionId", known());
                default -> item.with("transactionId", fresh());
            }
            if (random.nextInt(4) == 0) {
                item.with("traceId", random.nextBoolean() ? fresh() : strange.anyText(40));
            }
            item.with("payload", new Raw(Tree.json(random, random.nextInt(4)).strip()));
            items.elements().add(item);
        }
        return items;
    }

    private String fresh() {
        transactionIds.add(strange.uuid().toString());
        return transactionIds.getLast();
    }

    private String known() {
        return transactionIds.isEmpty()
                ? fresh()
                : transactionIds.get(random.nextInt(transactionIds.size()));
    }

    private Call pop() {
        String path =
                switch (random.nextInt(4)) {
                    case 0 -> "/api/v1/pop";
                    case 1 -> "/api/v1/pop/queue/" + segment() + "/partition/p" + random.nextInt(3);
                    case 2 -> "/api/v1/pop/queue/" + segment() + "/partition/" + segment();
                    default -> "/api/v1/pop/queue/" + segment();
                };
        StringBuilder query = new StringBuilder();
        for (int i = random.nextInt(5); i > 0; i--) {
            String name = strange.one(PARAMETERS);
            query.append('&').append(name).append('=').append(value(name));
        }
        // A long wait is not what is looked for: the timeout is short or no number at all.
        if (random.nextInt(3) == 0) {
            query.append("&wait=true&timeout=");
            query.append(random.nextInt(8) == 0 ? strange.one(BAD_PERCENTS) : random.nextInt(60));
        }
        String text = query.isEmpty() ? "" : "?" + query.substring(1);
        return new Call("GET", path + text, none(), List.of());
    }

    private String value(String parameter) {
        if (random.nextInt(8) == 0) {
            return random.nextBoolean()
                    ? strange.one(BAD_PERCENTS)
                    : Http.encode(strange.text(1_100));
        }
        return switch (parameter) {
            case "autoAck", "conflation", "autopilot" -> random.nextInt(3) > 0 ? "true" : "false";
            case "consumerGroup" -> random.nextInt(3) > 0 ? "g" : "h";
            case "subscriptionMode" -> strange.one(MODES);
            case "subscriptionFrom" -> strange.one(FROM);
            case "namespace", "task" -> random.nextBoolean() ? "b" : "c";
            default -> random.nextBoolean() ? "" + random.nextInt(20) : strange.number();
        };
    }

    private Branch acknowledgment(boolean withGroup) {
        Branch branch = new Branch();
        if (popped.isEmpty() || random.nextInt(8) == 0) {
            branch.with("transactionId", known()).with("partitionId", strange.text(40));
        } else {
            Popped message = popped.get(random.nextInt(popped.size()));
            branch.with("transactionId", message.transactionId());
            branch.with("partitionId", message.partitionId());
            if (random.nextInt(4) > 0) {
                branch.with("leaseId", message.leaseId());
            }
            if (withGroup) {
                branch.with("consumerGroup", message.group());
            }
        }
        if (random.nextBoolean()) {
            branch.with("status", strange.one(STATUSES));
        }
        if (random.nextInt(4) == 0) {
            branch.with("error", strange.anyText(20_000));
        }
        return branch;
    }

    private Branch acknowledgments() {
        Row row = new Row();
        for (int i = random.nextInt(6); i > 0; i--) {
            row.elements().add(acknowledgment(false));
        }
        Branch branch = new Branch().with("acknowledgments", row);
        return random.nextBoolean() ? branch.with("consumerGroup", "g") : branch;
    }

    private Call extend() {
        String lease =
                popped.isEmpty() || random.nextInt(3) == 0
                        ? segment()
                        : popped.get(random.nextInt(popped.size())).leaseId();
        Branch body = new Branch();
        if (random.nextBoolean()) {
            body.with("seconds", new Raw(strange.number()));
        }
        return post("/api/v1/lease/" + lease + "/extend", body);
    }

    private Branch configuration() {
        Branch options = new Branch();
        for (int i = random.nextInt(6); i > 0; i--) {
            String option = strange.one(OPTIONS);
            options.with(
                    option,
                    switch (random.nextInt(5)) {
                        case 0 -> new Text(strange.anyText(1_100));
                        case 1 -> new Raw(random.nextBoolean() ? "true" : "false");
                        case 2 -> new Raw("" + random.nextInt(100));
                        case 3 -> new Text(strange.number());
                        default -> new Raw(strange.number());
                    });
        }
        Branch branch = new Branch().with("queue", name()).with("options", options);
        return random.nextInt(3) == 0
                ? branch.with("mode", random.nextBoolean() ? "merge" : "replace")
                : branch;
    }

    private Branch transaction() {
        Row operations = new Row();
        for (int i = random.nextInt(4); i > 0; i--) {
            if (random.nextBoolean()) {
                operations.elements().add(acknowledgment(true).with("type", "ack"));
            } else {
                Branch operation = new Branch().with("type", "push");
                operations.elements().add(operation.with("items", items()));
            }
        }
        Branch branch = new Branch().with("operations", operations);
        if (random.nextInt(3) == 0) {
            Row leases = new Row();
            leases.elements().add(new Text(popped.isEmpty() ? "x" : popped.getLast().leaseId()));
            branch.with("requiredLeases", leases);
        }
        return branch;
    }

    private Call deadLetters() {
        String message = "/api/v1/messages/" + segment() + "/" + segment();
        if (!popped.isEmpty() && random.nextInt(4) > 0) {
            Popped known = popped.get(random.nextInt(popped.size()));
            message =
                    "/api/v1/messages/"
                            + known.partitionId()
                            + "/"
                            + Http.encode(known.transactionId());
        }
        String id = random.nextBoolean() ? "" + random.nextInt(40) : segment();
        return switch (random.nextInt(7)) {
            case 0 -> new Call("DELETE", message, none(), List.of());
            case 1 -> post(message + "/retry", new Branch());
            case 2 -> new Call("DELETE", "/api/v1/dlq?queue=" + segment(), none(), List.of());
            case 3 -> post("/api/v1/dlq/replay", new Branch().with("queue", name()));
            case 4 -> post("/api/v1/dlq/" + id + "/replay", new Branch().with("queue", name()));
            default -> new Call("GET", "/api/v1/dlq" + filters(), none(), List.of());
        };
    }

    private String filters() {
        StringBuilder query = new StringBuilder("?limit=" + random.nextInt(20));
        for (String name : new String[] {"queue", "partition", "from", "to", "after", "offset"}) {
            if (random.nextInt(4) == 0) {
                String value = random.nextBoolean() ? strange.one(FROM) : strange.text(1_100);
                query.append('&').append(name).append('=').append(Http.encode(value));
            }
        }
        return query.toString();
    }

    private Call groups() {
        String group = "/api/v1/consumer-groups/" + (random.nextInt(3) > 0 ? "g" : segment());
        String queue = group + "/queues/" + segment();
        Branch seek = new Branch();
        switch (random.nextInt(5)) {
            case 0 -> seek.with("timestamp", strange.one(FROM));
            case 1 -> seek.with("offset", new Raw(strange.number()));
            case 2 -> seek.with("toBeginning", new Raw("true"));
            default -> seek.with("toEnd", new Raw("true"));
        }
        return switch (random.nextInt(5)) {
            case 0 -> post(queue + "/seek", seek);
            case 1 -> post(queue + "/partitions/p" + random.nextInt(3) + "/seek", seek);
            case 2 ->
                    post(
                            group + "/subscription",
                            new Branch().with("subscriptionTimestamp", strange.one(FROM)));
            case 3 -> new Call("DELETE", group, none(), List.of());
            default -> new Call("DELETE", queue, none(), List.of());
        };
    }
}
