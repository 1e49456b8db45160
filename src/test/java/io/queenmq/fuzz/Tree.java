package io.queenmq.fuzz;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** A JSON document whose structure is known, so that single parts of it can be spoiled. */
sealed interface Tree {
    /** An object. */
    record Branch(Map<String, Tree> fields) implements Tree {
        Branch() {
            this(new LinkedHashMap<>());
        }

        Branch with(String name, Tree value) {
            fields.put(name, value);
            return this;
        }

        Branch with(String name, String text) {
            return with(name, new Text(text));
        }
    }

    /** An array. */
    record Row(List<Tree> elements) implements Tree {
        Row() {
            this(new ArrayList<>());
        }
    }

    /** A string. */
    record Text(String text) implements Tree {}

    /** Any other value as it is spelled. */
    record Raw(String json) implements Tree {}

    /** One thing done to one place of the document. */
    static void spoil(Branch document, Random random) {
        Strange strange = new Strange(random);
        List<Tree> inner = new ArrayList<>();
        collect(document, inner);
        switch (inner.get(random.nextInt(inner.size()))) {
            case Branch branch -> spoil(branch.fields(), random, strange);
            case Row row -> spoil(row.elements(), random, strange);
            case Text text -> {}
            case Raw raw -> {}
        }
    }

    private static void collect(Tree tree, List<Tree> inner) {
        switch (tree) {
            case Branch branch -> {
                inner.add(branch);
                branch.fields().values().forEach(field -> collect(field, inner));
            }
            case Row row -> {
                inner.add(row);
                row.elements().forEach(element -> collect(element, inner));
            }
            case Text text -> {}
            case Raw raw -> {}
        }
    }

    private static void spoil(Map<String, Tree> fields, Random random, Strange strange) {
        if (fields.isEmpty() || random.nextInt(6) == 0) {
            fields.put(strange.anyText(40), value(random, strange));
            return;
        }
        String name = strange.one(fields.keySet().toArray(String[]::new));
        switch (random.nextInt(5)) {
            case 0 -> fields.remove(name);
            case 1 -> fields.put(name + strange.anyText(3), fields.remove(name));
            case 2 -> fields.put(name, new Raw("null"));
            default -> fields.put(name, value(random, strange));
        }
    }

    private static void spoil(List<Tree> elements, Random random, Strange strange) {
        int at = random.nextInt(elements.size() + 1);
        if (at == elements.size() || random.nextInt(4) == 0) {
            elements.add(at, value(random, strange));
        } else if (random.nextBoolean()) {
            elements.remove(at);
        } else {
            elements.add(elements.get(at));
        }
    }

    private static Tree value(Random random, Strange strange) {
        return switch (random.nextInt(8)) {
            case 0 -> new Branch();
            case 1 -> new Row();
            case 2 -> new Raw(strange.number());
            case 3 -> new Raw("null");
            case 4 -> new Raw(random.nextBoolean() ? "true" : "false");
            case 5 -> new Row(new ArrayList<>(List.of(new Branch().with("queue", "a"))));
            default -> new Text(strange.anyText(random.nextInt(10) == 0 ? 70_000 : 1_100));
        };
    }

    /** Any JSON value, in a spelling of its own. */
    static String json(Random random, int depth) {
        StringBuilder out = new StringBuilder();
        write(any(random, new Strange(random), depth), random, out);
        return out.toString();
    }

    private static Tree any(Random random, Strange strange, int depth) {
        if (depth > 0 && random.nextInt(3) == 0) {
            Branch branch = new Branch();
            for (int i = random.nextInt(4); i > 0; i--) {
                branch.with(strange.text(30), any(random, strange, depth - 1));
            }
            return branch;
        }
        if (depth > 0 && random.nextInt(3) == 0) {
            Row row = new Row();
            for (int i = random.nextInt(4); i > 0; i--) {
                row.elements().add(any(random, strange, depth - 1));
            }
            return row;
        }
        return value(random, strange);
    }

    /** Writes it with blanks and escapes in odd but legal places. */
    static void write(Tree tree, Random random, StringBuilder out) {
        blank(random, out);
        switch (tree) {
            case Branch branch -> {
                out.append('{');
                int i = 0;
                for (Map.Entry<String, Tree> field : branch.fields().entrySet()) {
                    out.append(i++ == 0 ? "" : ",");
                    quote(field.getKey(), random, out);
                    out.append(':');
                    write(field.getValue(), random, out);
                }
                out.append('}');
            }
            case Row row -> {
                out.append('[');
                for (int i = 0; i < row.elements().size(); i++) {
                    out.append(i == 0 ? "" : ",");
                    write(row.elements().get(i), random, out);
                }
                out.append(']');
            }
            case Text text -> quote(text.text(), random, out);
            case Raw raw -> out.append(raw.json());
        }
        blank(random, out);
    }

    private static void blank(Random random, StringBuilder out) {
        if (random.nextInt(16) == 0) {
            out.append(" \t\r\n".charAt(random.nextInt(4)));
        }
    }

    private static void quote(String text, Random random, StringBuilder out) {
        boolean escapeMuch = random.nextInt(8) == 0;
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c < ' ' || Character.isSurrogate(c) || (escapeMuch && random.nextBoolean())) {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c == '"' || c == '\\' ? "\\" : "").append(c);
            }
        }
        out.append('"');
    }
}
