package io.queenmq.web;

import java.math.BigDecimal;
import org.jspecify.annotations.Nullable;

/**
 * Whole numbers as JSON may spell them: {@code 60}, {@code 60.0} and {@code 6e1} are one number,
 * and there are languages that write each of them. Pure.
 */
public final class WholeNumber {
    /** What is longer, or would be if it were written out, means nothing here. */
    private static final int LENGTH_MAX = 2_000;

    private WholeNumber() {}

    /** The whole number that a JSON number is, of any sensible size; null if it is none. */
    public static @Nullable BigDecimal of(String number) {
        if (number.length() > LENGTH_MAX) {
            return null;
        }
        try {
            BigDecimal value = new BigDecimal(number);
            if (Math.abs((long) value.scale()) > LENGTH_MAX) {
                return null;
            }
            return value.signum() != 0 && value.stripTrailingZeros().scale() > 0 ? null : value;
        } catch (NumberFormatException e) {
            return null; // an exponent that no int holds
        }
    }

    /** The same as a long; null if it does not fit. */
    public static @Nullable Long exact(String number) {
        BigDecimal whole = of(number);
        try {
            return whole == null ? null : whole.longValueExact();
        } catch (ArithmeticException e) {
            return null;
        }
    }
}
