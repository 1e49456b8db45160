package io.queenmq.loadtest;

import java.util.ArrayList;
import java.util.List;

/** One line of the catalogue: what is measured, the limits it is held against, and how. */
record Benchmark(String id, String what, Experiment experiment, List<Gate> gates) {
    /** Measures; what it throws ends this benchmark and counts as not measured. */
    interface Experiment {
        void run(Lab lab, Readings readings) throws Exception;
    }

    Benchmark {
        gates = List.copyOf(gates);
    }

    Benchmark(String id, String what, Experiment experiment) {
        this(id, what, experiment, List.of());
    }

    Benchmark atLeast(String figure, String reference, double must, double aim) {
        return with(Gate.atLeast(figure, reference, must, aim));
    }

    Benchmark atMost(String figure, String reference, double must, double aim) {
        return with(Gate.atMost(figure, reference, must, aim));
    }

    private Benchmark with(Gate gate) {
        List<Gate> more = new ArrayList<>(gates);
        more.add(gate);
        return new Benchmark(id, what, experiment, more);
    }
}
