package io.queenmq.model;

import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A number of bytes as people write it: {@code 10GB}; units are powers of 1,024. */
public record ByteSize(long bytes) {
    private static final Pattern TEXT = Pattern.compile("(\\d{1,15})\\s*(B|kB|MB|GB|TB)?");
    private static final String UNITS = "BkMGT";
    private static final int UNIT_BITS = 10;

    /** Below this many of a unit the next smaller one says more. */
    private static final long UNIT_MIN = 10;

    /** Empty = no number, another unit, or more than there can be. */
    public static Optional<ByteSize> parse(String text) {
        Matcher matcher = TEXT.matcher(text.strip());
        if (!matcher.matches()) {
            return Optional.empty();
        }
        String unit = Optional.ofNullable(matcher.group(2)).orElse("B");
        long count = Long.parseLong(matcher.group(1));
        int shift = UNIT_BITS * UNITS.indexOf(unit.charAt(0));
        return count > Long.MAX_VALUE >> shift
                ? Optional.empty()
                : Optional.of(new ByteSize(count << shift));
    }

    /** To two digits or more. */
    @Override
    public String toString() {
        int unit = 0;
        while (unit < UNITS.length() - 1 && bytes >> (UNIT_BITS * unit) >= UNIT_MIN << UNIT_BITS) {
            unit++;
        }
        return String.format(
                Locale.ROOT,
                "%d %s",
                bytes >> (UNIT_BITS * unit),
                unit == 0 ? "B" : UNITS.charAt(unit) + "B");
    }
}
