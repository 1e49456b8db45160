package io.queenmq;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.SqlTree;
import io.queenmq.testkit.SqlTree.SqlFunction;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * What a broker calls is called by a test that counts what it touches among very many rows, or
 * there is a reason why it need not be. A new question is in neither, and this test says so.
 */
class PlanCoverageTest {
    /** Functions that no plan test calls, by the reason. */
    private static final Map<String, List<String>> ELSEWHERE =
            Map.of(
                    "a row by its key, or a new one",
                    List.of(
                            "register_broker",
                            "report_broker",
                            "report_queues",
                            "configure_queue",
                            "delete_queue",
                            "set_job",
                            "set_kv_quota",
                            "set_switches",
                            "order_reclaim",
                            "open_reclaim",
                            "note_reclaim",
                            "cancel_reclaim",
                            "order_purge",
                            "note_purge",
                            "note_liveness",
                            "record_usage",
                            "replay_dead_letter",
                            "release_timers",
                            "fail_timers"),
                    "a table of a dozen rows",
                    List.of(
                            "read_switches",
                            "register_jobs",
                            "job_waits",
                            "claim_job",
                            "keep_job",
                            "release_job",
                            "epoch_work",
                            "epoch_size",
                            "epoch_waits_for",
                            "build_epoch",
                            "open_epoch",
                            "seal_epochs",
                            "drop_epoch",
                            "uncounted_epoch",
                            "settle_epoch"),
                    "a table of a row per tenant",
                    List.of("read_quotas", "measure_tenant", "has_purges", "next_purge"),
                    "the first row of a table tells",
                    List.of("has_counts", "has_counted", "has_leftovers"),
                    "a step of a job, which ends after so many rows of a table in any order",
                    List.of(
                            "sweep_bundles",
                            "sweep_history",
                            "sweep_leases",
                            "drop_counts",
                            "settle_counts",
                            "sample_epoch",
                            "purge_timers",
                            "purge_queues",
                            "purge_segments",
                            "purge_others",
                            "usage_outlook",
                            "weigh_kv",
                            "weigh_timers"),
                    "the lock table",
                    List.of("end_lane_holder"),
                    "counted within an API function, or another one, that calls it",
                    List.of("append_waiting", "run_kv", "list_kv", "change_timers", "read_timers"));

    @Test
    void everyStatementOfABrokerIsCountedByAPlanTest() throws IOException {
        String tests = planTests();
        Set<String> uncounted =
                SqlTree.functions().stream()
                        .filter(PlanCoverageTest::isOfABroker)
                        .map(function -> function.name().replaceFirst(".*\\.", ""))
                        .filter(
                                name ->
                                        !Pattern.compile("\\b" + name + "\\b")
                                                .matcher(tests)
                                                .find())
                        .collect(Collectors.toCollection(TreeSet::new));
        Set<String> excused =
                ELSEWHERE.values().stream()
                        .flatMap(List::stream)
                        .collect(Collectors.toCollection(TreeSet::new));
        assertEquals(String.join("\n", excused), String.join("\n", uncounted));
    }

    private static boolean isOfABroker(SqlFunction function) {
        return function.labels()
                .getOrDefault("Called by", "")
                .matches(".*\\b[A-Z]\\w*(?:Reads|Procedures)\\b.*");
    }

    private static String planTests() throws IOException {
        StringBuilder text = new StringBuilder();
        try (Stream<Path> files = Files.walk(Path.of("src/test/java"))) {
            for (Path file : files.filter(f -> f.toString().endsWith("PlanTest.java")).toList()) {
                text.append(Files.readString(file));
            }
        }
        return text.toString();
    }
}
