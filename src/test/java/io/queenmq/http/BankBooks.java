package io.queenmq.http;

import io.queenmq.testkit.Json;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * What the clients of {@link TransactStressHttpTest} were told, added up; and the words for what
 * several kinds of them do. Any thread.
 */
final class BankBooks {
    static final int ACCOUNTS = 5;
    static final int OPENING = 100;

    private static final int SHARED_TIMERS = 4;
    private static final int FLIPS = 3;

    private final int orders;
    private final int[] balances = new int[ACCOUNTS];
    private final Set<String> mayRing = new HashSet<>();
    private int left;
    private int toRing;

    BankBooks(int orders) {
        this.orders = orders;
        this.left = orders;
        Arrays.fill(balances, OPENING);
    }

    synchronized int left() {
        return left;
    }

    synchronized void served(int count) {
        left -= count;
    }

    synchronized void moved(int[] moves) {
        for (int i = 0; i < ACCOUNTS; i++) {
            balances[i] += moves[i];
        }
    }

    synchronized List<String> balances() {
        return IntStream.of(balances).mapToObj(Integer::toString).toList();
    }

    /** The numbers of all of them. */
    List<String> orders() {
        return IntStream.range(0, orders).mapToObj(Integer::toString).toList();
    }

    /** Results of operations on timers, among others. */
    void changed(Json results) {
        for (int i = 0; i < results.size(); i++) {
            Json result = results.at(i);
            if (result.names().contains("timerKey")
                    && result.text("timerKey").startsWith("shared")) {
                changed(
                        result.text("status"),
                        result.names().contains("txn") ? result.text("txn") : "");
            }
        }
    }

    /** One result about a timer that clients share. */
    synchronized void changed(String status, String transactionId) {
        switch (status) {
            case "scheduled" -> {
                toRing++;
                mayRing.add(transactionId);
            }
            case "rescheduled" -> mayRing.add(transactionId);
            case "cancelled" -> {
                toRing--;
                mayRing.remove(transactionId);
            }
            default -> {
                // Absent or too late: nothing was changed.
            }
        }
    }

    /** How many shared timers were made and not cancelled. */
    synchronized int toRing() {
        return toRing;
    }

    synchronized Set<String> mayRing() {
        return Set.copyOf(mayRing);
    }

    /** From one account to another. */
    static int[] move(Random random) {
        int[] moves = new int[ACCOUNTS];
        int amount = 1 + random.nextInt(20);
        int from = random.nextInt(ACCOUNTS);
        moves[from] -= amount;
        moves[(from + 1 + random.nextInt(ACCOUNTS - 1)) % ACCOUNTS] += amount;
        return moves;
    }

    /** Operations on keys that move it, unless an account were overdrawn. */
    static List<String> incrs(int[] moves) {
        return IntStream.range(0, ACCOUNTS)
                .filter(i -> moves[i] != 0)
                .mapToObj(
                        i ->
                                "{\"op\":\"incr\",\"ns\":\"bank\",\"key\":\"a%d\",\"delta\":%d,\"min\":0,\"forever\":true,\"required\":true}"
                                        .formatted(i, moves[i]))
                .toList();
    }

    /** Operations on keys that come and go. */
    static List<String> flips(Random random) {
        List<String> flips = new ArrayList<>();
        for (int flip : some(FLIPS, random)) {
            flips.add(
                    "{\"ns\":\"flip\",\"key\":\"f%d\",%s}"
                            .formatted(
                                    flip,
                                    random.nextBoolean()
                                            ? "\"op\":\"delete\""
                                            : "\"op\":\"put\",\"value\":1,\"forever\":true"));
        }
        return flips;
    }

    /** Operations on timers that clients share. */
    static List<String> bells(String name, Random random) {
        List<String> bells = new ArrayList<>();
        for (int key : some(SHARED_TIMERS, random)) {
            bells.add(
                    random.nextInt(3) == 0
                            ? "{\"op\":\"cancel\",\"queue\":\"bell\",\"key\":\"shared %d\"}"
                                    .formatted(key)
                            : schedule(
                                    "shared " + key,
                                    "shared " + name + " " + key,
                                    "0",
                                    random.nextInt(40)));
        }
        return bells;
    }

    static String schedule(String key, String transactionId, String payload, int delayMs) {
        return "{\"op\":\"schedule\",\"queue\":\"bell\",\"key\":\"%s\",\"txn\":\"%s\",\"payload\":%s,\"delaySeconds\":0.%03d}"
                .formatted(key, transactionId, payload, delayMs);
    }

    /** One step of queen.transact: money, keys that come and go, shared timers and a push. */
    static String sqlCall(String name, int[] moves, Random random) {
        List<String> keys = new ArrayList<>();
        for (int i = 0; i < ACCOUNTS; i++) {
            if (moves[i] != 0) {
                keys.add("('incr', 'bank', 'a%d', null, %d, 0, true)".formatted(i, moves[i]));
            }
        }
        for (int flip : some(FLIPS, random)) {
            keys.add(
                    random.nextBoolean()
                            ? "('delete', 'flip', 'f%d', null, null, null, false)".formatted(flip)
                            : "('put', 'flip', 'f%d', '1', null, null, false)".formatted(flip));
        }
        List<String> timers = new ArrayList<>();
        for (int key : some(SHARED_TIMERS, random)) {
            timers.add(
                    "('%s', 'shared %2$d', 'shared %3$s %2$d', %4$d)"
                            .formatted(
                                    random.nextInt(3) == 0 ? "cancel" : "schedule",
                                    key,
                                    name,
                                    random.nextInt(40)));
        }
        return """
        select t.part, t.status, t.transaction_id
        from (
            select array_agg(k.op) as ops, array_agg(k.ns) as namespaces, array_agg(k.key) as keys,
                   array_agg(k.value::json) as values, array_agg(k.delta::numeric) as deltas,
                   array_agg(k.min::numeric) as mins, array_agg(k.required) as required
            from (values %s) as k (op, ns, key, value, delta, min, required)) k
        cross join (
            select array_agg(b.op) as ops, array_agg('bell'::text) as queues,
                   array_agg(b.key) as keys, array_agg('0'::text) as payloads,
                   array_agg(clock_timestamp() + b.ms * interval '1 ms') as times,
                   array_agg(b.txn) as ids
            from (values %s) as b (op, key, txn, ms)) b
        cross join lateral queen.transact(
            array['ledger'], array['l%d'], array['"noise"'],
            p_kv_ops => k.ops, p_kv_namespaces => k.namespaces, p_kv_keys => k.keys,
            p_kv_values => k.values, p_kv_deltas => k.deltas, p_kv_mins => k.mins,
            p_kv_required => k.required,
            p_timer_ops => b.ops, p_timer_queues => b.queues, p_timer_keys => b.keys,
            p_timer_payloads => b.payloads, p_timer_deliver_ats => b.times,
            p_timer_transaction_ids => b.ids) t
        """
                .formatted(String.join(", ", keys), String.join(", ", timers), random.nextInt(4));
    }

    /** Some of so many, none twice, in any order. */
    private static Set<Integer> some(int many, Random random) {
        Set<Integer> some = new LinkedHashSet<>();
        for (int i = 1 + random.nextInt(many); i > 0; i--) {
            some.add(random.nextInt(many));
        }
        return some;
    }
}
