package io.queenmq;

import io.queenmq.cli.QueenCommand;

/** Entry point of {@code ./queen}. */
public final class Main {
    private Main() {}

    public static void main(String[] args) {
        System.exit(QueenCommand.run(args));
    }
}
