package io.queenmq.api;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.TestDatabase;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * Goal: the tour in docs/sql.md is true. Method: run its blocks in order on a fresh database, print
 * answers as psql does, and compare them with the block that follows, ids and times aside. What it
 * printed is left in {@code target/sql.md}.
 */
class SqlTourTest {
    private static final Pattern STEP =
            Pattern.compile("```sql\\n(.*?)```\\n\\n```text\\n(.*?)```\\n", Pattern.DOTALL);

    @Test
    void everyBlockAnswersWhatTheTourSays() throws SQLException, IOException {
        String tour = Files.readString(Path.of("docs/sql.md"));
        List<String> expected = new ArrayList<>();
        List<String> actual = new ArrayList<>();
        StringBuilder printed = new StringBuilder();
        try (TestDatabase database = TestDatabase.migrated();
                Connection connection = database.connect()) {
            Matcher step = STEP.matcher(tour);
            while (step.find()) {
                String answer = run(connection, step.group(1));
                expected.add(step.group(1) + normal(step.group(2)));
                actual.add(step.group(1) + normal(answer));
                step.appendReplacement(
                        printed,
                        Matcher.quoteReplacement(
                                "```sql\n"
                                        + step.group(1)
                                        + "```\n\n```text\n"
                                        + answer
                                        + "```\n"));
            }
            step.appendTail(printed);
        }
        Files.writeString(Path.of("target/sql.md"), printed);

        assertEquals(String.join("\n", expected), String.join("\n", actual));
        assertEquals(tour.split("```sql", -1).length - 1, expected.size(), "blocks with an answer");
    }

    private static String run(Connection connection, String block) throws SQLException {
        List<String> answers = new ArrayList<>();
        for (String sql : block.split(";\\n", -1)) {
            try (Statement statement = connection.createStatement()) {
                if (!sql.isBlank() && statement.execute(sql)) {
                    answers.add(table(statement.getResultSet()));
                }
            }
        }
        return String.join("\n", answers);
    }

    /** As psql prints it. */
    private static String table(ResultSet result) throws SQLException {
        ResultSetMetaData columns = result.getMetaData();
        List<List<String>> rows = new ArrayList<>();
        List<String> names = new ArrayList<>();
        for (int i = 1; i <= columns.getColumnCount(); i++) {
            names.add(columns.getColumnName(i));
        }
        rows.add(names);
        while (result.next()) {
            List<String> row = new ArrayList<>();
            for (int i = 1; i <= names.size(); i++) {
                String value = result.getString(i);
                row.add(value == null ? "" : value);
            }
            rows.add(row);
        }
        StringBuilder text = new StringBuilder();
        for (int r = 0; r < rows.size(); r++) {
            List<String> cells = new ArrayList<>();
            List<String> rule = new ArrayList<>();
            for (int i = 0; i < names.size(); i++) {
                int column = i;
                int width = rows.stream().mapToInt(row -> row.get(column).length()).max().orElse(0);
                cells.add(cell(rows.get(r).get(i), width, r == 0, columns.getColumnType(i + 1)));
                rule.add("-".repeat(width + 2));
            }
            text.append(String.join("|", cells).stripTrailing()).append('\n');
            if (r == 0) {
                text.append(String.join("+", rule)).append('\n');
            }
        }
        int count = rows.size() - 1;
        return text.append(count == 1 ? "(1 row)\n" : "(" + count + " rows)\n").toString();
    }

    private static String cell(String value, int width, boolean head, int type) {
        int space = width - value.length();
        boolean number = type == Types.INTEGER || type == Types.BIGINT || type == Types.NUMERIC;
        int left = head ? space / 2 : number ? space : 0;
        return " " + " ".repeat(left) + value + " ".repeat(space - left) + " ";
    }

    /** Ids and times differ from run to run, and with them the widths of columns. */
    private static String normal(String answer) {
        return answer.replaceAll(
                        "[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", "<id>")
                .replaceAll(
                        "\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d(\\.\\d+)?([+-]\\d\\d)?",
                        "<time>")
                .replaceAll("-+(\\+-+)*", "-")
                .replaceAll(" +", " ")
                .replaceAll("(?m) $", "");
    }
}
