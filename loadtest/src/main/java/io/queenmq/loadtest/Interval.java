package io.queenmq.loadtest;

/**
 * The ratio of two arms that were measured in turn, with its 95 % interval: each pair gives one
 * ratio, so that whatever slows both down cancels out; the mean and Student's interval are taken of
 * their logarithms.
 */
record Interval(double mean, double low, double high) {
    /** Two-sided 95 % quantiles of Student's t for 1 to 30 degrees of freedom. */
    private static final double[] STUDENT = {
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
        2.052, 2.048, 2.045, 2.042
    };

    private static final double NORMAL = 1.960;

    static Interval ofPairs(double[] first, double[] second) {
        int pairs = first.length;
        if (pairs < 2 || second.length != pairs) {
            throw new IllegalArgumentException("an interval needs two pairs at least");
        }
        double sum = 0;
        double squares = 0;
        for (int i = 0; i < pairs; i++) {
            double log = Math.log(first[i] / second[i]);
            sum += log;
            squares += log * log;
        }
        double mean = sum / pairs;
        double variance = Math.max(0, (squares - pairs * mean * mean) / (pairs - 1));
        double quantile = pairs - 2 < STUDENT.length ? STUDENT[pairs - 2] : NORMAL;
        double half = quantile * Math.sqrt(variance / pairs);
        return new Interval(Math.exp(mean), Math.exp(mean - half), Math.exp(mean + half));
    }
}
