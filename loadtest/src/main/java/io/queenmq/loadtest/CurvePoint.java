package io.queenmq.loadtest;

/**
 * One store at one size under one load.
 *
 * @param series whose curve it is on: a store, or the rule it is kept by
 * @param retained messages that were stored beforehand
 * @param batch messages per push and per pop
 * @param windows that the sample is the median of
 * @param stand of the store before the first of these
 * @param buffersPerPop of a pop and its ack; NaN = not counted under this load
 */
record CurvePoint(
        String series,
        long retained,
        int batch,
        int windows,
        Stand stand,
        Sample sample,
        double buffersPerPop) {
    /**
     * What lies in a store.
     *
     * @param messages that somebody could still read, those of earlier windows included
     * @param segments expired ones, too, as long as they are on disk
     * @param epochs that have a table, but for epoch 0
     * @param bytes of these on disk
     * @param deadBytes of these what has expired and is not free yet, by a sample of pages
     */
    record Stand(double messages, double segments, double epochs, double bytes, double deadBytes) {
        static Stand of(Server server) {
            double messages =
                    server.number(
                            "select coalesce(sum(last_offset - log_start + 1), 0)"
                                    + " from queen_store.partitions");
            double segments = server.number("select count(*) from queen_store.segments");
            return server.query(
                            """
                            select count(*), coalesce(sum(bytes), 0),
                                   coalesce(sum(greatest(0, bytes - live_bytes)), 0)
                            from queen.epochs
                            where epoch > 0
                            """,
                            row ->
                                    new Stand(
                                            messages,
                                            segments,
                                            row.getDouble(1),
                                            row.getDouble(2),
                                            row.getDouble(3)))
                    .getFirst();
        }
    }
}
