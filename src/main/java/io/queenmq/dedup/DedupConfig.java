package io.queenmq.dedup;

/**
 * Settings of the memory of keys.
 *
 * @param bytesMax memory for it; 0 = none, then every push with a dedup window asks the database
 */
public record DedupConfig(long bytesMax) {
    public static DedupConfig defaults() {
        return new DedupConfig(512L << 20);
    }
}
