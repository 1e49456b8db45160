package io.queenmq;

import static io.queenmq.testkit.Lines.lines;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.model.Failure;
import io.queenmq.testkit.SqlTree;
import io.queenmq.testkit.SqlTree.SqlFunction;
import io.queenmq.testkit.TestDatabase;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Rules of the sources that a machine can check; each finding names file and line or function. */
class TidyTest {
    private static final int JAVA_LINES_MAX = 500;
    private static final int SQL_COLUMNS_MAX = 100;

    @Test
    void everyFunctionSaysWhatItIsWhoCallsItWhatItLocksAndWhatItCosts() throws IOException {
        List<String> findings = new ArrayList<>();
        for (SqlFunction function : SqlTree.functions()) {
            if (!function.purpose().matches("\\Q" + function.name() + "\\E: .+")) {
                findings.add(function + ": the head does not begin with its name and purpose");
            }
            for (String label : List.of("Called by", "Locks", "Returns", "Cost")) {
                if (function.labels().getOrDefault(label, "").isBlank()) {
                    findings.add(function + ": no line " + label);
                }
            }
        }
        assertNone(findings);
    }

    /** Only what is written in the language of names is checked: classes and functions. */
    @Test
    void whoIsSaidToCallAFunctionCallsIt() throws IOException {
        Map<String, String> callers = new HashMap<>();
        for (SqlFunction function : SqlTree.functions()) {
            callers.merge(function.name(), function.statements(), String::concat);
        }
        for (Path file : files("Procedures.java")) {
            String name = file.getFileName().toString().replace(".java", "");
            callers.put(name, Files.readString(file));
        }
        Pattern name =
                Pattern.compile("\\b(?:[A-Z]\\w*Procedures|(?:queen\\.)?[a-z]+(?:_[a-z]+)*)\\b");
        List<String> findings = new ArrayList<>();
        for (SqlFunction function : SqlTree.functions()) {
            String bare = function.name().replaceFirst(".*\\.", "");
            Matcher matcher = name.matcher(function.labels().getOrDefault("Called by", ""));
            while (matcher.find()) {
                String caller = matcher.group();
                String source = callers.getOrDefault(caller, callers.get("queen_store." + caller));
                if (source == null && (caller.contains("_") || caller.endsWith("Procedures"))) {
                    findings.add(function + ": there is no " + caller);
                } else if (source != null && !source.matches("(?s).*[.\"]" + bare + "\\W.*")) {
                    findings.add(function + ": " + caller + " does not call it");
                }
            }
        }
        assertNone(findings);
    }

    /** Functions of the schema queen may be named as what they are: its API. */
    @Test
    void whoCallsAFunctionIsSaidToCallIt() throws IOException {
        Map<String, String> told = new HashMap<>();
        for (SqlFunction function : SqlTree.functions()) {
            told.put(function.name(), function.labels().getOrDefault("Called by", ""));
        }
        Pattern call = Pattern.compile("\\b(queen_store\\.\\w+)\\s*\\(");
        List<String> findings = new ArrayList<>();
        for (SqlFunction caller : SqlTree.functions()) {
            String name = caller.name().replace("queen_store.", "");
            Pattern named =
                    Pattern.compile(
                            "(?<![\\w.])\\Q"
                                    + name
                                    + "\\E\\b"
                                    + (name.startsWith("queen.") ? "|queen API functions" : ""));
            Matcher matcher = call.matcher(caller.statements());
            while (matcher.find()) {
                String called = matcher.group(1);
                if (told.containsKey(called)
                        && !called.equals(caller.name())
                        && !named.matcher(told.get(called)).find()) {
                    findings.add(called + ": " + caller + " calls it, and its head leaves it out");
                }
            }
        }
        assertNone(findings);
    }

    @Test
    void everyRaiseIsInTheHeadAndInTheCatalogue() throws IOException {
        Set<String> catalogue =
                Arrays.stream(Failure.values())
                        .map(f -> "QN" + f.status() + " " + f.code())
                        .collect(Collectors.toSet());
        // A state of PostgreSQL's own, for which brokers and applications repeat a call.
        catalogue.add("40001 key_removed");
        Pattern raise =
                Pattern.compile("errcode\\s*=\\s*'([^']+)'(?:\\s*,\\s*message\\s*=\\s*'([^']+)')?");
        List<String> findings = new ArrayList<>();
        for (SqlFunction function : SqlTree.functions()) {
            Matcher matcher = raise.matcher(function.statements());
            while (matcher.find()) {
                String refusal = matcher.group(1) + " " + matcher.group(2);
                if (!catalogue.contains(refusal)) {
                    findings.add(function + " raises " + refusal + ", which no Failure is");
                }
                if (!function.labels().getOrDefault("Raises", "").contains(refusal)) {
                    findings.add(function + " raises " + refusal + ", which its head leaves out");
                }
            }
            int raises = function.statements().split("raise exception", -1).length - 1;
            if (raises != matcher.reset().results().count()) {
                findings.add(function + " raises without an errcode and message of the catalogue");
            }
        }
        assertNone(findings);
    }

    @Test
    void functionsPinTheirSearchPathAndSpellVolatilityAndParallelSafety() throws IOException {
        List<String> findings = new ArrayList<>();
        for (SqlFunction function : SqlTree.functions()) {
            String code = function.statements();
            boolean inlined = !code.contains("$$");
            if (inlined == code.contains("set search_path = pg_catalog, pg_temp")) {
                findings.add(function + ": the search path is pinned unless it is to be inlined");
            }
            if (!code.matches(
                    "(?s).*language (sql|plpgsql) (immutable|stable|volatile) parallel"
                            + " (safe|unsafe|restricted)\\n.*")) {
                findings.add(function + ": language, volatility and parallel safety on one line");
            }
            if (code.contains("security definer") && !function.name().startsWith("queen.")) {
                findings.add(function + ": only the API runs with the rights of its owner");
            }
        }
        assertNone(findings);
    }

    @Test
    void everythingInTheDatabaseHasAComment() throws SQLException {
        try (TestDatabase database = TestDatabase.migrated();
                Connection connection = database.connect()) {
            assertNone(
                    lines(
                            connection,
                            """
                            with relation as (
                                select c.oid, c.oid::regclass::text as name
                                from pg_class c
                                where c.relnamespace in ('queen'::regnamespace,
                                                         'queen_store'::regnamespace)
                                  and c.relkind in ('r', 'p', 'v') and not c.relispartition
                                  and c.relname <> 'schema_history')
                            select 'relation ' || r.name from relation r
                            where obj_description(r.oid, 'pg_class') is null
                            union all
                            select 'column ' || r.name || '.' || a.attname
                            from relation r
                            join pg_attribute a on a.attrelid = r.oid and a.attnum > 0
                                and not a.attisdropped
                            where col_description(r.oid, a.attnum) is null
                            union all
                            select 'function ' || p.oid::regprocedure
                            from pg_proc p
                            where p.pronamespace in ('queen'::regnamespace,
                                                     'queen_store'::regnamespace)
                              and obj_description(p.oid, 'pg_proc') is null
                            union all
                            select 'schema ' || n.nspname from pg_namespace n
                            where n.nspname in ('queen', 'queen_store')
                              and obj_description(n.oid, 'pg_namespace') is null
                            """));
        }
    }

    /** The view queen.functions shows the locks from there. */
    @Test
    void theCommentOfAFunctionEndsWithTheLocksOfItsHead() throws SQLException, IOException {
        Set<String> sources =
                SqlTree.functions().stream()
                        .map(f -> f.name() + " Locks: " + f.locks())
                        .collect(Collectors.toSet());
        try (TestDatabase database = TestDatabase.migrated();
                Connection connection = database.connect()) {
            List<String> shown =
                    lines(
                            connection,
                            "select schema_name || '.' || function_name || ' Locks: ' || locks"
                                    + " from queen.functions");
            assertNone(shown.stream().filter(f -> !sources.contains(f)).sorted().toList());
        }
    }

    @Test
    void sqlKeepsToItsColumns() throws IOException {
        List<String> findings = new ArrayList<>();
        for (Path file : SqlTree.files()) {
            List<String> lines = Files.readAllLines(file);
            for (int i = 0; i < lines.size(); i++) {
                String line = lines.get(i);
                // A sentence that psql shows stays one literal.
                boolean sentence = line.startsWith("comment on") || line.matches("\\s+'.*';");
                if (line.length() > SQL_COLUMNS_MAX && !sentence) {
                    findings.add(file + ":" + (i + 1) + " has " + line.length() + " columns");
                }
                if (line.contains("\t")) {
                    findings.add(file + ":" + (i + 1) + " has a tab");
                }
            }
        }
        assertNone(findings);
    }

    @Test
    void nothingReadsTheClockOfTheTransactionStart() throws IOException {
        Pattern banned =
                Pattern.compile("\\b(now\\(\\)|current_timestamp|transaction_timestamp\\(\\))");
        List<String> findings = new ArrayList<>();
        for (Path file : SqlTree.files()) {
            List<String> lines = Files.readAllLines(file);
            for (int i = 0; i < lines.size(); i++) {
                if (banned.matcher(lines.get(i).replaceAll("--.*", "")).find()) {
                    findings.add(file + ":" + (i + 1));
                }
            }
        }
        assertNone(findings);
    }

    @Test
    void javaFilesAreShortAndNeverSleepOrSpin() throws IOException {
        List<String> findings = new ArrayList<>();
        for (Path file : files(".java")) {
            List<String> lines = Files.readAllLines(file);
            if (lines.size() > JAVA_LINES_MAX) {
                findings.add(file + " has " + lines.size() + " lines");
            }
            for (int i = 0; i < lines.size(); i++) {
                if (lines.get(i).matches(".*\\bThread\\s*\\.\\s*sleep\\s*\\(.*")) {
                    findings.add(file + ":" + (i + 1) + " sleeps");
                }
                // A spin ends with its condition or never: testkit.Await has a bound.
                if (lines.get(i).matches(".*\\bThread\\s*[.:]+\\s*onSpinWait\\b.*")) {
                    findings.add(file + ":" + (i + 1) + " spins");
                }
            }
        }
        assertNone(findings);
    }

    @Test
    void nothingIsLeftToDo() throws IOException {
        Pattern banned = Pattern.compile("\\b(TO" + "DO|FIX" + "ME|XX" + "X)\\b");
        List<String> findings = new ArrayList<>();
        for (String suffix : List.of(".java", ".sql", ".md", ".sh", ".xml", ".yml")) {
            for (Path file : files(suffix)) {
                List<String> lines = Files.readAllLines(file);
                for (int i = 0; i < lines.size(); i++) {
                    if (banned.matcher(lines.get(i)).find()) {
                        findings.add(file + ":" + (i + 1));
                    }
                }
            }
        }
        assertNone(findings);
    }

    @Test
    void everyLinkOfADocumentLeadsSomewhere() throws IOException {
        Pattern link = Pattern.compile("\\]\\((?!https?:|mailto:)([^)#\\s]*)(#[^)\\s]*)?\\)");
        List<String> findings = new ArrayList<>();
        for (Path file : files(".md")) {
            Matcher matcher = link.matcher(withoutCode(Files.readString(file)));
            while (matcher.find()) {
                Path target =
                        matcher.group(1).isEmpty()
                                ? file
                                : file.resolveSibling(matcher.group(1)).normalize();
                if (!Files.exists(target)) {
                    findings.add(file + ": " + matcher.group());
                } else if (matcher.group(2) != null
                        && !anchors(target).contains(matcher.group(2).substring(1))) {
                    findings.add(file + ": no heading for " + matcher.group());
                }
            }
        }
        assertNone(findings);
    }

    private static String withoutCode(String text) {
        return text.replaceAll("(?ms)^ *```.*?^ *```", "").replaceAll("`[^`\\n]*`", "");
    }

    /** Headings of a document in the form in which links name them. */
    private static Set<String> anchors(Path file) throws IOException {
        return withoutFences(Files.readString(file))
                .lines()
                .filter(l -> l.matches("#+ .*"))
                .map(l -> l.replaceFirst("#+ ", "").toLowerCase(Locale.ROOT))
                .map(l -> l.replaceAll("[^\\p{L}\\p{N} _-]", "").strip().replace(' ', '-'))
                .collect(Collectors.toSet());
    }

    private static String withoutFences(String text) {
        return text.replaceAll("(?ms)^ *```.*?^ *```", "");
    }

    /** Sources of the project with that ending; what a build makes or a clone lacks is not read. */
    private static List<Path> files(String suffix) throws IOException {
        try (Stream<Path> files = Files.walk(Path.of("."))) {
            return files.filter(f -> f.toString().endsWith(suffix))
                    .map(Path::normalize)
                    .filter(f -> !f.toString().matches("(?:.*/)?(?:target|data|\\.git)/.*"))
                    .filter(Files::isRegularFile)
                    .sorted()
                    .toList();
        }
    }

    private static void assertNone(List<String> findings) {
        assertEquals("", String.join("\n", findings));
    }
}
