package io.queenmq;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static java.util.Map.entry;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchCondition;
import com.tngtech.archunit.lang.ConditionEvents;
import com.tngtech.archunit.lang.SimpleConditionEvent;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** The arrows between rooms: packages are the architecture. */
class ArchitectureTest {
    private static final JavaClasses CLASSES =
            new ClassFileImporter()
                    .withImportOption(new ImportOption.DoNotIncludeTests())
                    .importPackages("io.queenmq");

    private static final Set<String> EDGE = Set.of("http", "admin", "openapi", "cli");

    private static final Set<String> FOUNDATION =
            Set.of(
                    "db",
                    "embedded",
                    "access",
                    "web",
                    "combine",
                    "segment",
                    "cipher",
                    "runtime",
                    "model",
                    "metrics",
                    "config");

    /** Which engine room may use which other; a new arrow needs a reason. */
    private static final Map<String, Set<String>> ENGINE =
            new TreeMap<>(
                    Map.ofEntries(
                            entry("push", Set.of("count", "dedup", "queue", "ready")),
                            // A pop registers its group and starts where that begins.
                            entry("pop", Set.of("count", "group", "queue", "ready")),
                            entry("ack", Set.of("count", "ready")),
                            // Each enlists its part; the names of lanes are those of queue.
                            entry("transact", Set.of("push", "ack", "kv", "timer", "queue")),
                            entry("kv", Set.of("gate")),
                            // Tells the others when something is switched.
                            entry("gate", Set.of("hint")),
                            // What is due goes to lanes as a push would, and wakes as one does.
                            entry("timer", Set.of("count", "gate", "queue", "ready", "hint")),
                            entry("queue", Set.of("ready")),
                            entry("group", Set.of("ready")),
                            entry("ready", Set.of("hint")),
                            // Told by those whose calls change something.
                            entry("count", Set.of()),
                            entry("dedup", Set.of()),
                            entry("hint", Set.of()),
                            // Carries hints in and out.
                            entry("notify", Set.of("hint", "ready", "group", "queue")),
                            entry("maintain", Set.of()),
                            // Reads, for the edges that show it.
                            entry("insight", Set.of()),
                            // Who finds nothing to read waits as a pop does.
                            entry("fetch", Set.of("ready")),
                            // What applications note: the broker itself reads none of it.
                            entry("trace", Set.of()),
                            // Asks the server itself, by way of db alone.
                            entry("doctor", Set.of())));

    /** Other classes that speak JDBC, and why. */
    private static final Set<String> JDBC_TOO =
            Set.of(
                    // Asks who the server is, on the session of PushProcedures.
                    "ServerWatch",
                    // Waits for notifications on a connection of its own.
                    "NotifyCarrier");

    private static String room(JavaClass type) {
        String name = type.getPackageName();
        return name.equals("io.queenmq") ? "" : name.substring("io.queenmq.".length());
    }

    @Test
    void roomsAreFlatAndKnown() {
        Set<String> rooms = new TreeSet<>();
        CLASSES.forEach(type -> rooms.add(room(type)));
        Set<String> known = new TreeSet<>(EDGE);
        known.addAll(FOUNDATION);
        known.addAll(ENGINE.keySet());
        known.add("");
        rooms.removeAll(known);
        assertEquals(Set.of(), rooms, "rooms that no arrow is drawn for");
    }

    @Test
    void arrowsPointDown() {
        Set<String> wrong = new TreeSet<>();
        for (JavaClass type : CLASSES) {
            for (Dependency dependency : type.getDirectDependenciesFromSelf()) {
                JavaClass target = dependency.getTargetClass().getBaseComponentType();
                if (target.getPackageName().startsWith("io.queenmq")
                        && !mayUse(room(type), room(target))) {
                    wrong.add(type.getName() + " -> " + target.getName());
                }
            }
        }
        assertEquals(Set.of(), wrong);
    }

    private static boolean mayUse(String from, String to) {
        if (from.equals(to)) {
            return true;
        }
        if (from.isEmpty()) {
            // Broker wires every room; Main starts the command line, which alone knows Broker.
            return true;
        }
        if (to.isEmpty()) {
            return from.equals("cli");
        }
        if (EDGE.contains(from)) {
            return !EDGE.contains(to);
        }
        if (FOUNDATION.contains(from)) {
            return FOUNDATION.contains(to);
        }
        return FOUNDATION.contains(to) || ENGINE.getOrDefault(from, Set.of()).contains(to);
    }

    @Test
    void noRoomReachesItself() {
        Map<String, Set<String>> uses = new TreeMap<>();
        for (JavaClass type : CLASSES) {
            for (Dependency dependency : type.getDirectDependenciesFromSelf()) {
                JavaClass target = dependency.getTargetClass().getBaseComponentType();
                if (target.getPackageName().startsWith("io.queenmq.")
                        && !room(type).isEmpty()
                        && !room(type).equals(room(target))) {
                    uses.computeIfAbsent(room(type), r -> new TreeSet<>()).add(room(target));
                }
            }
        }
        for (String start : uses.keySet()) {
            Set<String> reached = new HashSet<>();
            reach(uses, start, reached);
            assertTrue(!reached.contains(start), start + " is in a cycle: " + uses);
        }
    }

    private static void reach(Map<String, Set<String>> uses, String room, Set<String> reached) {
        for (String next : uses.getOrDefault(room, Set.of())) {
            if (reached.add(next)) {
                reach(uses, next, reached);
            }
        }
    }

    @Test
    void onlyDbAndProceduresSpeakJdbc() {
        noClasses()
                .that(
                        DescribedPredicate.not(
                                new DescribedPredicate<JavaClass>("are made for it") {
                                    @Override
                                    public boolean test(JavaClass type) {
                                        String outer = outermost(type);
                                        return room(type).equals("db")
                                                || outer.endsWith("Procedures")
                                                || JDBC_TOO.contains(outer);
                                    }
                                }))
                .should()
                .dependOnClassesThat(
                        resideInAnyPackage(
                                "java.sql..", "javax.sql..", "org.postgresql..", "com.zaxxer.."))
                .check(CLASSES);
    }

    private static String outermost(JavaClass type) {
        String name = type.getName().substring(type.getPackageName().length() + 1);
        int dollar = name.indexOf('$');
        return dollar < 0 ? name : name.substring(0, dollar);
    }

    @Test
    void onlyWebAndEdgesSeeTheHttpServer() {
        noClasses()
                .that()
                .resideOutsideOfPackages(
                        "io.queenmq.web..", "io.queenmq.http..", "io.queenmq.admin..")
                .should()
                .dependOnClassesThat(
                        resideInAnyPackage("io.helidon.webserver..", "io.helidon.http.."))
                .check(CLASSES);
    }

    @Test
    void onlyDbAndReadsSeeTheClientOfColdReads() {
        noClasses()
                .that(
                        new DescribedPredicate<JavaClass>("neither db nor made for reading") {
                            @Override
                            public boolean test(JavaClass type) {
                                return !room(type).equals("db")
                                        && !outermost(type).endsWith("Reads");
                            }
                        })
                .should()
                .dependOnClassesThat(resideInAPackage("io.helidon.dbclient.."))
                .check(CLASSES);
    }

    @Test
    void onlyConfigReadsTheEnvironment() {
        noClasses()
                .that()
                .resideOutsideOfPackage("io.queenmq.config..")
                .should()
                .callMethod(System.class, "getenv")
                .orShould()
                .callMethod(System.class, "getenv", String.class)
                .check(CLASSES);
    }

    @Test
    void onlyRuntimeSeesClocks() {
        noClasses()
                .that()
                .resideOutsideOfPackage("io.queenmq.runtime..")
                .should()
                .callMethod(System.class, "nanoTime")
                .orShould()
                .callMethod(System.class, "currentTimeMillis")
                .orShould()
                .callMethod(Instant.class, "now")
                .orShould()
                .dependOnClassesThat(resideInAPackage("java.time").and(isClock()))
                .check(CLASSES);
    }

    private static DescribedPredicate<JavaClass> isClock() {
        return DescribedPredicate.describe(
                "are clocks", type -> type.getSimpleName().equals("Clock"));
    }

    @Test
    void noStaticChanges() {
        classes()
                .should(
                        new ArchCondition<JavaClass>("have no static field that can be set") {
                            @Override
                            public void check(JavaClass type, ConditionEvents events) {
                                type.getFields().stream()
                                        .filter(f -> f.getModifiers().contains(JavaModifier.STATIC))
                                        .filter(f -> !f.getModifiers().contains(JavaModifier.FINAL))
                                        .forEach(
                                                f ->
                                                        events.add(
                                                                SimpleConditionEvent.violated(
                                                                        f, f.getFullName())));
                            }
                        })
                .check(CLASSES);
    }

    @Test
    void classesAreFinalUnlessTheyAreSealedOrForOthersToExtend() {
        List<String> open =
                CLASSES.stream()
                        .filter(c -> !c.isInterface() && !c.isEnum() && !c.isAnonymousClass())
                        .filter(c -> !c.getModifiers().contains(JavaModifier.FINAL))
                        .filter(c -> !c.getModifiers().contains(JavaModifier.ABSTRACT))
                        .filter(c -> c.getSubclasses().isEmpty())
                        .map(JavaClass::getName)
                        .toList();
        assertEquals(List.of(), open);
    }
}
