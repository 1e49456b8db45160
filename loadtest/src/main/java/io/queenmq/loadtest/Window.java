package io.queenmq.loadtest;

import java.util.Optional;

/** The measured part of a run: what was moved meanwhile, and what it cost. */
final class Window {
    private final Traffic traffic;
    private final Meter.Used used;
    private final long pushed;
    private final long consumed;

    private Window(Traffic traffic, Meter.Used used, long pushed, long consumed) {
        this.traffic = traffic;
        this.used = used;
        this.pushed = pushed;
        this.consumed = consumed;
    }

    /** Something that keeps the traffic's loop turning. */
    interface Phase {
        void run(Traffic traffic);
    }

    /** Warms up, then measures for that long. */
    static Window measure(
            Traffic traffic, Cpu cpu, Optional<Server> server, long warmupNanos, long nanos) {
        traffic.run(warmupNanos);
        return measure(traffic, cpu, server, t -> t.run(nanos));
    }

    /** Measures a phase. */
    static Window measure(Traffic traffic, Cpu cpu, Optional<Server> server, Phase phase) {
        Ledger ledger = traffic.ledger();
        long accepted = ledger.acceptedCount();
        long acked = ledger.ackedCount();
        Meter meter = new Meter(cpu, server);
        traffic.startMeasuring();
        phase.run(traffic);
        traffic.stopMeasuring();
        Meter.Used used = meter.used();
        return new Window(
                traffic, used, ledger.acceptedCount() - accepted, ledger.ackedCount() - acked);
    }

    Traffic traffic() {
        return traffic;
    }

    Meter.Used used() {
        return used;
    }

    long pushed() {
        return pushed;
    }

    long consumed() {
        return consumed;
    }

    double pushedPerSecond() {
        return pushed / used.seconds();
    }

    double consumedPerSecond() {
        return consumed / used.seconds();
    }

    /** Messages pushed per commit of the database, whoever made it. */
    Optional<Double> messagesPerCommit() {
        return used.counts().map(c -> pushed / (double) Math.max(1, c.commits()));
    }

    void report(Outcome outcome) {
        outcome.figure("seconds", used.seconds());
        outcome.figure("pushed", pushed);
        outcome.figure("acked", consumed);
        outcome.figure("pushedPerSecond", Math.round(pushedPerSecond()));
        outcome.figure("ackedPerSecond", Math.round(consumedPerSecond()));
        outcome.line(
                "throughput   %,.0f msg/s pushed, %,.0f msg/s popped and acknowledged"
                        .formatted(pushedPerSecond(), consumedPerSecond()));
        cpuPerMessage(outcome);
        used.counts()
                .ifPresent(
                        c -> {
                            outcome.figure("commits", c.commits());
                            outcome.figure("walBytesPerMessage", c.walBytes() / (double) pushed);
                            outcome.line(
                                    ("database     %.1f messages per commit, %,.0f commits/s,"
                                                    + " %.0f bytes of WAL per message")
                                            .formatted(
                                                    pushed / (double) c.commits(),
                                                    c.commits() / used.seconds(),
                                                    c.walBytes() / (double) pushed));
                        });
        outcome.latency("push", traffic.pushMicros());
        if (traffic.endToEndMicros().getTotalCount() > 0) {
            outcome.latency("ack", traffic.ackMicros());
            outcome.latency("endToEnd", traffic.endToEndMicros());
        }
        outcome.figure("pushRetries", traffic.pushRetries());
        outcome.figure("consumeErrors", traffic.consumeErrors());
    }

    private void cpuPerMessage(Outcome outcome) {
        StringBuilder line = new StringBuilder("cpu         ");
        cpuOf(outcome, line, "broker", used.cpu().broker());
        cpuOf(outcome, line, "postgres", used.cpu().postgres());
        cpuOf(outcome, line, "generator", used.cpu().generator());
        outcome.line(line.toString());
    }

    private void cpuOf(Outcome outcome, StringBuilder line, String process, long micros) {
        if (micros < 0) {
            line.append(" %s not known;".formatted(process));
            return;
        }
        double each = micros / (double) pushed;
        outcome.figure(process + "CpuMicrosPerMessage", each);
        line.append(
                " %s %.2f µs per message, %.2f cores;"
                        .formatted(process, each, micros / 1e6 / used.seconds()));
    }
}
