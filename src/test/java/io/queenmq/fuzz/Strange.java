package io.queenmq.fuzz;

import java.util.Random;
import java.util.UUID;

/** Values that programs stumble over. */
final class Strange {
    private static final String[] TEXTS = {
        "",
        " ",
        ".",
        "..",
        "/",
        "a/b",
        "%2F",
        "%",
        "+",
        "a b",
        "'; drop table queues; --",
        "\"",
        "\\",
        "\u0001\t\n\r",
        "\u007f",
        "\u2028",
        "\ufeff",
        "\ufffd",
        "\uffff",
        "\u202eabc",
        "e\u0301",
        "漢字",
        "\ud83e\udd8a",
        "__QUEUE_MODE__",
        "__timer__",
        "null",
        "NaN",
        "{}",
        "00000000-0000-0000-0000-000000000000",
        "00000000-0000-8000-8000-000000000001",
        "00000000-0000-8000-8fff-ffffffffffff",
        "ffffffff-ffff-ffff-ffff-ffffffffffff",
        "0199AAAA-1111-7222-8333-444444444444"
    };
    private static final String[] NUMBERS = {
        "0",
        "-0",
        "-1",
        "1",
        "2147483647",
        "2147483648",
        "-2147483648",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551616",
        "1e400",
        "1.5",
        "0.1e-5",
        "6e1",
        "60.0",
        "100e2147483647",
        "-100e2147483647",
        "1e2147483647",
        "1e-2147483647",
        "123456789012345678901234567890"
    };
    private static final String LETTERS = "abcXYZ019-_.:/ äßñ漢字🦊\"\\'%";

    private final Random random;

    Strange(Random random) {
        this.random = random;
    }

    /** One of those. */
    <T> T one(T[] of) {
        return of[random.nextInt(of.length)];
    }

    /** Of version 7 and the RFC variant. */
    UUID uuid() {
        return new UUID(
                (random.nextLong() & ~0xF000L) | 0x7000L,
                (random.nextLong() >>> 2) | 0x8000_0000_0000_0000L);
    }

    /** A text that PostgreSQL can hold, now and then one of about this length. */
    String text(int lengthMax) {
        if (random.nextInt(3) == 0) {
            return one(TEXTS);
        }
        int[] letters = LETTERS.codePoints().toArray();
        int length = random.nextInt(20) == 0 ? lengthMax : random.nextInt(12);
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < length; i++) {
            text.appendCodePoint(letters[random.nextInt(letters.length)]);
        }
        return text.toString();
    }

    /** Any text, such as no database takes included. */
    String anyText(int lengthMax) {
        return switch (random.nextInt(12)) {
            case 0 -> "a\0b";
            case 1 -> "\ud800";
            case 2 -> "x\udc00\ud800y";
            default -> text(lengthMax);
        };
    }

    /** A number as JSON spells it. */
    String number() {
        return one(NUMBERS);
    }
}
