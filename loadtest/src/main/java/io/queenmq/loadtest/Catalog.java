package io.queenmq.loadtest;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** Every benchmark, in the order in which all of them run. */
final class Catalog {
    private static final double NONE = Double.NaN;

    private Catalog() {}

    static List<Benchmark> all() {
        return Stream.of(cycle(), write(), read(), volume(), idle(), latency(), features(), peers())
                .flatMap(List::stream)
                .toList();
    }

    /** Without a figure that could be missed: tables. */
    static List<Benchmark> tables() {
        return List.of(
                new Benchmark(
                        "cost",
                        "CPU of one message, by part of the broker and by statement, batch 100"
                                + " and 1",
                        Cost::table),
                new Benchmark(
                        "rules",
                        "M14 without the empty twin, under each of several rules of when the log"
                                + " goes on in another epoch (--epoch-rules)",
                        Growth::rules));
    }

    /** Those of "all", of one id, or of several with commas between; empty if one is unknown. */
    static List<Benchmark> named(String names) {
        if (names.equals("all")) {
            return all();
        }
        List<Benchmark> found = new ArrayList<>();
        for (String name : names.split(",", -1)) {
            Stream.concat(all().stream(), tables().stream())
                    .filter(benchmark -> benchmark.id().equalsIgnoreCase(name))
                    .forEach(found::add);
        }
        return found.size() == names.split(",", -1).length ? found : List.of();
    }

    /** What the whole is worth; the absolute figures are those of one machine. */
    private static List<Benchmark> cycle() {
        return List.of(
                new Benchmark(
                                "C1",
                                "full cycle, batch 100, P1; share of bare calls of 16 lanes × 100",
                                FullCycle::p1)
                        .atLeast("share", "–", 0.20, 0.30)
                        .atLeast("rate", "6,000 msg/s (two-core cell)", 100_000, 150_000)
                        .atMost("micros", "≈ 20 µs", 14, 9),
                new Benchmark("C2", "the same, P3", FullCycle::p3)
                        .atLeast("share", "–", 0.20, 0.30)
                        .atLeast("rate", "–", 80_000, 120_000)
                        .atMost("micros", "–", 14, 9),
                new Benchmark(
                                "C3",
                                "full cycle, batch 1, 64 producers, 32 consumers",
                                FullCycle::singles)
                        .atLeast("rate", "2,400 msg/s (two-core cell)", 8_000, 12_000),
                new Benchmark(
                                "C4",
                                "single pushes of 64 connections; share of bare calls of 64 × 1",
                                FullCycle::singlePushes)
                        .atLeast("share", "–", 0.18, 0.25)
                        .atLeast("rate", "29,500/s (32 cores)", 15_000, 20_000));
    }

    private static List<Benchmark> write() {
        return List.of(
                new Benchmark(
                                "W1",
                                "PostgreSQL CPU per message of the bare function ÷ (broker +"
                                        + " PostgreSQL) over HTTP, batch 100",
                                WritePath::shareOfBareAt100)
                        .atLeast("share", "≈ 0.5", 0.45, 0.65),
                new Benchmark("W2", "the same at batch 1", WritePath::shareOfBareAt1)
                        .atLeast("share", "–", 0.4, 0.5),
                new Benchmark(
                                "W3",
                                "CPU per message of a raw insert of the same bytes ÷ that of the"
                                        + " bare function, 16 lanes × 100",
                                WritePath::bareAgainstRawInsert)
                        .atLeast("share", "–", 0.5, 0.75),
                new Benchmark(
                                "W4",
                                "PostgreSQL CPU per segment, bundle of 64 ÷ bundle of 1",
                                WritePath::bundles)
                        .atMost("ratio", "–", 0.35, 0.15),
                new Benchmark(
                                "W5",
                                "messages per commit, batch 1, 64 producers on 64 lanes",
                                WritePath::messagesPerCommit)
                        .atLeast("messages", "5.85", 5, 12),
                new Benchmark(
                                "W6",
                                "lone producer: p50 of an HTTP push ÷ p50 of a bare call",
                                WritePath::lonePush)
                        .atMost("p50", "–", 2.0, 1.4),
                new Benchmark(
                                "W7",
                                "WAL per message, full cycle, batch 100, P1, dedup, retention",
                                WritePath::walOfCycle)
                        .atMost("bytes", "83", 83, 60),
                new Benchmark(
                                "W8",
                                "WAL without full pages ÷ payload, P2, batch 100, push only",
                                WritePath::walOfPayload)
                        .atMost("ratio", "–", 1.35, 1.15),
                new Benchmark(
                                "W9",
                                "WAL per message, full cycle, batch 1, saturated",
                                WritePath::walOfSingles)
                        .atMost("bytes", "≈ 1,000", 1_200, 700),
                new Benchmark(
                                "W10",
                                "CPU per message, dedup off ÷ on, all unique",
                                WritePath::dedup)
                        .atLeast("throughput", "≈ 1", 0.93, 0.98),
                new Benchmark(
                                "W11",
                                "the same over a tenth of the many lanes in rotation; heap growth"
                                        + " per message after a window",
                                WritePath::dedupOverManyLanes)
                        .atLeast("throughput", "collapse", 0.85, 0.95)
                        .atMost("heap", "19.6 bytes, for ever", 0, 0),
                new Benchmark(
                                "W12",
                                "CPU per message, unique ÷ duplicate; rows written per duplicate",
                                WritePath::duplicates)
                        .atLeast("throughput", "–", 0.5, 1)
                        .atMost("rows", "0", 0, 0),
                new Benchmark(
                                "W13",
                                "CPU per message, existing lanes ÷ a new lane with every push",
                                WritePath::newLanes)
                        .atLeast("throughput", "≈ 0.5 (p99)", 0.3, 0.6));
    }

    private static List<Benchmark> read() {
        return List.of(
                new Benchmark(
                                "R1",
                                "CPU per pop and its ack, many lanes ÷ 1,000, of which 100 are in"
                                        + " use",
                                ReadPath::popsAmongManyLanes)
                        .atMost("cpu", "1.15 (p99)", 1.15, 1.05),
                new Benchmark(
                                "R2",
                                "buffers per pop and its ack, the same pair",
                                ReadPath::buffersAmongManyLanes)
                        .atMost("buffers", "–", 1.3, 1.1),
                new Benchmark(
                                "R3",
                                "SQL statements per pop served from 40 lanes, nested ones too",
                                ReadPath::statements)
                        .atMost("statements", "6 to 7", 8, 5),
                new Benchmark(
                                "R4",
                                "PostgreSQL CPU of a claim of 40 lanes ÷ 1 lane, a message each",
                                ReadPath::wideClaim)
                        .atMost("ratio", "–", 12, 6),
                new Benchmark(
                                "R5",
                                "CPU per message pushed ÷ drained (pop 1000 and ack), 8 lanes",
                                ReadPath::drainAgainstPush)
                        .atLeast("ratio", "0.10", 0.4, 0.8),
                new Benchmark("R6", "drain rate, 500 lanes ÷ 8 lanes", ReadPath::drainOfManyLanes)
                        .atLeast("ratio", "1.7", 1.2, NONE),
                new Benchmark(
                                "R7",
                                "bytes from PostgreSQL ÷ payload delivered, consumer batch 1 on"
                                        + " segments of 100",
                                ReadPath::readAmplification)
                        .atMost("ratio", "≈ 100", 100, 3),
                new Benchmark(
                                "R8",
                                "pops per message, 100 queues of 5 msg/s; with minPopWaitTime 50",
                                ReadPath::thinPops)
                        .atMost("plain", "1.0 to 1.3", 1.05, NONE)
                        .atMost("min wait", "–", NONE, 0.5),
                new Benchmark(
                                "R9",
                                "flushed commits per message, batch 1, explicit ack, 8 lanes",
                                ReadPath::commits)
                        .atMost("quarter", "3.03", 3.0, 2.2)
                        .atMost("saturated", "≤ 1.73", 0.8, 0.3),
                new Benchmark(
                                "R10",
                                "CPU per message, full cycle, auto-ack ÷ leased and acknowledged",
                                FullCycle::shareOfAutoAck)
                        .atLeast("throughput", "0.9 to 1.0", 0.7, 0.9),
                new Benchmark(
                                "R11",
                                "leased pops/s, lease commits unflushed ÷ flushed, 1,000 lanes",
                                ReadPath::unflushedLeases)
                        .atLeast("ratio", "≤ 1.2", 1.05, 1.3),
                new Benchmark(
                                "R12",
                                "push to delivery at a parked consumer, p50 ÷ that of a bare call",
                                Latency::wake)
                        .atMost("p50", "≈ 4.4 ms", 4, 2.5),
                new Benchmark(
                                "R13",
                                "the same, p99 with many parked polls ÷ 10",
                                Latency::wakeAmongMany)
                        .atMost("p99", "5 to 40", 2, 1.2),
                new Benchmark(
                                "R14",
                                "CPU of an ack of 99 of a leased 100 ÷ of all 100",
                                AckPath::partialAgainstWhole)
                        .atMost("ratio", "–", 10, 4),
                new Benchmark(
                                "R15",
                                "CPU of that ack, lanes with a tenth of the many messages behind"
                                        + " the cursor ÷ 1,000",
                                AckPath::partialInDeepLanes)
                        .atMost("ratio", "grows", 1.5, 1.1),
                new Benchmark(
                                "R16",
                                "CPU of a lease renewal, many cursors ÷ 1,000",
                                AckPath::renewals)
                        .atMost("ratio", "∝ table", 1.5, 1.1));
    }

    private static List<Benchmark> volume() {
        return List.of(
                new Benchmark(
                                "M1",
                                "CPU per message, full cycle, empty ÷ many messages retained",
                                Volume::retained)
                        .atLeast("batch 100", "flat over 24 h", 0.93, 0.98)
                        .atLeast("batch 1", "–", 0.93, 0.98),
                new Benchmark(
                                "M2",
                                "CPU per message, first ÷ last tenth of a long saturated run,"
                                        + " retention at the insert rate",
                                Maintain::firstAgainstLastMinute)
                        .atLeast("ratio", "≈ 1.0 (old 0.80)", 0.95, 0.99),
                new Benchmark(
                                "M3",
                                "retention at the insert rate: CPU per message off ÷ on; p99 on ÷"
                                        + " off",
                                Maintain::whileRemoving)
                        .atLeast("throughput", "–", 0.85, 0.93)
                        .atMost("p99", "–", 1.5, 1.2),
                new Benchmark(
                                "M4",
                                "segments removed ÷ inserted, per PostgreSQL CPU",
                                Maintain::removalAgainstInsertion)
                        .atLeast("ratio", "–", 1.5, 3),
                new Benchmark(
                                "M5",
                                "PostgreSQL CPU to remove what is due in 1,000 lanes, among many ÷"
                                        + " alone",
                                Maintain::dueAmongMany)
                        .atMost("ratio", "402 s", 1.5, 1.1),
                new Benchmark(
                                "M6",
                                "time of the statements of a refresh of the statistics, 200 lanes"
                                        + " written, among a fifth of the many ÷ alone",
                                Maintain::statistics)
                        .atMost("ratio", "O(lanes)", 3, 1.2),
                new Benchmark("M7", "share of updates that stay in the heap", Volume::heapOnly)
                        .atLeast("partitions", "–", 0.97, 0.99)
                        .atLeast("cursors", "0.96", 0.97, 0.99),
                new Benchmark(
                                "M8",
                                "size of partitions and cursors after as many updates as many"
                                        + " messages ÷ fresh",
                                Volume::bloat)
                        .atMost("ratio", "–", 2.0, 1.4),
                new Benchmark(
                                "M9",
                                "buffers, generic ÷ custom plan, the worst of the statements, a"
                                        + " fifth of the many lanes",
                                Volume::genericPlans)
                        .atMost("worst", "42", 1.2, 1.2),
                new Benchmark(
                                "M10",
                                "slowest push ÷ p50 in a long saturated run, autovacuum on",
                                Volume::stalls)
                        .atMost("ratio", "seconds", 100, 30),
                new Benchmark(
                                "M11",
                                "second boot: exclusive locks wanted on tables; CPU seconds of"
                                        + " PostgreSQL",
                                Volume::secondBoot)
                        .atMost("locks", "> 0", 0, 0)
                        .atMost("apply", "–", NONE, 0.3),
                new Benchmark(
                                "M12",
                                "slowest answer of the routes of administrators, ms, one queue of"
                                        + " many lanes and messages in 16 epochs",
                                Deep::routes)
                        .atMost("reads", "O(lanes)", 250, 100)
                        .atMost("after seek", "O(lanes)", 250, 100)
                        .atMost("seek", "O(lanes)", 250, 50)
                        .atMost("delete", "O(lanes)", 250, 50),
                growth(
                        new Benchmark(
                                "M13",
                                "a store that grows (--growth), full cycle over 200 of the many"
                                        + " lanes against an empty twin, nothing removed: CPU"
                                        + " empty ÷ filled; p99 and buffers per pop filled ÷"
                                        + " empty",
                                Growth::keeping),
                        0.93,
                        0.98),
                growth(
                        new Benchmark(
                                "M14",
                                "the same at a fixed rate, while as many messages expire",
                                Growth::expiring),
                        // As M3, for removal is paid for.
                        0.85,
                        0.93));
    }

    /** At the first size above zero and at the last, batch 100 and 1. */
    private static Benchmark growth(Benchmark benchmark, double must, double aim) {
        Benchmark all = benchmark;
        for (String size : List.of(" first", " last")) {
            all =
                    all.atLeast("cpu 100" + size, "flat over 24 h", must, aim)
                            .atLeast("cpu 1" + size, "–", must, aim)
                            .atMost("buffers" + size, "–", 1.3, 1.1)
                            .atMost("p99 100" + size, "1.3 (44 M segments)", 1.5, NONE)
                            .atMost("p99 1" + size, "–", 1.5, NONE);
        }
        return all;
    }

    private static List<Benchmark> idle() {
        return List.of(
                new Benchmark(
                                "I1",
                                "cores of broker and PostgreSQL, many parked polls on as many"
                                        + " queues",
                                Idle::parkedPolls)
                        .atMost("cores", "0.81", 0.20, 0.05),
                new Benchmark(
                                "I2",
                                "SQL statements per parked poll and minute",
                                Idle::statementsOfParkedPolls)
                        .atMost("statements", "≈ 6", 1, 0.1),
                new Benchmark(
                                "I3",
                                "memory of the broker per parked poll, bytes (resident)",
                                Idle::memoryOfParkedPolls)
                        .atMost("bytes", "100,000 to 130,000", 60_000, 20_000),
                new Benchmark(
                                "I4",
                                "cores while idle, a fifth of the many lanes, no polls",
                                Idle::lanesWithoutPolls)
                        .atMost("cores", "0.31 to 0.38", 0.10, 0.02),
                new Benchmark(
                                "I5",
                                "bytes in the database per idle lane with one cursor",
                                Idle::bytesOfIdleLanes)
                        .atMost("bytes", "641", 641, 380),
                new Benchmark(
                                "I6",
                                "bytes in the broker per lane it knows, per lane that waits",
                                Idle::memoryOfLanes)
                        .atMost("lane", "5,000", 800, 150)
                        .atMost("entry", "1,900", 800, 64),
                new Benchmark("I7", "bytes on disk ÷ payload, P2, batch 100", Idle::bytesAtRest)
                        .atMost("ratio", "–", 1.5, 1.25),
                new Benchmark(
                                "I8",
                                "bytes of keys ÷ bytes of frames as stored, P1, batch 100",
                                Idle::keysAgainstFrames)
                        .atMost("ratio", "1.7", 1.7, 0.5),
                new Benchmark(
                                "I9",
                                "table rows written per minute, many queues, no traffic",
                                Idle::rowsWhileIdle)
                        .atMost("rows", "17,300", 100, 10),
                new Benchmark(
                                "I10",
                                "resident memory of the broker, end ÷ start of a long saturated"
                                        + " run",
                                Volume::memoryOverTime)
                        .atMost("ratio", "flat", 1.1, 1.02));
    }

    private static List<Benchmark> latency() {
        return List.of(
                new Benchmark(
                                "L1",
                                "half load, batch 1: end to end p50 ÷ two bare calls; p99 ÷ p50",
                                Latency::halfLoad)
                        .atMost("p50", "8 ms", 4, 2)
                        .atMost("tail", "≈ 3", 6, 3),
                new Benchmark("L2", "end to end p99, 90 % ÷ 50 % load", Latency::nearSaturation)
                        .atMost("p99", "≈ 11", 10, 4),
                new Benchmark("L3", "offered 150 %: served ÷ saturated; lost", Latency::overload)
                        .atLeast("served", "≥ 1", 0.95, 1.0)
                        .atMost("lost", "0", 0, 0),
                new Benchmark(
                                "L4",
                                "one lane 200 times as hot: p99 of the others ÷ uniform",
                                Latency::hotLane)
                        .atMost("p99", "1.00", 1.15, 1.03),
                new Benchmark(
                                "L6",
                                "polls = 20 × pool size under traffic: errors; p99 ÷ that of a"
                                        + " pool's worth",
                                Latency::manyPollers)
                        .atMost("errors", "crash", 0, 0)
                        .atMost("p99", "–", NONE, 1.5),
                new Benchmark(
                                "L7",
                                "first message of a new lane, the slowest, ms",
                                Latency::newLane)
                        .atMost("millis", "120,000", 1_000, 50),
                new Benchmark(
                                "L8",
                                "broker killed under load: lost; recovery ÷ lease",
                                Latency::killedBroker)
                        .atMost("lost", "0", 0, 0)
                        .atMost("recovery", "–", 1.1, NONE),
                new Benchmark(
                                "L9",
                                "CPU of broker ÷ PostgreSQL, full cycle",
                                FullCycle::brokerAgainstDatabase)
                        .atMost("batch 100", "0.95", 1.3, 0.9)
                        .atMost("batch 1", "0.36", 0.8, 0.4),
                new Benchmark(
                                "L10",
                                "CPU of the broker per message, batch 1 ÷ batch 100",
                                FullCycle::singlesAgainstBatches)
                        .atMost("ratio", "13.7", 20, 10),
                new Benchmark(
                                "L11",
                                "share of time that collections stop the broker, full cycle",
                                FullCycle::pauses)
                        .atMost("share", "–", 0.01, 0.003));
    }

    private static List<Benchmark> features() {
        return List.of(
                new Benchmark(
                                "F1",
                                "steps/s of one transaction (ack, push, key) ÷ of three calls",
                                Features::transaction)
                        .atLeast("steps", "–", 1.5, 2.5),
                new Benchmark(
                                "F2",
                                "keys written/s: one a call ÷ bare upserts; 25 a call ÷ one",
                                Features::keys)
                        .atLeast("single", "–", 0.4, 0.7)
                        .atLeast("batch", "4.1", 4, 8),
                new Benchmark(
                                "F5",
                                "timers delivered/s ÷ pushes/s of the same bytes, batch 1; ms behind their time",
                                Features::timers)
                        .atLeast("fires", "–", 0.3, 0.7)
                        .atMost("late p99", "–", 250, 50));
    }

    private static List<Benchmark> peers() {
        return List.of(
                new Benchmark(
                                "F6",
                                "deliveries per server CPU ÷ those of a queue of rows, 1,000 lanes"
                                        + " of 12 and of 2 msg/s",
                                Peers::perCore)
                        .atLeast("dense", "1.83", 1.8, 3)
                        .atLeast("sparse", "0.88", 0.9, 1.2),
                new Benchmark(
                                "F7",
                                "drain rate of a backlog of a tenth of the many messages ÷ that of"
                                        + " a queue of rows",
                                Peers::backlog)
                        .atLeast("drain", "15 to 30", 15, 30));
    }
}
