package io.queenmq.loadtest;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedStackTrace;
import jdk.jfr.consumer.RecordingFile;
import org.jspecify.annotations.Nullable;

/**
 * Where the CPU of one message goes, at batch 100 and at batch 1: the broker's by samples of its
 * stacks, PostgreSQL's by statement.
 */
final class Cost {
    /**
     * The first frame from the top of a stack that begins with a prefix decides.
     *
     * @param method what the method's name holds; empty = any
     */
    private record Rule(String prefix, String method, String part) {}

    private static final List<Rule> RULES =
            List.of(
                    new Rule("io.queenmq.web.JsonBuffer", "", "render the answer"),
                    new Rule("io.queenmq.http.PopJson", "", "render the answer"),
                    new Rule("io.queenmq.http.", "write", "render the answer"),
                    new Rule("io.queenmq.web.JsonBody", "", "parse the request"),
                    new Rule("com.fasterxml.", "", "parse the request"),
                    new Rule("io.queenmq.http.", "", "parse the request"),
                    new Rule("io.queenmq.web.", "", "HTTP read and write"),
                    new Rule("org.postgresql.", "", "JDBC"),
                    new Rule("com.zaxxer.", "", "JDBC"),
                    new Rule("io.queenmq.db.", "", "JDBC"),
                    new Rule("io.queenmq.combine.", "", "queueing"),
                    new Rule("io.queenmq.ready.", "", "queueing"),
                    new Rule("io.queenmq.push.", "", "push: split, frames, verdicts"),
                    new Rule("io.queenmq.segment.", "", "frames"),
                    new Rule("io.queenmq.dedup.", "", "memory of keys"),
                    new Rule("io.queenmq.pop.", "", "pop: claims, segments"),
                    new Rule("io.queenmq.ack.", "", "ack: batches, verdicts"),
                    new Rule("io.helidon.", "", "HTTP read and write"),
                    new Rule("java.lang.VirtualThread", "", "threads"),
                    new Rule("java.util.concurrent.", "", "threads"));

    private static final String STATEMENTS =
            """
            select coalesce(
                       case when toplevel then substring(query from '(queen_store\\.[a-z_]+)\\(') end,
                       left(regexp_replace(query, '\\s+', ' ', 'g'), 100)), calls,
                   total_exec_time * 1000, wal_bytes, shared_blks_hit + shared_blks_read, toplevel
            from pg_stat_statements
            where query not like '%pg_stat_statements%'
            order by total_exec_time desc
            limit 25
            """;

    private Cost() {}

    static void table(Lab lab, Readings readings) throws Exception {
        Optional<Rig> counting = lab.countingStatements();
        Rig rig = counting.isPresent() ? counting.get() : lab.rig();
        split(lab, readings, rig, "batch 100", "payload=order", counting.isPresent());
        split(
                lab,
                readings,
                rig,
                "batch 1",
                FullCycle.SINGLES + " payload=order",
                counting.isPresent());
        if (counting.isEmpty()) {
            readings.note("no PostgreSQL with pg_stat_statements here: the database in one line");
        }
    }

    private static void split(
            Lab lab,
            Readings readings,
            Rig rig,
            String name,
            String options,
            boolean statementsCounted)
            throws Exception {
        Traffic.Shape shape = Lab.shape(lab.queue(rig), options);
        lab.cycle(rig, shape, 0, lab.plan().warmup());
        if (statementsCounted) {
            rig.server().execute("select pg_stat_statements_reset()");
        }
        Path recording = Files.createTempFile("queen-cost", ".jfr");
        try {
            rig.jvm().startRecording();
            Window window = lab.cycle(rig, shape, 0, lab.plan().seconds());
            rig.jvm().stopRecording(recording);
            double messages = window.pushed();
            Meter.Used used = window.used();
            readings.note("");
            readings.note(name + ": " + Math.round(messages) + " messages");
            readings.detail(name + ", broker µs per message", used.cpu().broker() / messages);
            readings.detail(name + ", postgres µs per message", used.cpu().postgres() / messages);
            broker(readings, name, recording, used.cpu().broker() / messages);
            if (statementsCounted) {
                database(readings, name, rig, window.traffic().ledger().acceptedCount());
            }
        } finally {
            Files.delete(recording);
        }
    }

    /** Shares of samples, as parts of the CPU that the broker has used. */
    private static void broker(
            Readings readings, String name, Path recording, double microsPerMessage)
            throws IOException {
        Map<String, Integer> samples = new HashMap<>();
        int all = 0;
        try (RecordingFile file = new RecordingFile(recording)) {
            while (file.hasMoreEvents()) {
                RecordedEvent event = file.readEvent();
                if (event.getEventType().getName().equals(Jvm.SAMPLE)) {
                    samples.merge(part(event.getStackTrace()), 1, Integer::sum);
                    all++;
                }
            }
        }
        double each = microsPerMessage / Math.max(1, all);
        readings.detail(name + ", samples of the broker", all);
        samples.entrySet().stream()
                .sorted(Map.Entry.<String, Integer>comparingByValue(Comparator.reverseOrder()))
                .forEach(
                        entry ->
                                readings.detail(
                                        name + ", broker, " + entry.getKey() + ", µs",
                                        entry.getValue() * each));
    }

    private static String part(@Nullable RecordedStackTrace stack) {
        if (stack == null) {
            return "no Java frame: collector, compiler, system";
        }
        for (RecordedFrame frame : stack.getFrames()) {
            String type = frame.getMethod().getType().getName();
            for (Rule rule : RULES) {
                if (type.startsWith(rule.prefix())
                        && frame.getMethod().getName().contains(rule.method())) {
                    return rule.part();
                }
            }
        }
        return "other";
    }

    /** Elapsed time of statements, waits for their locks and reads included; inner ones too. */
    private static void database(Readings readings, String name, Rig rig, long messages) {
        rig.server()
                .query(
                        STATEMENTS,
                        row ->
                                "%s, %s%s: %.2f µs, %.4f calls, %.0f bytes of WAL, %.2f buffers per message"
                                        .formatted(
                                                name,
                                                row.getBoolean(6) ? "" : "inside: ",
                                                row.getString(1),
                                                row.getDouble(3) / messages,
                                                row.getDouble(2) / messages,
                                                row.getDouble(4) / messages,
                                                row.getDouble(5) / messages))
                .forEach(readings::note);
    }
}
