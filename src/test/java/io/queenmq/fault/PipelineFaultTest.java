package io.queenmq.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Lines;
import io.queenmq.testkit.TestBinaries;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Goal: what a pipeline of three stages does happens once per order, although its processes, the
 * broker and PostgreSQL are killed over and over. Method: two processes work on each stage; as the
 * orders come through one after another is killed and started again, at moments that chance
 * chooses. At the end every effect is counted, and no table or key would have hidden a second one.
 */
@Timeout(300)
final class PipelineFaultTest {
    private static final int ORDERS = 400;
    private static final int ROUNDS = 2;

    /** What can be killed, and how it is started again. */
    private record Victim(String name, Strike strike) {}

    private interface Strike {
        void run() throws IOException;
    }

    /** A process of the application, which may be replaced by another one. */
    private static final class Worker implements AutoCloseable {
        private final List<String> command;
        private final Path log;
        private Process process;

        Worker(Path log, String way, String target) throws IOException {
            this.command =
                    List.of(
                            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                            "-XX:+UseSerialGC",
                            "-XX:TieredStopAtLevel=1",
                            "-Xmx128m",
                            "-cp",
                            System.getProperty("java.class.path"),
                            PipelineClient.class.getName(),
                            way,
                            target,
                            Integer.toString(ORDERS));
            this.log = log;
            this.process = start();
        }

        private Process start() throws IOException {
            return Children.start(
                    new ProcessBuilder(command)
                            .redirectErrorStream(true)
                            .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile())));
        }

        void strike() throws IOException {
            close();
            process = start();
        }

        @Override
        public void close() {
            Children.kill(process);
        }
    }

    @Test
    @Contract({"tx-1", "tx-14", "tx-15", "tx-reason-3"})
    void overHttpEveryEffectHappensOnceWhoeverIsKilled(@TempDir Path folder) throws Exception {
        Path log = Files.createFile(folder.resolve("log"));
        try (PostgresProcess postgres = PostgresProcess.start();
                BrokerProcess broker = BrokerProcess.start(postgres.port());
                Worker one = new Worker(log, "http", broker.url().toString());
                Worker other = new Worker(log, "http", broker.url().toString())) {
            run(
                    postgres,
                    log,
                    "select count(*) from queen.kv where namespace = 'pipeline' and key like '%s/%%'",
                    List.of(
                            new Victim("a process", one::strike),
                            new Victim("the other process", other::strike),
                            new Victim(
                                    "the broker",
                                    () -> {
                                        broker.kill();
                                        broker.relaunch();
                                    }),
                            new Victim("PostgreSQL", () -> strike(postgres))));
            for (int stage = 0; stage < PipelineClient.STAGES.size(); stage++) {
                String name = PipelineClient.STAGES.get(stage);
                assertEquals(
                        ORDERS + " 1 1",
                        line(
                                postgres,
                                "select count(*) || ' ' || min(value::text) || ' ' || max(value::text) from"
                                        + " queen.kv where namespace = 'pipeline' and key like '"
                                        + name
                                        + "/%'"),
                        name);
                assertEquals(
                        Integer.toString(sum(stage)),
                        line(
                                postgres,
                                "select value from queen.kv where namespace = 'pipeline' and key = '"
                                        + name
                                        + "'"),
                        name);
            }
        }
    }

    /** The same in transactions of the application, with rows of its own; no broker takes part. */
    @Test
    @Contract("tx-1")
    void inSqlEveryEffectHappensOnceWhoeverIsKilled(@TempDir Path folder) throws Exception {
        Path log = Files.createFile(folder.resolve("log"));
        try (PostgresProcess postgres = PostgresProcess.start()) {
            BrokerProcess.start(postgres.port()).close();
            postgres.execute("create table orders (number integer)");
            postgres.execute("create table effects (stage text, number integer, amount integer)");
            String url = "jdbc:postgresql://127.0.0.1:" + postgres.port() + "/postgres?user=queen";
            try (Worker one = new Worker(log, "sql", url);
                    Worker other = new Worker(log, "sql", url)) {
                run(
                        postgres,
                        log,
                        "select count(*) from effects where stage = '%s'",
                        List.of(
                                new Victim("a process", one::strike),
                                new Victim("the other process", other::strike),
                                new Victim("PostgreSQL", () -> strike(postgres))));
            }
            for (int stage = 0; stage < PipelineClient.STAGES.size(); stage++) {
                assertEquals(
                        ORDERS + " " + ORDERS + " " + sum(stage),
                        line(
                                postgres,
                                "select count(*) || ' ' || count(distinct number) || ' '"
                                        + " || sum(amount) from effects where stage = '"
                                        + PipelineClient.STAGES.get(stage)
                                        + "'"));
            }
        }
    }

    private static int sum(int stage) {
        return IntStream.range(0, ORDERS).map(order -> PipelineClient.amount(stage, order)).sum();
    }

    private static void strike(PostgresProcess postgres) throws IOException {
        postgres.kill();
        postgres.restart();
    }

    /**
     * Kills everybody in turn while orders come through; returns when all is done and acknowledged.
     *
     * @param count asks how many orders a stage is done with
     */
    private static void run(PostgresProcess postgres, Path log, String count, List<Victim> victims)
            throws IOException, SQLException {
        long seed = Long.getLong("queen.test.seed", System.nanoTime());
        System.out.println(
                "kills at random moments, -Dqueen.test.seed="
                        + seed
                        + ", PostgreSQL "
                        + TestBinaries.version());
        Random random = new Random(seed);
        List<Victim> turns = new ArrayList<>();
        for (int i = 0; i < ROUNDS; i++) {
            turns.addAll(victims);
        }
        Collections.shuffle(turns, random);
        List<String> counts = PipelineClient.STAGES.stream().map(count::formatted).toList();
        for (int i = 0; i < turns.size(); i++) {
            int most = ORDERS * (i + 1) / (turns.size() + 1);
            int due = most - random.nextInt(ORDERS / (turns.size() + 1));
            String stage = counts.get(random.nextInt(counts.size()));
            awaitLine(log, due + " orders", postgres, stage, due);
            turns.get(i).strike().run();
        }
        awaitLine(log, "all orders", postgres, counts.getLast(), ORDERS);
        // Whoever has done the last of them may not have acknowledged it yet, were it not one
        // commit.
        awaitLine(
                log,
                "the last acks",
                postgres,
                "select "
                        + ORDERS * PipelineClient.STAGES.size()
                        + " - coalesce(sum(lag), 0) from queen.cursors where consumer_group = '"
                        + PipelineClient.GROUP
                        + "'",
                ORDERS * PipelineClient.STAGES.size());
    }

    private static void awaitLine(
            Path log, String what, PostgresProcess postgres, String sql, int wanted)
            throws IOException, SQLException {
        try (Connection connection = postgres.connect()) {
            Await.until(what, () -> Long.parseLong(Lines.line(connection, sql)) >= wanted);
        } catch (AssertionError e) {
            throw new AssertionError(e.getMessage() + "\n" + Files.readString(log), e);
        }
    }

    private static String line(PostgresProcess postgres, String sql) throws SQLException {
        try (Connection connection = postgres.connect()) {
            return Lines.line(connection, sql);
        }
    }
}
