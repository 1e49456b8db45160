package io.queenmq.timer;

import io.queenmq.segment.FrameWriter;
import io.queenmq.segment.Segment;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Timers that become messages of one lane in one commit, in this order.
 *
 * @param dedup whether the lane is searched for their transactionIds first: the same for all
 */
record LaneBatch(
        UUID tenant,
        String queue,
        String partition,
        boolean dedup,
        long flushId,
        List<ClaimedTimer> timers,
        List<Segment> segments) {

    /** What a lane is called. */
    record Name(UUID tenant, String queue, String partition) {
        static Name of(ClaimedTimer timer) {
            return new Name(timer.tenant(), timer.queue(), timer.partition());
        }
    }

    Name name() {
        return new Name(tenant, queue, partition);
    }

    static LaneBatch of(List<ClaimedTimer> timers) {
        ClaimedTimer first = timers.getFirst();
        return new LaneBatch(
                first.tenant(),
                first.queue(),
                first.partition(),
                first.dedup(),
                ThreadLocalRandom.current().nextLong(),
                List.copyOf(timers),
                FrameWriter.segments(timers.stream().map(ClaimedTimer::frame).toList()));
    }

    /** Whether every payload is an envelope. */
    boolean sealed() {
        return timers.stream().allMatch(ClaimedTimer::encrypted);
    }

    /** Bytes of keys and frames. */
    long bytes() {
        long bytes = 0;
        for (Segment segment : segments) {
            bytes += segment.keys().length + segment.frames().length;
        }
        return bytes;
    }

    /**
     * Splits timers by lane, their order kept. A lane has several lists, each to be stored after
     * the one before, where some are searched for and others not, or where a transactionId that is
     * searched for occurs again: that is found once the first is stored.
     */
    static List<List<List<ClaimedTimer>>> byLane(List<ClaimedTimer> timers) {
        Map<Name, List<List<ClaimedTimer>>> lanes = new LinkedHashMap<>();
        Map<Name, Set<String>> searched = new LinkedHashMap<>();
        for (ClaimedTimer timer : timers) {
            Name name = Name.of(timer);
            List<List<ClaimedTimer>> runs = lanes.computeIfAbsent(name, _ -> new ArrayList<>());
            Set<String> ids = searched.computeIfAbsent(name, _ -> new HashSet<>());
            if (runs.isEmpty()
                    || runs.getLast().getLast().dedup() != timer.dedup()
                    || (timer.dedup() && ids.contains(timer.transactionId()))) {
                runs.add(new ArrayList<>());
                ids.clear();
            }
            runs.getLast().add(timer);
            ids.add(timer.transactionId());
        }
        return List.copyOf(lanes.values());
    }
}
