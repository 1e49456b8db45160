package io.queenmq;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.SqlTree;
import io.queenmq.testkit.SqlTree.SqlFunction;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/**
 * The lock order of the whole product, read from the heads of the functions: who locks in this
 * order never waits in a circle. A head has one clause per lock, separated by semicolons.
 */
class LockOrderTest {
    private static final List<String> ORDER =
            List.of(
                    "kv",
                    "timers",
                    "advisory",
                    "queues",
                    "groups",
                    "partitions",
                    "cursors",
                    "leases");
    private static final Pattern CLASS = Pattern.compile("\\b(" + String.join("|", ORDER) + ")\\b");

    @Test
    void everyFunctionLocksInTheOrderOfTheProduct() throws IOException {
        List<String> findings = new ArrayList<>();
        for (SqlFunction function : SqlTree.functions()) {
            int last = -1;
            for (String clause : function.locks().split(";", -1)) {
                // Whoever only tries, or skips what is held, never waits there.
                if (clause.contains("skip locked") || clause.contains("tried only")) {
                    continue;
                }
                for (String name : locked(clause)) {
                    int rank = ORDER.indexOf(name);
                    if (rank < last) {
                        findings.add(function + ": " + function.locks());
                    }
                    last = rank;
                }
            }
        }
        assertEquals("", String.join("\n", findings));
    }

    @Test
    void aHeadNamesEveryLockThatTheBodyTakes() throws IOException {
        Pattern write =
                Pattern.compile(
                        "(?:insert into|update|delete from) queen_store\\.([a-z_]+)"
                                + "|pg_(?:try_)?(advisory)_xact_lock");
        Pattern rowLock =
                Pattern.compile(
                        "from queen_store\\.([a-z_]+) (?:(?!\\bfrom\\b)[^;])*?for (?:no key )?(?:update|share)\\b");
        List<String> findings = new ArrayList<>();
        for (SqlFunction function : SqlTree.functions()) {
            Set<String> taken = new TreeSet<>();
            for (Pattern pattern : List.of(write, rowLock)) {
                Matcher matcher = pattern.matcher(function.statements());
                while (matcher.find()) {
                    taken.add(
                            matcher.group(1) != null
                                    ? matcher.group(1)
                                    : matcher.group(matcher.groupCount()));
                }
            }
            taken.retainAll(ORDER);
            taken.removeAll(locked(function.locks()));
            if (!taken.isEmpty()) {
                findings.add(function + " also locks " + taken + ", its head: " + function.locks());
            }
        }
        assertEquals("", String.join("\n", findings));
    }

    @Test
    void aHeadNamesEveryLockOfTheFunctionsItCalls() throws IOException {
        Map<String, Set<String>> locks = new HashMap<>();
        for (SqlFunction function : SqlTree.functions()) {
            locks.computeIfAbsent(function.name(), n -> new TreeSet<>())
                    .addAll(locked(function.locks()));
        }
        List<String> findings = new ArrayList<>();
        for (SqlFunction function : SqlTree.functions()) {
            Matcher call =
                    Pattern.compile("\\b(queen(?:_store)?\\.[a-z_0-9]+)\\s*\\(")
                            .matcher(function.statements());
            while (call.find()) {
                Set<String> missing = new TreeSet<>(locks.getOrDefault(call.group(1), Set.of()));
                missing.removeAll(locked(function.locks()));
                if (!missing.isEmpty() && !call.group(1).equals(function.name())) {
                    findings.add(function + " calls " + call.group(1) + ", which locks " + missing);
                }
            }
        }
        assertEquals("", String.join("\n", new LinkedHashSet<>(findings)));
    }

    /** Lock classes that a text names, in its order. */
    private static Set<String> locked(String text) {
        return CLASS.matcher(text)
                .results()
                .map(r -> r.group(1))
                .collect(Collectors.toCollection(LinkedHashSet::new));
    }
}
