package io.queenmq;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.Contract;
import java.io.IOException;
import java.lang.reflect.Method;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.Test;
import org.junit.platform.commons.annotation.Testable;
import org.junit.platform.commons.support.AnnotationSupport;

/**
 * Every rule that the manual states has a test that names it, and every test that names a rule
 * names one of the manual's. The page that shows both is checked in; the test leaves what it found
 * in {@code target/contract.md}.
 */
class ContractTableTest {
    private static final Path MANUAL = Path.of("docs/http-api.md");
    private static final Path SOURCES = Path.of("src/test/java");
    private static final Path PAGE = Path.of("docs/contract.md");
    private static final Path FOUND = Path.of("target/contract.md");
    private static final String ABSENT = "Not in this version";

    /** A heading of the manual, or a row of a table that begins with the id of a rule. */
    private static final Pattern LINE =
            Pattern.compile(
                    "^(?:(?<level>##+) (?<title>.+)|\\| `(?<rule>[a-z]+(?:-[a-z]+)*-\\d+)` \\|.*)$",
                    Pattern.MULTILINE);

    private static final String HEAD =
            """
            # The contract and its tests

            Which tests prove which rule of [http-api.md](http-api.md). Written by `ContractTableTest`
            (`cp target/contract.md docs/`), which fails while a rule has no test.
            """;

    private record Rule(String section, String id, boolean absent) {}

    private static final List<Rule> RULES = new ArrayList<>();
    private static final Map<String, Set<String>> TESTS = new TreeMap<>();

    /** What carries the annotation and is no test that runs. */
    private static final List<String> NO_TESTS = new ArrayList<>();

    @BeforeAll
    static void readRulesAndTests() throws IOException, URISyntaxException {
        String section = "";
        boolean absent = false;
        Matcher line = LINE.matcher(Files.readString(MANUAL));
        while (line.find()) {
            if (line.group("rule") != null) {
                RULES.add(new Rule(section, line.group("rule"), absent));
            } else {
                section = line.group("title");
                absent = line.group("level").equals("##") ? section.equals(ABSENT) : absent;
            }
        }
        Path classes =
                Path.of(
                        ContractTableTest.class
                                .getProtectionDomain()
                                .getCodeSource()
                                .getLocation()
                                .toURI());
        try (Stream<Path> files = Files.walk(classes)) {
            for (Path file : files.filter(f -> f.toString().endsWith(".class")).toList()) {
                String name = classes.relativize(file).toString().replace(".class", "");
                // An incremental build leaves the classes of tests that are gone.
                Path source = SOURCES.resolve(name.replaceFirst("\\$.*", "") + ".java");
                if (Files.exists(source)) {
                    read(name.replace('/', '.'));
                }
            }
        }
    }

    private static void read(String className) {
        Class<?> type;
        try {
            type = Class.forName(className, false, ContractTableTest.class.getClassLoader());
        } catch (ClassNotFoundException e) {
            throw new AssertionError(e);
        }
        String shown = className.replace("io.queenmq.", "");
        boolean hasTests = false;
        for (Method method : type.getDeclaredMethods()) {
            boolean runs =
                    AnnotationSupport.isAnnotated(method, Testable.class)
                            && !AnnotationSupport.isAnnotated(method, Disabled.class)
                            && !AnnotationSupport.isAnnotated(type, Disabled.class);
            hasTests |= runs;
            note(method.getAnnotation(Contract.class), shown + "#" + method.getName(), runs);
        }
        note(type.getAnnotation(Contract.class), shown, hasTests);
    }

    private static void note(@Nullable Contract contract, String test, boolean runs) {
        if (contract != null) {
            for (String rule : contract.value()) {
                TESTS.computeIfAbsent(rule, r -> new TreeSet<>()).add(test);
            }
            if (!runs) {
                NO_TESTS.add(test);
            }
        }
    }

    private static Set<String> testsOf(Rule rule) {
        return TESTS.getOrDefault(rule.id(), Set.of());
    }

    @Test
    void everyRuleHasItsOwnId() {
        Set<String> ids = new HashSet<>();
        assertNone(RULES.stream().map(Rule::id).filter(id -> !ids.add(id)));
    }

    @Test
    void everyRuleHasATest() {
        assertNone(
                RULES.stream()
                        .filter(rule -> !rule.absent() && testsOf(rule).isEmpty())
                        .map(Rule::id));
    }

    @Test
    void whatIsNotThereHasNoTest() {
        assertNone(
                RULES.stream()
                        .filter(rule -> rule.absent() && !testsOf(rule).isEmpty())
                        .map(rule -> rule.id() + " has " + testsOf(rule)));
    }

    @Test
    void everyTestNamesRulesThatExist() {
        Set<String> ids = new HashSet<>(RULES.stream().map(Rule::id).toList());
        assertNone(
                TESTS.entrySet().stream()
                        .filter(entry -> !ids.contains(entry.getKey()))
                        .map(entry -> entry.getKey() + " of " + entry.getValue()));
    }

    @Test
    void onlyTestsThatRunProveSomething() {
        assertNone(NO_TESTS.stream());
    }

    @Test
    void pageIsUpToDate() throws IOException {
        StringBuilder page = new StringBuilder(HEAD);
        String section = "";
        for (Rule rule : RULES) {
            if (rule.absent()) {
                continue;
            }
            if (!rule.section().equals(section)) {
                section = rule.section();
                page.append("\n## ").append(section).append("\n\n| rule | tests |\n|---|---|\n");
            }
            page.append("| `").append(rule.id()).append("` | ");
            page.append(String.join(", ", testsOf(rule).stream().map(t -> "`" + t + "`").toList()));
            page.append(" |\n");
        }
        Files.writeString(FOUND, page);
        assertEquals(Files.readString(PAGE), page.toString());
    }

    private static void assertNone(Stream<String> findings) {
        assertEquals("", String.join("\n", findings.toList()));
    }
}
