package io.queenmq.fetch;

import java.time.Duration;
import java.util.List;
import java.util.UUID;

/**
 * What is to be read.
 *
 * @param patience how long to wait for something to read
 * @param bytesMin how much is something, every message at least 1; 0 = whatever there is
 */
public record FetchRequest(UUID tenant, List<Entry> entries, Duration patience, long bytesMin) {
    /**
     * From where on in a partition.
     *
     * @param bytesMax of keys and messages, which the first commit that is read may exceed
     */
    public record Entry(String queue, String partition, long offset, int bytesMax) {}
}
