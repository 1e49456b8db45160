package io.queenmq.loadtest;

import java.util.Optional;

/** The measured part of a run: everything counted at its start and at its end. */
final class Window {
    private final Traffic traffic;
    private final Cpu cpu;
    private final Optional<Server> server;
    private final long startNanos = System.nanoTime();
    private final long accepted;
    private final long acked;
    private final Cpu.Sample cpuAtStart;
    private final Optional<Server.Counts> countsAtStart;
    private double seconds;
    private long pushed;
    private long consumed;
    private Cpu.Sample used = new Cpu.Sample(-1, -1, -1);
    private Optional<Server.Counts> counts = Optional.empty();

    private Window(Traffic traffic, Cpu cpu, Optional<Server> server) {
        this.traffic = traffic;
        this.cpu = cpu;
        this.server = server;
        this.accepted = traffic.ledger().acceptedCount();
        this.acked = traffic.ledger().ackedCount();
        this.cpuAtStart = cpu.sample();
        this.countsAtStart = server.map(Server::counts);
    }

    /** Warms up, then measures for that long. */
    static Window measure(
            Traffic traffic, Cpu cpu, Optional<Server> server, long warmupNanos, long nanos) {
        traffic.run(warmupNanos);
        Window window = new Window(traffic, cpu, server);
        traffic.startMeasuring();
        traffic.run(nanos);
        traffic.stopMeasuring();
        window.close();
        return window;
    }

    private void close() {
        seconds = (System.nanoTime() - startNanos) / 1e9;
        pushed = traffic.ledger().acceptedCount() - accepted;
        consumed = traffic.ledger().ackedCount() - acked;
        used = cpu.sample().minus(cpuAtStart);
        counts = server.map(s -> s.counts().minus(countsAtStart.orElseThrow()));
    }

    double pushedPerSecond() {
        return pushed / seconds;
    }

    double consumedPerSecond() {
        return consumed / seconds;
    }

    /** Messages pushed per commit of the database, whoever made it. */
    Optional<Double> messagesPerCommit() {
        return counts.map(c -> pushed / (double) Math.max(1, c.commits()));
    }

    void report(Outcome outcome) {
        outcome.figure("seconds", seconds);
        outcome.figure("pushed", pushed);
        outcome.figure("acked", consumed);
        outcome.figure("pushedPerSecond", Math.round(pushedPerSecond()));
        outcome.figure("ackedPerSecond", Math.round(consumedPerSecond()));
        outcome.line(
                "throughput   %,.0f msg/s pushed, %,.0f msg/s popped and acknowledged"
                        .formatted(pushedPerSecond(), consumedPerSecond()));
        cpuPerMessage(outcome);
        counts.ifPresent(
                c -> {
                    outcome.figure("commits", c.commits());
                    outcome.figure("walBytesPerMessage", c.walBytes() / (double) pushed);
                    outcome.line(
                            ("database     %.1f messages per commit, %,.0f commits/s,"
                                            + " %.0f bytes of WAL per message")
                                    .formatted(
                                            pushed / (double) c.commits(),
                                            c.commits() / seconds,
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
        cpuOf(outcome, line, "broker", used.broker());
        cpuOf(outcome, line, "postgres", used.postgres());
        cpuOf(outcome, line, "generator", used.generator());
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
                        .formatted(process, each, micros / 1e6 / seconds));
    }
}
