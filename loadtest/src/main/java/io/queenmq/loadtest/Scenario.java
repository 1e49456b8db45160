package io.queenmq.loadtest;

/** One kind of run, by the name it has on the command line. */
enum Scenario {
    /** Push, pop and ack at once, as a share of what the bare function takes. */
    CYCLE {
        @Override
        Outcome run(Target target, Options options) {
            return new CycleScenario(target, options).run();
        }
    },
    /** The bare function alone. */
    BASELINE {
        @Override
        Outcome run(Target target, Options options) {
            return new BaselineScenario(target, options).run();
        }
    },
    /** Single-message pushes of many producers: how many share a commit. */
    W5 {
        @Override
        Outcome run(Target target, Options options) {
            return new SinglesScenario(target, options).run();
        }
    },
    /** The first message of a lane that nobody has seen before, to a consumer that waits. */
    NEW_LANE {
        @Override
        Outcome run(Target target, Options options) {
            return new NewLaneScenario(target, options).run();
        }
    };

    abstract Outcome run(Target target, Options options);
}
