package io.queenmq.loadtest;

/**
 * One figure of a benchmark and its limits.
 *
 * @param figure name within the benchmark
 * @param reference what Queen 1.x was measured at, or what that is derived from
 * @param must NaN = none
 * @param aim NaN = none
 */
record Gate(String figure, String reference, Direction direction, double must, double aim) {
    /** Which side of a limit is the good one. */
    enum Direction {
        AT_LEAST("≥"),
        AT_MOST("≤");

        private final String sign;

        Direction(String sign) {
            this.sign = sign;
        }
    }

    /** What a measured figure means for its limits. */
    enum Verdict {
        AIM("aim"),
        MUST("must"),
        MISSED("MISSED"),
        NOT_MEASURED("not measured");

        private final String text;

        Verdict(String text) {
            this.text = text;
        }

        @Override
        public String toString() {
            return text;
        }
    }

    /** An interval reaches a limit that its worse end misses by no more than this. */
    private static final double TOLERANCE = 0.05;

    static Gate atLeast(String figure, String reference, double must, double aim) {
        return new Gate(figure, reference, Direction.AT_LEAST, must, aim);
    }

    static Gate atMost(String figure, String reference, double must, double aim) {
        return new Gate(figure, reference, Direction.AT_MOST, must, aim);
    }

    Verdict judge(double value) {
        return judge(value, 0);
    }

    Verdict judge(Interval ratio) {
        return judge(direction == Direction.AT_LEAST ? ratio.low() : ratio.high(), TOLERANCE);
    }

    private Verdict judge(double value, double tolerance) {
        if (!Double.isNaN(aim) && reaches(value, aim, tolerance)) {
            return Verdict.AIM;
        }
        return Double.isNaN(must) || reaches(value, must, tolerance)
                ? Verdict.MUST
                : Verdict.MISSED;
    }

    private boolean reaches(double value, double limit, double tolerance) {
        return direction == Direction.AT_LEAST
                ? value >= limit - tolerance
                : value <= limit + tolerance;
    }

    String mustText() {
        return limitText(must);
    }

    String aimText() {
        return limitText(aim);
    }

    private String limitText(double limit) {
        return Double.isNaN(limit) ? "–" : direction.sign + " " + number(limit);
    }

    /** Three significant digits, but no exponent and no rounding of whole numbers. */
    static String number(double value) {
        if (Double.isNaN(value) || Double.isInfinite(value)) {
            return Double.toString(value);
        }
        double size = Math.abs(value);
        if (size >= 100) {
            return "%,.0f".formatted(value);
        }
        String text = "%.3f".formatted(value);
        if (size > 0 && size < 0.01) {
            text = "%.5f".formatted(value);
        }
        return text.contains(".") ? text.replaceAll("0+$", "").replaceAll("\\.$", "") : text;
    }
}
