package io.queenmq.hint;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/**
 * Hints as text: {@code p:} lanes written, {@code f:} lanes freed, {@code q:} queues of which any
 * lane may have been, {@code c:} queues changed, {@code t:} when timers are due, in ms since 1970,
 * each with numbers separated by commas; {@code r} everything. Several stand side by side with a
 * semicolon between. What is not understood is skipped: a newer broker may say more.
 */
public final class HintText {
    private static final Pattern NUMBER = Pattern.compile("[0-9]{1,13}");

    private HintText() {}

    /** Tells the sink what the text says. */
    public static void read(String text, HintSink sink) {
        for (String part : text.split(";", -1)) {
            if (part.equals("r")) {
                sink.everythingChanged();
            } else if (part.length() > 2 && part.charAt(1) == ':') {
                read(part.charAt(0), numbers(part), sink);
            }
        }
    }

    private static void read(char kind, List<Long> numbers, HintSink sink) {
        switch (kind) {
            case 'p' -> sink.lanesWritten(numbers);
            case 'f' -> sink.lanesFreed(numbers);
            case 'q' -> numbers.forEach(number -> sink.queueWritten(number.intValue()));
            case 'c' -> numbers.forEach(number -> sink.queueChanged(number.intValue()));
            case 't' -> numbers.forEach(sink::timerDue);
            default -> {}
        }
    }

    private static List<Long> numbers(String part) {
        List<Long> numbers = new ArrayList<>();
        for (String number : part.substring(2).split(",", -1)) {
            // Anybody may notify: what is no number is none of ours.
            if (NUMBER.matcher(number).matches()) {
                numbers.add(Long.parseLong(number));
            }
        }
        return numbers;
    }
}
