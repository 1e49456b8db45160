package io.queenmq.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;

/** Which families a broker shows, and whether what is built on them names what is there. */
class MetricFamiliesHttpTest {
    private static final Path RULES = Path.of("ops/prometheus/queen.rules.yaml");
    private static final Path RULE_TESTS = Path.of("ops/prometheus/queen.rules.test.yaml");
    private static final Path OPERATORS = Path.of("docs/operations/metrics.md");
    private static final Path DASHBOARD = Path.of("ops/grafana/queen.json");

    /** What dashboards of Queen look for: names and types; braces stand for each of several. */
    private static final String FAMILIES =
            """
            gauge   queen_uptime_seconds queen_process_resident_memory_bytes queen_jvm_heap_used_bytes
            counter queen_process_{push,pop,ack}_requests_total queen_process_{push,pop,ack}_messages_total
            counter queen_pop_targeted_total queen_pop_wildcard_total
            counter queen_pop_fill_wait_total queen_pop_fill_wait_microseconds_total
            gauge   queen_parked_long_polls queen_event_loop_lag_avg_milliseconds
            counter queen_batches_fired_total queen_batch_items_fired_total
            gauge   queen_fusion_items_per_batch queen_batch_rtt_milliseconds
            gauge   queen_db_pool_{size,idle,active,waiting}
            gauge   queen_maintenance_mode_enabled queen_pop_maintenance_mode_enabled
            counter queen_kv_ops_total queen_kv_bytes_total queen_kv_read_rejected_total
            gauge   queen_kv_op_duration_milliseconds queen_kv_pool
            gauge   queen_kv_expired_not_pruned queen_kv_expired_not_pruned_capped queen_kv_expiry_lag_seconds
            gauge   queen_timers_due queen_timers_due_capped queen_timers_oldest_late_seconds
            counter queen_timers_fired_total queen_timers_dlq_total
            counter queen_timers_fire_failures_total queen_timers_schedule_rejected_total
            gauge   queen_timers_fire_lag_seconds queen_sweeper_cycle_milliseconds
            counter queen_timers_fire_lag_tenants_dropped_total queen_decrypt_failures_total
            gauge   queen_encryption_enabled queen_safe_time_behind_seconds
            counter queen_sweeper_rows_total queen_sweeper_phase_skipped_total queen_sweeper_skip_locked_total
            gauge   queen_sweeper_sleep_milliseconds
            counter queen_cluster_{push,pop,ack}_requests_total queen_cluster_{push,pop,ack}_messages_total
            counter queen_cluster_{transactions,db_errors,dlq,ack}_total
            gauge   queen_queue_{pop_messages,push_requests,push_messages,pop_empty,transactions}_per_minute
            gauge   queen_queue_{conflated,ack}_per_minute queen_queue_pop_lag_milliseconds
            gauge   queen_queue_parked_consumers queen_queue_metrics_age_seconds
            gauge   queen_dlq_depth queen_dlq_depth_by_queue
            gauge   queen_epochs queen_epoch_seal_blocked_seconds queen_storage_bytes queen_lanes_blocked
            gauge   queen_xmin_horizon_age_seconds queen_xmin_horizon_age_transactions
            gauge   queen_job_last_success_age_seconds queen_runtime_overdue
            histogram queen_http_request_seconds
            gauge   jvm_memory_used_bytes jvm_memory_committed_bytes jvm_threads_live_threads
            """;

    /** Families of machinery that this broker has not. Whoever builds it moves them up. */
    private static final List<String> ABSENT =
            List.of(
                    "queen_admission_*",
                    "queen_file_buffer_*",
                    "queen_ephemeral_*",
                    "queen_kv_singleflight_coalesced_total",
                    "queen_timers_poisoned_total");

    private static final Pattern NAME = Pattern.compile("\\b(?:queen|jvm|process)_[a-z0-9_]+\\b");

    private static TestDatabase database;
    private static TestBroker broker;
    private static String text;
    private static final Map<String, String> TYPES = new TreeMap<>();

    /** A broker that has had some traffic. */
    @BeforeAll
    static void start() {
        database = TestDatabase.migrated();
        broker = TestBroker.withEnvironment(database, Map.of("METRICS_FLUSH_MS", "1000"));
        Http http = broker.http();
        http.push("q", "p", "1");
        Json popped = http.pop("q", "batch=1").json();
        http.ack(popped, 0, "dlq");
        http.post(
                "/api/v1/timers",
                "[{\"op\":\"schedule\",\"queue\":\"q\",\"timerKey\":\"k\",\"txn\":\"t\",\"payload\":\"MQ==\",\"delayMs\":0}]");
        Await.until(
                "the dead letter is shown", () -> scrape().contains("queen_dlq_depth_by_queue{"));
        Await.until(
                "the timer is shown", () -> scrape().contains("queen_timers_fire_lag_seconds{"));
        text = scrape();
        Matcher type = Pattern.compile("^# TYPE (\\S+) (\\S+)$", Pattern.MULTILINE).matcher(text);
        while (type.find()) {
            TYPES.put(type.group(1), type.group(2));
        }
    }

    @AfterAll
    static void stop() {
        broker.close();
        database.close();
    }

    private static String scrape() {
        return broker.http().get("/metrics/prometheus").body();
    }

    /** The families of a line, each with its type. */
    private static Map<String, String> wanted() {
        Map<String, String> wanted = new TreeMap<>();
        for (String line : FAMILIES.lines().toList()) {
            String[] words = line.split(" +", -1);
            for (int i = 1; i < words.length; i++) {
                Matcher several = Pattern.compile("(.*)\\{(.*)}(.*)").matcher(words[i]);
                if (several.matches()) {
                    for (String one : several.group(2).split(",", -1)) {
                        wanted.put(several.group(1) + one + several.group(3), words[0]);
                    }
                } else {
                    wanted.put(words[i], words[0]);
                }
            }
        }
        return wanted;
    }

    @Test
    @Contract({"metrics-3", "metrics-8"})
    void everyFamilyIsThereWithItsType() {
        Map<String, String> found = new TreeMap<>(TYPES);
        Map<String, String> wanted = wanted();
        found.keySet().retainAll(wanted.keySet());
        assertEquals(wanted, found);
        assertEquals(
                List.of(),
                TYPES.keySet().stream()
                        .filter(
                                family ->
                                        ABSENT.stream()
                                                .map(absent -> absent.replace("*", ""))
                                                .anyMatch(family::startsWith))
                        .toList());
    }

    /** Series that dashboards of Queen ask for by their labels, each with all of them. */
    @Test
    @Contract("metrics-3")
    void labelsHaveTheValuesThatDashboardsAskFor() {
        String tenant = "tenant=\"00000000-0000-0000-0000-000000000001\"";
        List<String> series = new ArrayList<>();
        for (String quantile : List.of("0.5", "0.95")) {
            series.add(
                    "queen_timers_fire_lag_seconds{%s,quantile=\"%s\"}"
                            .formatted(tenant, quantile));
        }
        for (String phase : List.of("fire", "kv_expire", "usage")) {
            series.add("queen_sweeper_rows_total{phase=\"%s\"}".formatted(phase));
            series.add("queen_sweeper_phase_skipped_total{phase=\"%s\"}".formatted(phase));
            for (String quantile : List.of("0.5", "0.99")) {
                series.add(
                        "queen_sweeper_cycle_milliseconds{phase=\"%s\",quantile=\"%s\"}"
                                .formatted(phase, quantile));
            }
        }
        labelled(
                series,
                "queen_timers_schedule_rejected_total",
                "reason",
                "shape,payload_too_large,quota,horizon,gated,rate_limited,unavailable,disabled");
        labelled(series, "queen_timers_fired_total", "result", "fired,duplicate,stale");
        labelled(series, "queen_timers_fire_failures_total", "class", "transient,permanent,config");
        labelled(
                series,
                "queen_kv_read_rejected_total",
                "reason",
                "rate_limited,quota,pool,disabled");
        labelled(series, "queen_kv_pool", "state", "size,available,waiting");
        labelled(series, "queen_kv_bytes_total", "dir", "in,out");
        labelled(series, "queen_batches_fired_total", "op", "push,pop,ack");
        labelled(series, "queen_batch_items_fired_total", "op", "push,pop,ack");
        labelled(series, "queen_fusion_items_per_batch", "op", "push,pop,ack");
        assertEquals(
                List.of(),
                series.stream().filter(one -> !text.contains("\n" + one + " ")).toList());
        assertTrue(
                series.size()
                        == Pattern.compile(
                                        "^queen_(timers_(fire_lag_seconds|schedule_rejected"
                                                + "_total|fired_total|fire_failures_total)"
                                                + "|sweeper_(rows|phase_skipped)_total"
                                                + "|sweeper_cycle_milliseconds"
                                                + "|kv_(read_rejected_total|pool|bytes_total)"
                                                + "|batches_fired_total"
                                                + "|batch_items_fired_total"
                                                + "|fusion_items_per_batch)\\{",
                                        Pattern.MULTILINE)
                                .matcher(text)
                                .results()
                                .count(),
                "and no others");
    }

    private static void labelled(List<String> series, String family, String label, String values) {
        for (String value : values.split(",", -1)) {
            series.add("%s{%s=\"%s\"}".formatted(family, label, value));
        }
    }

    /** Whoever brings a dashboard along reads which of its panels stay empty, and why. */
    @Test
    void whatIsAbsentIsSaidToOperators() throws IOException {
        String table =
                Files.readString(OPERATORS)
                        .replaceFirst("(?s).*\\| not here \\| for \\|\n", "")
                        .replaceFirst("(?s)\n\n.*", "");
        assertEquals(
                ABSENT,
                Pattern.compile("^\\| `([a-z_*]+)` \\| \\w", Pattern.MULTILINE)
                        .matcher(table)
                        .results()
                        .map(row -> row.group(1))
                        .toList());
    }

    @Test
    @Contract("metrics-8")
    void theLogIsShownAsItIs() {
        assertTrue(text.contains("\nqueen_epochs 2\n"), text);
        assertTrue(text.contains("\nqueen_lanes_blocked 0\n"));
        assertTrue(text.contains("\nqueen_epoch_seal_blocked_seconds 0\n"));
        assertTrue(text.contains("\nqueen_storage_bytes{state=\"expired\"} "));
        Matcher live =
                Pattern.compile("queen_storage_bytes\\{state=\"live\"} (\\d+)").matcher(text);
        assertTrue(live.find() && Long.parseLong(live.group(1)) > 0, text);
        assertTrue(text.contains("queen_http_request_seconds_bucket{op=\"push\",le=\"0.001\"}"));
    }

    /** Names of samples: those of a family, and what a histogram or summary adds to it. */
    private static Set<String> samples() {
        Set<String> samples = new TreeSet<>();
        for (String line : text.lines().toList()) {
            if (!line.startsWith("#")) {
                samples.add(line.replaceFirst("[{ ].*", ""));
            }
        }
        samples.addAll(TYPES.keySet());
        return samples;
    }

    private static Set<String> unknown(List<String> queries) {
        Set<String> unknown = new TreeSet<>();
        for (String query : queries) {
            Matcher name = NAME.matcher(query.replaceAll("\"[^\"]*\"", ""));
            while (name.find()) {
                unknown.add(name.group());
            }
        }
        unknown.removeAll(samples());
        return unknown;
    }

    @Test
    void theDashboardAsksForWhatIsThere() throws IOException {
        Json dashboard = Json.parse(Files.readString(DASHBOARD));
        List<String> queries = new ArrayList<>();
        Set<String> titles = new TreeSet<>();
        for (int i = 0; i < dashboard.size("panels"); i++) {
            Json panel = dashboard.at("panels", i);
            assertTrue(titles.add(panel.text("title")), panel.text("title"));
            if (!panel.text("type").equals("row")) {
                queries.addAll(panel.each("targets", "expr"));
            }
        }
        assertEquals(Set.of(), unknown(queries));
        assertTrue(queries.size() > 40, () -> queries.size() + " queries");
        for (String row :
                List.of("Throughput", "Latency", "Lag", "Lanes", "Pools", "Storage", "JVM")) {
            assertTrue(titles.contains(row), row);
        }
    }

    /** What operators are told to look at is there, but where its part of the broker is off. */
    @Test
    void theManualNamesWhatIsThere() throws IOException {
        Pattern name = Pattern.compile("\\bqueen_[a-z0-9_]++(?![*{])");
        Set<String> off =
                Set.of("queen_access_", "queen_embedded_", "queen_maintain_removed_traces_total");
        Set<String> unknown = new TreeSet<>();
        int named = 0;
        try (Stream<Path> pages = Files.list(OPERATORS.getParent())) {
            for (Path page : Stream.concat(pages, Stream.of(Path.of("SECURITY.md"))).toList()) {
                Matcher matcher = name.matcher(Files.readString(page));
                while (matcher.find()) {
                    named++;
                    unknown.add(matcher.group());
                }
            }
        }
        unknown.removeAll(samples());
        unknown.removeAll(ABSENT);
        unknown.removeAll(Set.of("queen_store", "queen_reader", "queen_writer"));
        unknown.removeIf(one -> off.stream().anyMatch(one::startsWith));
        assertEquals(Set.of(), unknown);
        assertTrue(named > 80, named + " names");
    }

    private static Map<?, ?> yaml(Path file) throws IOException {
        return new Yaml(new SafeConstructor(new LoaderOptions())).load(Files.readString(file));
    }

    private static List<?> list(Map<?, ?> map, String name) {
        return map.get(name) instanceof List<?> list ? list : List.of();
    }

    /** Every alert asks for what is there, says what to do, and is proved to fire. */
    @Test
    void alertsAskForWhatIsThere() throws IOException {
        List<String> queries = new ArrayList<>();
        Set<String> alerts = new TreeSet<>();
        for (Object group : list(yaml(RULES), "groups")) {
            for (Object each : list((Map<?, ?>) group, "rules")) {
                Map<?, ?> rule = (Map<?, ?>) each;
                alerts.add(String.valueOf(rule.get("alert")));
                queries.add(String.valueOf(rule.get("expr")));
                assertTrue(
                        rule.get("annotations") instanceof Map<?, ?> notes
                                && notes.keySet().equals(Set.of("summary", "description")),
                        () -> rule.toString());
            }
        }
        assertEquals(
                Set.of("queen_access_key_fetch_failures_total", "queen_embedded_restarts_total"),
                unknown(queries),
                "those of brokers that fetch keys, or run a server of their own");
        Set<String> proved = new TreeSet<>();
        Matcher name =
                Pattern.compile("\\{alertname=\"(\\w+)\", severity")
                        .matcher(Files.readString(RULE_TESTS));
        while (name.find()) {
            proved.add(name.group(1));
        }
        assertEquals(alerts, proved);
    }

    /** The real tool, where the machine has it: Debian's package prometheus. */
    @Test
    void promtoolTakesRulesTheirTestsAndTheExposition() throws Exception {
        assumeTrue(run("", "promtool", "--version") == 0, "there is no promtool here");
        assertEquals(0, run("", "promtool", "check", "rules", RULES.toString()));
        assertEquals(0, run("", "promtool", "test", "rules", RULE_TESTS.toString()));
        // 3 = it reads all of it, and would name some families otherwise.
        assertTrue(Set.of(0, 3).contains(run(text, "promtool", "check", "metrics")));
    }

    private static int run(String input, String... command) throws Exception {
        Process process;
        try {
            process = new ProcessBuilder(command).redirectErrorStream(true).start();
        } catch (IOException e) {
            return -1;
        }
        Thread feeder =
                Thread.startVirtualThread(
                        () -> {
                            try (var out = process.getOutputStream()) {
                                out.write(input.getBytes(StandardCharsets.UTF_8));
                            } catch (IOException e) {
                                // It has ended without reading: its status says why.
                            }
                        });
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        feeder.join();
        int status = process.waitFor();
        if (status != 0) {
            System.getLogger("promtool").log(System.Logger.Level.INFO, said);
        }
        return status;
    }
}
