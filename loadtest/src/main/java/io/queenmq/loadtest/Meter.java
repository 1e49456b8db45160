package io.queenmq.loadtest;

import java.util.Optional;

/** Counts what broker, database and generator use from its making to its reading. */
final class Meter {
    /**
     * What a phase has used.
     *
     * @param cpu microseconds; -1 where a process is not on this machine
     * @param counts empty without a database
     */
    record Used(double seconds, Cpu.Sample cpu, Optional<Server.Counts> counts) {
        /** Microseconds of broker and PostgreSQL together. */
        double serverMicros() {
            return (double) cpu.broker() + cpu.postgres();
        }

        /** Processors that broker and PostgreSQL kept busy. */
        double serverCores() {
            return serverMicros() / 1e6 / seconds;
        }

        Server.Counts database() {
            return counts.orElseThrow();
        }
    }

    private final Cpu cpu;
    private final Optional<Server> server;
    private final Cpu.Sample cpuAtStart;
    private final Optional<Server.Counts> countsAtStart;
    private final long startNanos;

    Meter(Cpu cpu, Optional<Server> server) {
        this.cpu = cpu;
        this.server = server;
        this.countsAtStart = server.map(Server::counts);
        this.cpuAtStart = cpu.sample();
        this.startNanos = System.nanoTime();
    }

    Used used() {
        double seconds = (System.nanoTime() - startNanos) / 1e9;
        Cpu.Sample spent = cpu.sample().minus(cpuAtStart);
        return new Used(
                seconds, spent, server.map(s -> s.counts().minus(countsAtStart.orElseThrow())));
    }
}
